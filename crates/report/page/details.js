// Mix, arguments, metadata and findings.

// Columns with amounts stand at the right, their titles and what is not known too.
function table(label, heads, rows) {
  const isAmount = it => typeof it === 'number' || /^[\d.]+ (%|B)$/.test(it);
  const sides = heads.map((_, at) => at > 0 && rows.some(row => isAmount(row[at])) ? 'number' : '');
  return el('table', { class: 'plain', 'aria-label': label },
    el('thead', null, el('tr', null, heads.map((it, at) => el('th', { scope: 'col', class: sides[at] }, it)))),
    el('tbody', null, rows.map(row => el('tr', null, row.map((it, at) =>
      at === 0 ? el('th', { scope: 'row' }, it) : el('td', { class: sides[at] }, typeof it === 'number' ? number(it) : it))))));
}

function drawMix(page, panel) {
  const width = it => it === null ? 'by descriptor' : `${it} B`;
  const one = (title, mix, extra) => el('section', { class: 'card wide' },
    el('h3', null, title), extra, band(mix.classes),
    el('div', { class: 'mix' },
      table('Classes of ' + title, ['class', 'count', 'share'], mix.classes.map(it =>
        [el('span', null, el('i', { class: 'swatch bg-' + it.class }), it.class), it.count, percent(it.count / (mix.instructions || 1))])),
      mix.memory.length ? table('Memory of ' + title, ['space', 'access', 'width', 'count'], mix.memory.map(it =>
        [it.space, it.access, width(it.width), it.count])) : el('p', { class: 'faint' }, 'no memory accesses'),
      mix.matrix.length ? table('Matrix operations of ' + title, ['operation', 'shape', 'factors', 'sum', 'count'], mix.matrix.map(it =>
        [it.kind + (it.scaled ? ', scaled' : ''), it.shape, it.a === it.b ? it.a : `${it.a} × ${it.b}`, it.sum, it.count]))
        : el('p', { class: 'faint' }, 'no matrix operations')));
  const place = it => it.line ? `${(it.file ?? '').split('/').pop()}:${it.line}, ` : '';
  const runs = weights(page);
  const share = it => {
    if (!runs) return '';
    let sum = 0;
    for (const block of it.blocks.map(at => page.blocks[at])) {
      for (let step = block.first; step < block.first + block.count; step++) sum += runs.of[step];
    }
    return `, ${percent(sum / (runs.of.reduce((a, b) => a + b, 0) || 1))} of ${runs.what}`;
  };
  replace(panel, one('all', page.mix, el('p', { class: 'faint' }, plural(page.mix.instructions, 'instruction'))),
    page.loops.map(it => one(`loop ${it.index}`, it.mix, el('p', { class: 'faint' },
      `${place(it)}bb${it.header} at ${hex(it.address)}, depth ${it.depth}, ${plural(it.mix.instructions, 'instruction')} in `
      + `${plural(it.blocks.length, 'block')}`, it.live.vgprs ? `, at most ${it.live.vgprs.count} live VGPRs` : '', share(it)))));
}

// The segment to scale: sixteen bytes a line.
function drawArguments(page, panel) {
  const it = page.arguments;
  if (!it || it.refused) {
    replace(panel, el('p', null, it?.refused ?? 'no arguments are declared'));
    return;
  }
  const LINE = 16;
  const label = row => row.name ?? (row.position === null ? row.kind.replace(/^hidden_/, '') : `arg ${row.position}`);
  const drawing = el('div', { class: 'segment', role: 'img', 'aria-label': `The segment of ${it.size} bytes, to scale` });
  const sorted = it.arguments.filter(row => row.size > 0).sort((a, b) => a.offset - b.offset);
  const LONG = 4096;
  const cell = (from, to, row) => {
    for (let at = from; at < to;) {
      const end = Math.min(to, (Math.floor(at / LINE) + 1) * LINE);
      drawing.append(el('span', { class: row ? (row.hidden ? 'hidden' : 'own') : 'gap',
        title: row ? `${label(row)}: bytes ${row.offset} to ${row.offset + row.size - 1}` : `padding: bytes ${from} to ${to - 1}`,
        place: { 'grid-column': `${at % LINE + 2} / span ${end - at}`, 'grid-row': Math.floor(at / LINE) + 1 } },
      row && at === from ? label(row) : ''));
      at = end;
    }
  };
  let at = 0;
  const size = Math.min(it.size ?? 0, LONG);
  for (let line = 0; line * LINE < size; line++) {
    drawing.append(el('span', { class: 'offset', place: { 'grid-column': 1, 'grid-row': line + 1 } }, line * LINE));
  }
  for (const row of sorted) {
    if (row.offset >= LONG) break;
    if (row.offset > at) cell(at, row.offset, null);
    cell(Math.max(at, row.offset), Math.min(LONG, row.offset + row.size), row);
    at = Math.max(at, row.offset + row.size);
  }
  if (at < size) cell(at, size, null);
  replace(panel,
    el('p', null, `${number(it.size)} bytes, aligned to ${it.alignment ?? '?'}; a caller brings ${number(it.required)}`
      + (it.preload ? `; ${plural(it.preload.words, 'word')} preloaded from s${it.preload.first_register} on` : '')),
    it.remarks.map(remark => el('p', { class: 'remark' }, remark)),
    el('div', { class: 'legend' }, [['own', 'arguments'], ['hidden', 'filled in by the runtime'], ['gap', 'padding']].map(([kind, words]) =>
      el('span', { class: 'segment-key' }, el('i', { class: kind }), words))),
    drawing, (it.size ?? 0) > LONG ? el('p', { class: 'faint' }, `the first ${number(LONG)} bytes are drawn`) : null,
    table('Arguments', ['argument', 'offset', 'size', 'kind', 'type', 'register'], it.arguments.map(row =>
      [label(row), row.offset, row.size, row.kind, row.type ?? '', row.register ?? ''])),
    it.registers.length ? [el('h3', null, 'Registers when the kernel begins'),
      table('Registers at entry', ['register', 'bits', 'holds'], it.registers.map(row =>
        [row.register, row.bits === null ? '' : `${row.low_bit ?? 0} to ${(row.low_bit ?? 0) + row.bits - 1}`, row.holds]))] : null,
    it.registers_refused ? el('p', { class: 'remark' }, it.registers_refused) : null);
}

