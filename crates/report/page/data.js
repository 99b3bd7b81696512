// The report's data: compressed in the page, and read when it is asked for.

const bytesOf = text => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const found = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) found[at] = letters.charCodeAt(at);
  return found;
};

async function unpacked(id) {
  const packed = new Blob([bytesOf(document.getElementById(id).textContent)]);
  const plain = packed.stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(plain).json();
}

let report = null;
const CHUNKS = new Map();
const MOST_CHUNKS = 12;

async function loadIndex() {
  report = await unpacked('index');
  report.firsts = [];
  let first = 0;
  for (const count of report.chunks) { report.firsts.push(first); first += count; }
  report.kernels.forEach((row, at) => {
    row.number = at;
    row.target = report.objects[row.object].target;
    row.file = report.files[report.objects[row.object].file].name;
    row.worst = row.findings[0] ? 'error' : row.findings[1] ? 'warning' : row.findings[2] ? 'note' : '';
    row.all = row.findings[0] + row.findings[1] + row.findings[2];
  });
}

// The page of a kernel: its values of all columns of its chunk.
async function loadPage(at) {
  let number = report.firsts.length - 1;
  while (number > 0 && report.firsts[number] > at) number--;
  if (!CHUNKS.has(number)) {
    if (CHUNKS.size >= MOST_CHUNKS) CHUNKS.delete(CHUNKS.keys().next().value);
    CHUNKS.set(number, withTexts(await unpacked('pages-' + number)));
  }
  const { columns, texts } = CHUNKS.get(number);
  const inside = at - report.firsts[number];
  const page = { row: report.kernels[at], texts: texts[inside] };
  for (const [key, values] of Object.entries(columns)) page[key] = values[inside];
  page.addresses = new Array(page.sizes.length + 1);
  let address = page.address;
  for (let step = 0; step < page.sizes.length; step++) {
    page.addresses[step] = address;
    address += 4 * parseInt(page.sizes[step], 36);
  }
  page.addresses[page.sizes.length] = address;
  page.count = page.sizes.length;
  page.classOf = step => report.classes[page.classes.charCodeAt(step) - 97];
  page.blocks = blocksOf(page);
  page.stepAt = wanted => {
    let [low, high] = [0, page.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (page.addresses[middle] <= wanted) low = middle + 1; else high = middle;
    }
    return Math.max(0, low - 1);
  };
  return page;
}

// Instructions are kept as a sequence of mnemonics, and for each mnemonic the operands in order.
function withTexts({ mnemonics, operands, sequences, columns }) {
  const lines = operands.map(it => it.split('\n'));
  const next = mnemonics.map(() => 0);
  const texts = sequences.map(sequence => {
    const found = new Array(sequence.length);
    for (let step = 0; step < sequence.length; step++) {
      const mnemonic = sequence.charCodeAt(step) - 0x5d;
      const rest = lines[mnemonic][next[mnemonic]++];
      found[step] = rest ? `${mnemonics[mnemonic]} ${rest}` : mnemonics[mnemonic];
    }
    return found;
  });
  return { columns, texts };
}

function blocksOf({ blocks: { counts, loops, next, kinds, calls, exits, unreached }, loops: rings }) {
  let first = 0;
  return counts.map((count, at) => {
    const block = {
      at, first, count, loop: loops[at], depth: loops[at] === null ? 0 : rings[loops[at]].depth,
      next: next[at].map((to, way) => ({ to, kind: kinds[at][way] })),
      calls: calls[at] ?? [], exit: exits[at] ?? null, reached: !unreached.includes(at),
    };
    first += count;
    return block;
  });
}

// What runs say of an instruction: a weight for colours, and whether there is any.
function weights(page) {
  if (page.samples) return { what: 'samples', of: page.samples.samples };
  if (page.profile) return { what: 'executions', of: page.profile.executions };
  return null;
}
