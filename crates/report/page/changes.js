// What is different from an older file, and what was rewritten.

// Rows that a browser draws at once.
const MOST_CHANGED = 500;
const METRICS = ['vgprs', 'agprs', 'sgprs', 'lds', 'scratch', 'spills', 'occupancy'];

const changeText = it => it.a === it.b ? number(it.b)
  : el('span', { class: 'trend ' + it.verdict }, `${number(it.a)} → ${number(it.b)}`
    + (it.a !== null && it.b !== null ? ` (${it.b > it.a ? '+' : '−'}${number(Math.abs(it.b - it.a))})` : ''));

function comparisonSummary(it) {
  const key = (object, name) => `${object} ${name}`;
  const numbers = new Map(report.kernels.map(row => [key(report.objects[row.object].index, row.name), row.number]));
  const changed = report.kernels.filter(row => row.change === 'changed').length;
  const most = it.changed.slice(0, MOST_CHANGED);
  return el('section', { class: 'comparison' },
    el('h2', null, 'Compared with ', el('code', null, it.old)),
    el('p', null, `${number(changed)} ${changed === 1 ? 'kernel or function' : 'kernels or functions'} changed, ${number(it.changed.length)} with other resources, `
      + `${number(it.regressions)} worse, ${number(it.same)} with the same resources, ${number(it.added)} new, `
      + `${number(it.removed.length)} removed`),
    it.changed.length ? el('div', { class: 'short' }, table('Resources that changed', ['kernel', ...METRICS], most.map(row =>
      [el('a', { href: `#kernel=${numbers.get(key(row.object, row.name))}&tab=changes` }, shortName(row.demangled)),
        ...METRICS.map(name => changeText(row.resources.find(it => it.name === name)))]))) : null,
    it.changed.length > most.length ? el('p', { class: 'faint' },
      `${number(it.changed.length - most.length)} more have other resources; their pages say which`) : null,
    it.removed.length ? el('details', null, el('summary', null, `${number(it.removed.length)} removed`),
      el('ul', null, it.removed.slice(0, 500).map(name => el('li', null, shortName(name))))) : null);
}

function drawChanges(page, panel) {
  const it = page.changes;
  if (!it) {
    replace(panel, el('p', null, page.row.change === 'new' ? 'The older file does not have it.'
      : 'Nothing is different from the older file.'));
    return;
  }
  const value = of => of === null || of === undefined ? '–' : typeof of === 'object' ? JSON.stringify(of) : String(of);
  const values = (title, rows) => rows.length ? [el('h3', null, title), table(title, ['name', 'before', 'now'],
    rows.map(row => [row.name, value(row.a), value(row.b)]))] : null;
  const listing = el('div', { class: 'diff', tabindex: 0, role: 'region', 'aria-label': 'Instructions before and now' });
  const lines = it.lines;
  const resources = it.resources ?? [];
  replace(panel,
    el('p', null, `${number(it.removed)} instructions removed, ${number(it.added)} added, ${number(it.moved)} moved, `
      + `${number(it.reencoded)} with the same text and other bytes`),
    resources.length ? table('Resources', METRICS, [METRICS.map(name => changeText(resources.find(row => row.name === name)))]) : null,
    values('Metadata', it.metadata), values('Descriptor', it.descriptor), values('Arguments', it.arguments),
    lines.length ? [el('h3', null, 'Instructions'), el('div', { class: 'diff-tools' },
      el('button', { type: 'button', on: { click: () => next(1) } }, 'Next difference'),
      el('button', { type: 'button', on: { click: () => next(-1) } }, 'Previous difference')), listing] : null,
    it.is_cut ? el('p', { class: 'faint' }, 'there are more') : null);
  const list = new VirtualList(listing, lines.length, HEIGHT_OF_LINE, at => {
    const [a, b, text] = lines[at];
    const kind = a === null ? 'added' : b === null ? 'removed' : '';
    const side = (address, isOld) => el('span', { class: 'side ' + (address === null ? 'none' : kind) },
      address === null ? '' : [el('span', { class: 'address' }, address.toString(16)), text]);
    return el('div', { class: 'line' }, side(a), side(b));
  });
  const isDifferent = at => lines[at][0] === null || lines[at][1] === null;
  const starts = lines.flatMap((_, at) => isDifferent(at) && (at === 0 || !isDifferent(at - 1)) ? [at] : []);
  let at = -1;
  const next = by => {
    if (!starts.length) return;
    at = (at + by + starts.length) % starts.length;
    list.show(starts[at], true);
  };
  list.render(true);
  if (starts.length) next(1);
}

function drawRewriting(page, panel) {
  const it = page.rewriting;
  const lines = (kind, sign, rows) => rows.map(([address, text]) =>
    el('div', { class: 'line ' + kind }, el('span', { class: 'sign' }, sign), el('span', { class: 'address' }, address.toString(16)), text));
  replace(panel,
    el('p', null, `${plural(it.sites.length, 'place')} rewritten`, it.rule_set ? ` by rule set ${it.rule_set}` : ''),
    it.sites.map(site => el('section', { class: 'card wide' },
      el('h3', null, `${hex(site.address)}: ${site.rules.join(', ')}`),
      el('p', { class: 'faint' }, `placement: ${site.placement}`, site.registers.length ? `; scratch registers ${site.registers.join(', ')}` : ''),
      el('div', { class: 'diff flat' }, lines('removed', '−', site.old), lines('added', '+', site.new),
        site.body.length ? [el('div', { class: 'line faint' }, 'elsewhere:'), lines('added', '+', site.body)] : null))),
    it.kept.length ? [el('h3', null, 'Left as it was'), el('ul', null, it.kept.map(row =>
      el('li', null, `${hex(row.address)}: `, el('code', null, row.rule), ` ${row.text}`)))] : null);
}
