// The page of one kernel: what it takes, and tabs for everything else.

async function drawKernel(main, state) {
  const page = await loadPage(Number(state.kernel));
  const { row, resources } = page;
  const object = report.objects[row.object];
  const open = address => location.hash = `kernel=${row.number}&tab=code&at=${address}`;
  const amount = it => it ? `${it.needed ?? '–'} / ${it.declared ?? '–'} / ${it.allocated ?? '–'}` : '–';
  const tile = (value, what, title, kind) => el('div', { class: 'tile ' + (kind ?? ''), title }, el('b', null, value), el('span', null, what));
  const three = 'needed by the code / declared by the metadata / allocated by the descriptor';
  const limit = row.limiter ? `waves, limit ${row.limiter}` : 'waves';
  const hint = page.demand && resources?.occupancy?.next ? nextWaves(page) : null;
  const views = [
    { id: 'code', title: 'Code', draw: panel => new CodeView(page, state).draw(panel) },
    { id: 'graph', title: 'Graph', count: page.blocks.length, draw: panel => new GraphView(page, open).draw(panel) },
    { id: 'mix', title: 'Mix', draw: panel => drawMix(page, panel) },
    page.demand && { id: 'occupancy', title: 'Occupancy', draw: panel => new Occupancy(page).draw(panel) },
    page.arguments && { id: 'arguments', title: 'Arguments', count: page.arguments.arguments.length,
      draw: panel => drawArguments(page, panel) },
    { id: 'metadata', title: 'Metadata', draw: panel => drawMetadata(page, panel) },
    { id: 'findings', title: 'Findings', count: row.all, draw: panel => drawFindings(page, panel, open) },
    row.change !== undefined && { id: 'changes', title: 'Changes', draw: panel => drawChanges(page, panel) },
    page.rewriting && { id: 'rewriting', title: 'Rewriting', count: page.rewriting.sites.length,
      draw: panel => drawRewriting(page, panel) },
  ].filter(Boolean);
  const at = order.indexOf(row);
  const beside = (to, words) => to ? el('a', { href: `#kernel=${to.number}`, title: shortName(to.demangled) }, words) : null;
  const { list, panel, begin } = tabs('Views', views, state.tab, id => {
    state.tab = id;
    history.replaceState(null, '', '#' + Object.entries({ kernel: row.number, tab: id,
      ...(id === 'code' && state.at !== undefined ? { at: state.at } : {}) }).map(it => it.join('=')).join('&'));
  });
  replace(main,
    el('div', { class: 'kernel-head' }, el('h1', null, longName(row.demangled)),
      el('nav', { 'aria-label': 'Other kernels' }, beside(order[at - 1], '‹ previous'), beside(order[at + 1], 'next ›'))),
    el('p', { class: 'where' }, row.name === row.demangled ? null : [longName(row.name, 'code'), ' '],
      el('span', { class: 'badge' }, row.kind), el('span', { class: 'badge' }, object.target ?? 'unknown target'),
      el('span', { class: 'faint' }, `object ${object.index} of `, el('span', { title: row.file }, row.file.split('/').pop()), ` at ${hex(page.address)}`)),
    el('div', { class: 'tiles' },
      resources ? [tile(amount(resources.vgprs), 'VGPRs', three), tile(amount(resources.sgprs), 'SGPRs', three),
        row.agprs || resources.agprs.needed ? tile(amount(resources.agprs), 'AGPRs', three) : null,
        tile(bytes(row.lds), 'LDS', 'as declared'), tile(bytes(row.scratch), 'scratch', 'as declared'),
        tile(number(row.spills), 'spills', 'registers that the compiler spilled', row.spills ? 'warning' : ''),
        tile(row.waves === null ? '–' : `${row.waves} / ${row.max_waves}`, limit, 'waves on a SIMD, of the most that it takes')] : null,
      tile(number(row.instructions), 'instructions'), tile(bytes(row.size), 'of code'),
      tile(number(row.loops), row.loops === 1 ? 'loop' : 'loops'),
      row.executions !== undefined ? tile(number(row.executions), 'executions') : null,
      row.samples !== undefined ? tile(number(row.samples), 'samples') : null,
      tile(number(row.all), row.all === 1 ? 'finding' : 'findings', null, row.worst || 'fine')),
    hint ? el('p', { class: 'hint' }, hint) : null,
    list, panel);
  begin();
  replace(document.getElementById('crumbs'), '› ', el('span', null, shortName(row.demangled)));
}
