// The table of all kernels: sorted, filtered, and only as much of it as is in sight.

const COLUMNS = [
  { key: 'demangled', title: 'Kernel', text: row => row.demangled },
  { key: 'target', title: 'Target', text: row => row.target ?? '–' },
  { key: 'vgprs', title: 'VGPRs', is: 'number', help: 'vector registers, as declared' },
  { key: 'agprs', title: 'AGPRs', is: 'number', help: 'accumulation registers, as declared' },
  { key: 'sgprs', title: 'SGPRs', is: 'number', help: 'scalar registers, as declared' },
  { key: 'lds', title: 'LDS', is: 'number', help: 'bytes of a workgroup, as declared' },
  { key: 'scratch', title: 'Scratch', is: 'number', help: 'bytes of a lane, as declared' },
  { key: 'spills', title: 'Spills', is: 'number', help: 'registers that the compiler spilled' },
  { key: 'waves', title: 'Waves', is: 'number', help: 'waves on a SIMD, of the most that it takes',
    text: row => row.waves === null ? '–' : `${row.waves}/${row.max_waves}` },
  { key: 'limiter', title: 'Limit', text: row => row.limiter ?? (row.waves === null ? '–' : 'none') },
  { key: 'size', title: 'Bytes', is: 'number', help: 'bytes of code' },
  { key: 'instructions', title: 'Instr.', is: 'number', help: 'instructions' },
  { key: 'loops', title: 'Loops', is: 'number', help: 'natural loops' },
  { key: 'executions', title: 'Executions', is: 'number', help: 'wave instructions that ran', optional: true },
  { key: 'samples', title: 'Samples', is: 'number', help: 'samples of waves in it', optional: true },
  { key: 'all', title: 'Findings', is: 'number', help: 'errors, warnings and notes of check',
    text: row => row.findings[0] ? `${row.findings[0]} error` + (row.findings[0] > 1 ? 's' : '')
      : row.findings[1] ? `${row.findings[1]} warning` + (row.findings[1] > 1 ? 's' : '')
      : row.findings[2] ? `${row.findings[2]} note` + (row.findings[2] > 1 ? 's' : '') : '' },
  { key: 'change', title: 'Change', optional: true, text: row => row.change },
];
const HEIGHT_OF_ROW = 30;

// What the reader chose; it stays while kernels are looked at.
const choice = { sort: null, falling: false, filter: '' };
let order = [];

// Words: `vgprs>128` and the like are conditions, `/…/` is a regular expression, all else is part of a name or target.
const CONDITION = /^([a-z]+)(>=|<=|!=|=|>|<)(.+)$/;
const ALIASES = { occupancy: 'waves', findings: 'all', name: 'demangled' };
const COMPARE = {
  '>': (a, b) => a > b, '<': (a, b) => a < b, '>=': (a, b) => a >= b, '<=': (a, b) => a <= b,
  '=': (a, b) => a === b, '!=': (a, b) => a !== b,
};
const UNITS = { '': 1, k: 1 << 10, m: 1 << 20 };

// A number as the command takes it: 16K is 16384.
function amountOf(text) {
  const [, digits, unit] = /^(\d+)([km]?)$/i.exec(text) ?? [];
  return digits === undefined ? null : Number(digits) * UNITS[unit.toLowerCase()];
}

// What a word asks of a row, or why it cannot.
function test(word) {
  const [, name, sign, text] = CONDITION.exec(word) ?? [];
  const key = ALIASES[name] ?? name;
  const column = COLUMNS.find(it => it.key === key) ?? (key === 'kind' ? { key } : null);
  if (name && column) {
    const wanted = column.is === 'number' ? amountOf(text) : text;
    if (wanted === null) return { problem: `${text} is no number` };
    return { is: row => row[key] !== null && row[key] !== undefined && COMPARE[sign](row[key], wanted) };
  }
  if (word.length > 2 && word.startsWith('/') && word.endsWith('/')) {
    try {
      const pattern = new RegExp(word.slice(1, -1), 'i');
      return { is: row => pattern.test(row.demangled) || pattern.test(row.name) };
    } catch (error) {
      return { problem: error.message };
    }
  }
  const part = word.toLowerCase();
  return { is: row => row.demangled.toLowerCase().includes(part) || row.name.toLowerCase().includes(part)
    || (row.target ?? '').toLowerCase().includes(part) || row.kind === part };
}