const treeText = value => value === null ? '–' : typeof value === 'object'
  ? JSON.stringify(value, null, Object.values(value).some(it => typeof it === 'object') ? 1 : 0) : String(value);

function drawMetadata(page, panel) {
  const it = page.info;
  const amounts = (title, row) => [title, row.needed ?? '–', row.declared ?? '–', row.allocated ?? '–',
    row.by?.length > 1 ? row.by.map(shortName).join(' › ') : ''];
  const of = page.resources;
  replace(panel,
    of ? [el('h3', null, 'Resources'), table('Resources', ['resource', 'needed', 'declared', 'allocated', 'needed by'], [
      amounts('VGPRs', of.vgprs), amounts('AGPRs', of.agprs), amounts('SGPRs', of.sgprs),
      ['LDS', of.lds.accessed === null ? '–' : of.lds.accessed ? 'used' : 0, of.lds.declared ?? '–', of.lds.allocated ?? '–', ''],
      amounts('Scratch', of.scratch),
      ['Spilled VGPRs', '', of.spills.vgprs ?? '–', '', ''], ['Spilled SGPRs', '', of.spills.sgprs ?? '–', '', ''],
    ]),
    of.shortages.map(short => el('p', { class: 'severity error' },
      `${short.resource}: ${short.allocated} allocated, ${short.needed} needed by ${short.by.join(' › ')}`)),
    of.externals.length ? el('p', null, `not counted, as other objects have it: ${of.externals.join(', ')}`) : null,
    of.unknown_calls ? el('p', null, `${plural(of.unknown_calls, 'unknown call')}: every function counted whose address is taken`) : null,
    of.dynamic_stack ? el('p', null, 'the stack also grows at run time') : null] : null,
    it?.metadata ? [el('h3', null, 'Metadata'), table('Metadata', ['key', 'value'], Object.entries(it.metadata)
      .filter(([key]) => key !== '.args').map(([key, value]) => [key, el('code', null, treeText(value))]))] : null,
    it?.descriptor_fields ? [el('h3', null, 'Kernel descriptor'),
      el('p', { class: 'faint' }, `at ${hex(it.descriptor ?? 0)}: `, el('code', null, it.descriptor_bytes)),
      table('Descriptor', ['field', 'value'], Object.entries(it.descriptor_fields))] : null,
    it?.directives ? [el('h3', null, 'Directives'), el('pre', { class: 'directives' }, it.directives.join('\n'))] : null,
    it ? null : el('p', null, 'A function has no metadata and no descriptor.'));
}

function drawFindings(page, panel, open) {
  const own = report.objects[page.row.object].findings;
  const list = findings => el('ul', { class: 'findings' }, findings.map(it => el('li', null, findingText(it),
    it.field ? el('span', { class: 'faint' }, ` (${it.field}${it.offset === null ? '' : ', at offset ' + hex(it.offset)})`) : null,
    it.address === null ? null : [' ', el('button', { type: 'button', class: 'link', on: { click: () => open(it.address) } },
      hex(it.address))])));
  replace(panel,
    page.findings.length ? list(page.findings) : el('p', null, 'Nothing was found about this kernel.'),
    own.length ? [el('h3', null, 'About its object'), list(own)] : null);
}