// Puts the rows that are wanted in order, and says what is wrong with the filter.
function arrange() {
  const tests = (choice.filter.match(/\/[^/]+\/|\S+/g) ?? []).map(test);
  order = report.kernels.filter(row => tests.every(it => it.is?.(row)));
  const { sort: key, falling } = choice;
  if (key) {
    const sign = falling ? -1 : 1;
    const isText = COLUMNS.find(it => it.key === key).is !== 'number';
    order.sort((a, b) => isText
      ? sign * String(a[key] ?? '').localeCompare(String(b[key] ?? ''), 'en', { numeric: true })
      : sign * ((a[key] ?? -1) - (b[key] ?? -1)));
  }
  return tests.flatMap(it => it.problem ?? []).join('; ');
}

function drawOverview(main) {
  const columns = COLUMNS.filter(it => !it.optional || report.kernels.some(row => row[it.key] !== undefined))
    .filter(it => it.key !== 'agprs' || report.kernels.some(row => row.agprs));
  const kernels = report.kernels.filter(it => it.kind === 'kernel').length;
  const others = report.kernels.length - kernels;
  const targets = new Set(report.objects.map(it => it.target));
  const findings = [0, 1, 2].map(at => report.kernels.reduce((sum, row) => sum + row.findings[at], 0)
    + report.objects.reduce((sum, it) => sum + it.findings.filter(f =>
      f.severity === ['error', 'warning', 'note'][at]).length, 0));
  const tile = (value, what, kind) =>
    el('div', { class: 'tile ' + (kind ?? '') }, el('b', null, value), el('span', null, what));
  const count = el('span', { class: 'found', role: 'status' });
  const filter = el('input', {
    id: 'filter', type: 'search', value: choice.filter, autocomplete: 'off', spellcheck: 'false',
    placeholder: 'name, target, /regex/, vgprs>128, waves<4, findings>0',
    'aria-label': 'Filter: parts of names or targets, regular expressions between slashes, conditions',
    on: { input: () => { choice.filter = filter.value; refresh(); } },
  });
  const body = el('tbody');
  const head = el('tr');
  const table = el('table', { class: 'kernels', 'aria-label': 'Kernels' }, el('thead', null, head), body);
  const scroll = el('div', { class: 'scroll', tabindex: -1 }, table);
  for (const column of columns) {
    head.append(el('th', { scope: 'col', 'data-key': column.key, class: column.is },
      el('button', { type: 'button', title: column.help, on: { click: () => {
        choice.falling = choice.sort === column.key ? !choice.falling : column.is === 'number';
        choice.sort = column.key;
        refresh();
      } } }, column.title)));
  }
  const cell = (row, column) => {
    const text = column.text ? column.text(row) : number(row[column.key]);
    if (column.key === 'demangled') {
      return el('th', { scope: 'row', class: 'kernel' }, el('a', {
        href: `#kernel=${row.number}`, title: shortName(row.demangled) }, shortName(row.demangled)),
        row.kind === 'kernel' ? null : el('span', { class: 'badge' }, row.kind));
    }
    const kind = column.key === 'all' ? 'severity ' + row.worst : column.key === 'change' ? 'change ' + row.change : '';
    return el('td', { class: `${column.is ?? ''} ${kind}` }, text);
  };
  const render = () => {
    const above = table.tHead.offsetHeight;
    const first = Math.max(0, Math.floor((scroll.scrollTop - above) / HEIGHT_OF_ROW) - 10);
    const last = Math.min(order.length, first + Math.ceil(scroll.clientHeight / HEIGHT_OF_ROW) + 20);
    const spacer = height => el('tr', { 'aria-hidden': 'true', class: 'spacer' },
      el('td', { colspan: columns.length, place: { height: `${height}px` } }));
    const rows = order.slice(first, last).map((row, at) =>
      el('tr', { 'aria-rowindex': first + at + 2, 'data-number': row.number },
        columns.map(column => cell(row, column))));
    replace(body, first ? spacer(first * HEIGHT_OF_ROW) : null, rows,
      last < order.length ? spacer((order.length - last) * HEIGHT_OF_ROW) : null);
  };
  const refresh = () => {
    const problem = arrange();
    for (const it of head.children) {
      const is = it.dataset.key === choice.sort;
      it.setAttribute('aria-sort', is ? (choice.falling ? 'descending' : 'ascending') : 'none');
    }
    table.setAttribute('aria-rowcount', order.length + 1);
    replace(count, `${plural(order.length, 'row')} of ${number(report.kernels.length)}`, problem ? `: ${problem}` : '');
    scroll.scrollTop = 0;
    render();
  };
  scroll.addEventListener('scroll', render, { passive: true });
  new ResizeObserver(render).observe(scroll);
  table.addEventListener('keydown', event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest('tr[data-number]');
    if (!step || !row) return;
    const next = order.findIndex(it => it.number === Number(row.dataset.number)) + step;
    if (!order[next]) return;
    const y = next * HEIGHT_OF_ROW;
    if (y < scroll.scrollTop + HEIGHT_OF_ROW) scroll.scrollTop = Math.max(0, y - HEIGHT_OF_ROW);
    if (y > scroll.scrollTop + scroll.clientHeight - 3 * HEIGHT_OF_ROW) {
      scroll.scrollTop = y - scroll.clientHeight + 3 * HEIGHT_OF_ROW;
    }
    render();
    table.querySelector(`tr[data-number="${order[next].number}"] a`)?.focus();
    event.preventDefault();
  });
  const objectFindings = report.objects.flatMap(it => it.findings.map(finding => ({ it, finding })));
  replace(main,
    el('h1', null, longName(report.title)),
    report.remarks.map(it => el('p', { class: 'remark' }, it)),
    el('div', { class: 'tiles' },
      tile(number(kernels), kernels === 1 ? 'kernel' : 'kernels'),
      others ? tile(number(others), others === 1 ? 'function' : 'functions') : null,
      tile(number(targets.size), targets.size === 1 ? 'target' : 'targets'),
      tile(bytes(report.kernels.reduce((sum, row) => sum + row.size, 0)), 'of code'),
      findings[0] ? tile(number(findings[0]), findings[0] === 1 ? 'error' : 'errors', 'error') : null,
      findings[1] ? tile(number(findings[1]), findings[1] === 1 ? 'warning' : 'warnings', 'warning') : null,
      findings[2] ? tile(number(findings[2]), findings[2] === 1 ? 'note' : 'notes', 'note') : null,
      findings.some(Boolean) ? null : tile('0', 'findings', 'fine')),
    report.comparison ? comparisonSummary(report.comparison) : null,
    objectFindings.length ? el('details', { class: 'object-findings' },
      el('summary', null, `${plural(objectFindings.length, 'finding')} about objects`),
      el('ul', null, objectFindings.map(({ it, finding }) =>
        el('li', null, `object ${it.index} (${it.target ?? 'unknown'}): `, findingText(finding))))) : null,
    el('div', { class: 'tools' }, el('label', { for: 'filter' }, 'Filter'), filter, count),
    scroll);
  refresh();
  // All rows are printed, as far as paper is to be had for them.
  window.onbeforeprint = () => {
    if (!scroll.isConnected) return;
    replace(body, order.slice(0, 3000).map(row => el('tr', null, columns.map(column => cell(row, column)))));
  };
  window.onafterprint = () => { if (scroll.isConnected) render(); };
}

const findingText = it => [el('span', { class: 'severity ' + it.severity }, it.severity), ' ',
  el('code', null, it.rule), ` ${it.message}`, it.help ? `; ${it.help}` : ''];
