// Source and instructions side by side, each lighting up the other.

const HEIGHT_OF_LINE = 20;
const LANES = 9;

// Rows of the listing: a label before each block that something branches to or that begins a loop, and instructions.
function listingRows(page) {
  const entered = page.blocks.map(() => []);
  for (const block of page.blocks) for (const { to, kind } of block.next) entered[to].push({ from: block.at, kind });
  const rows = [];
  const rowOf = new Array(page.count);
  const blockOf = new Array(page.count);
  for (const block of page.blocks) {
    const others = entered[block.at].filter(it => it.kind !== 'fall_through' && it.kind !== 'not_taken');
    const isHeader = block.loop !== null && page.loops[block.loop].header === block.at;
    if (others.length || isHeader || !block.reached) {
      rows.push({ label: block, from: entered[block.at], ring: isHeader ? page.loops[block.loop] : null });
    }
    for (let step = block.first; step < block.first + block.count; step++) {
      rowOf[step] = rows.length;
      blockOf[step] = block;
      rows.push({ step });
    }
  }
  return { rows, rowOf, blockOf };
}

// Branches as lines in the margin, short ones next to the code.
function arrowsOf(page, listing) {
  const arrows = [];
  for (const block of page.blocks) {
    const last = block.first + block.count - 1;
    for (const { to, kind } of block.next) {
      if (kind === 'fall_through' || kind === 'not_taken') continue;
      const target = page.blocks[to];
      const [from, at] = [listing.rowOf[last], listing.rowOf[target.first]];
      arrows.push({ from, at, top: Math.min(from, at), bottom: Math.max(from, at), kind, back: at <= from });
    }
  }
  arrows.sort((a, b) => (a.bottom - a.top) - (b.bottom - b.top));
  const lanes = Array.from({ length: LANES }, () => []);
  for (const arrow of arrows) {
    arrow.lane = lanes.findIndex(lane => lane.every(it => it.bottom < arrow.top || it.top > arrow.bottom));
    if (arrow.lane < 0) arrow.lane = LANES - 1;
    lanes[arrow.lane].push(arrow);
  }
  return arrows;
}

class CodeView {
  constructor(page, state) {
    this.page = page;
    this.state = state;
    this.listing = listingRows(page);
    this.arrows = arrowsOf(page, this.listing);
    this.weights = weights(page);
    this.heaviest = this.weights ? Math.max(1, ...this.weights.of) : 1;
    this.total = this.weights ? this.weights.of.reduce((sum, it) => sum + it, 0) || 1 : 1;
    this.lit = new Set();
    this.matches = [];
    this.selected = null;
    this.waits = new Map(page.waits);
    this.awaited = new Map();
    for (const [wait, operations] of page.waits) {
      for (const [operation, counter] of operations) {
        if (!this.awaited.has(operation)) this.awaited.set(operation, []);
        this.awaited.get(operation).push([wait, counter]);
      }
    }
    this.findings = new Map();
    for (const it of page.findings) {
      if (it.address === null) continue;
      const step = page.stepAt(it.address);
      if (page.addresses[step] === it.address) this.findings.set(step, it);
    }
    this.mostLive = Math.max(1, page.peaks.vgprs?.count ?? 1);
  }

  draw(panel) {
    const { page } = this;
    const search = el('input', {
      id: 'search', type: 'search', placeholder: 'search instructions', autocomplete: 'off', spellcheck: 'false',
      'aria-label': 'Search instructions',
      on: { input: () => this.search(search.value), keydown: event => {
        if (event.key === 'Enter') this.nextMatch(event.shiftKey ? -1 : 1);
      } },
    });
    this.found = el('span', { class: 'found', role: 'status' });
    const rings = page.loops.map(it => el('option', { value: it.index },
      `loop ${it.index} at bb${it.header}, depth ${it.depth}, ${plural(it.mix.instructions, 'instruction')}`));
    const jump = el('select', { 'aria-label': 'Go to a loop', on: { change: () => {
      const ring = page.loops[Number(jump.value)];
      if (ring) this.select(page.blocks[ring.header].first, true);
    } } }, el('option', { value: '' }, page.loops.length ? 'go to a loop' : 'no loops'), rings);
    const list = el('div', {
      class: 'listing', role: 'listbox', tabindex: 0, 'aria-label': 'Instructions',
      on: { keydown: event => this.key(event) },
    });
    this.detail = el('div', { class: 'detail', 'aria-live': 'polite' },
      'Choose an instruction or a source line: what belongs together lights up.');
    const hasSource = page.places.some(Boolean);
    const sourcePane = hasSource ? this.sourcePane() : null;
    const panes = el('div', { class: 'panes' + (hasSource ? '' : ' alone') }, sourcePane,
      el('section', { class: 'pane', 'aria-label': 'Instructions' }, this.heads(), list));
    const isKnown = it => page['live_' + it].some(count => count !== null);
    replace(panel, ['vgprs', 'agprs', 'sgprs'].some(isKnown) ? this.strip()
      : el('p', { class: 'faint' }, 'Which registers are live is not known: callers or callees decide it.'),
      el('div', { class: 'tools' }, el('label', { for: 'search' }, 'Search'), search, this.found,
        el('span', { class: 'grow' }), jump, this.legend()),
      panes, this.detail);
    this.list = new VirtualList(list, this.listing.rows.length, HEIGHT_OF_LINE, at => this.row(at));
    this.overlay = svg('svg', { class: 'arrows', 'aria-hidden': 'true' });
    this.list.afterwards.push((first, last) => this.drawArrows(first, last));
    this.list.afterwards.push(() => this.drawWindow());
    this.list.render(true);
    if (this.source) this.source.render(true);
    if (this.state.at !== undefined) this.select(page.stepAt(this.state.at), true);
    else if (this.source) this.showLine(this.firstPlace());
  }

  legend() {
    const used = report.classes.filter(name => this.page.mix.classes.some(it => it.class === name));
    return el('span', { class: 'legend', 'aria-label': 'Classes' }, used.map(name =>
      el('span', null, el('i', { class: 'bg-' + name }), name)));
  }

  heads() {
    const { page } = this;
    return el('div', { class: 'heads', 'aria-hidden': 'true' },
      el('span', { class: 'gutter' }, 'branches'), el('span', { class: 'address' }, 'address'),
      page.profile ? [el('span', { class: 'runs' }, 'runs'), el('span', { class: 'lanes' }, 'lanes')] : null,
      page.samples ? [el('span', { class: 'runs' }, 'samples'), el('span', { class: 'lanes' }, 'stalled')] : null,
      el('span', { class: 'live' }, 'live'), el('span', null, 'instruction'));
  }

  // Live registers along the code, with their peak, loops, and the part of the code that is in sight.
  strip() {
    const { page } = this;
    const [width, height] = [1000, 64];
    const columns = Math.min(1000, page.count);
    const allocated = page.resources?.vgprs.allocated ?? null;
    const known = [...page.live_vgprs, ...page.live_sgprs, ...page.live_agprs].filter(it => it !== null);
    const most = Math.max(4, allocated ?? 0, known.reduce((a, b) => Math.max(a, b), 0)) * 1.05;
    const picture = svg('svg', { viewBox: `0 0 ${width} ${height + 8}`, preserveAspectRatio: 'none', class: 'curve',
      'aria-hidden': 'true' });
    const x = step => width * step / Math.max(1, page.count);
    for (const ring of page.loops) {
      for (const block of ring.blocks.map(it => page.blocks[it])) {
        picture.append(svg('rect', { class: 'ring', x: x(block.first), width: Math.max(0.5, x(block.count)),
          y: 0, height: height + 8 }));
      }
    }
    const kinds = [['sgprs', page.live_sgprs], ['agprs', page.live_agprs], ['vgprs', page.live_vgprs]];
    for (const [name, values] of kinds) {
      if (!values.length) continue;
      const { line, area } = curvePath(values, columns, width, height, most);
      if (name === 'vgprs') picture.append(svg('path', { class: 'area', d: area }));
      picture.append(svg('path', { class: 'line ' + name, d: line }));
    }
    if (allocated !== null) {
      picture.append(svg('path', { class: 'limit', d: `M0 ${height * (1 - allocated / most)}H${width}` }));
    }
    this.window = svg('rect', { class: 'window', y: 0, height: height + 8, x: 0, width: 0 });
    picture.append(this.window);
    const marks = [];
    const peak = page.peaks.vgprs;
    if (peak) {
      const step = page.stepAt(peak.address);
      const share = x(step) / width;
      marks.push(el('button', { type: 'button', class: 'peak' + (share > 0.7 ? ' left' : ''), 'data-peak': peak.count,
        place: { left: `${100 * share}%`, top: `${height * (1 - peak.count / most)}px` },
        title: `most live VGPRs: ${peak.count} before ${hex(peak.address)}`,
        on: { click: () => this.select(step, true) } }, `peak ${peak.count} VGPRs at ${hex(peak.address)}`));
    }
    const box = el('div', { class: 'strip', on: { pointerdown: event => {
      if (event.target.closest('button')) return;
      const to = event.offsetX / box.clientWidth * page.count;
      this.list.show(this.listing.rowOf[Math.min(page.count - 1, Math.floor(to))], true);
    } } }, picture, marks);
    const words = name => page.peaks[name] ? `${name.toUpperCase().replace('PRS', 'PRs')} peak ${page.peaks[name].count}`
      + (page.peaks[name].line ? ` at line ${page.peaks[name].line}` : '') : null;
    return el('figure', { class: 'pressure' }, box,
      el('figcaption', null, el('span', { class: 'key vgprs' }, words('vgprs') ?? 'live VGPRs not known'),
        page.peaks.agprs?.count ? el('span', { class: 'key agprs' }, words('agprs')) : null,
        el('span', { class: 'key sgprs' }, words('sgprs') ?? 'live SGPRs not known'),
        allocated === null ? null : el('span', { class: 'key limit' }, `${allocated} VGPRs allocated`),
        page.peaks.complete ? null : el('span', null, 'not known everywhere'),
        el('span', { class: 'faint' }, 'live registers along the code')));
  }

  drawWindow() {
    if (!this.window) return;
    const { container, height } = this.list;
    const rows = this.listing.rows.length * height || 1;
    const share = container.clientHeight / rows;
    this.window.setAttribute('x', 1000 * container.scrollTop / rows);
    this.window.setAttribute('width', share < 1 ? Math.max(4, 1000 * share) : 0);
  }

  row(at) {
    const { page, listing } = this;
    const it = listing.rows[at];
    if (it.label) {
      const { label: block, ring, from } = it;
      const said = ring ? `loop ${ring.index}, depth ${ring.depth}` : block.reached ? '' : 'not reached';
      return el('div', { class: 'line label', role: 'presentation' },
        el('span', { class: 'gutter' }), el('b', null, `bb${block.at}:`), ` ${said}`,
        el('span', { class: 'faint' }, from.length ? ' from ' + from.map(it => `bb${it.from}`).slice(0, 6).join(', ')
          + (from.length > 6 ? ' …' : '') : ''));
    }
    const { step } = it;
    const block = listing.blockOf[step];
    const text = page.texts[step];
    const space = text.indexOf(' ');
    const [mnemonic, rest] = space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space)];
    const kind = page.classOf(step);
    const live = page.live_vgprs.length ? page.live_vgprs[step] : 0;
    const isSelected = step === this.selected;
    const related = this.related?.has(step);
    const wait = this.waits.get(step);
    const finding = this.findings.get(step);
    const node = el('div', {
      class: 'line' + (this.lit.has(step) ? ' lit' : '') + (isSelected ? ' selected' : '')
        + (related ? ' related' : ''),
      role: 'option', id: 'step-' + step, 'aria-selected': isSelected, 'aria-posinset': step + 1,
      'aria-setsize': page.count, 'data-step': step,
      on: { click: () => this.select(step) },
    },
      el('span', { class: 'gutter' }),
      el('span', { class: 'depth', title: block.depth ? `loop depth ${block.depth}` : null,
        'data-depth': Math.min(block.depth, 4) }),
      el('span', { class: 'address' }, page.addresses[step].toString(16)),
      this.runCells(step),
      el('span', { class: 'live', title: `live VGPRs: ${live ?? 'not known'}` },
        el('i', { place: { width: `${live ? 100 * live / this.mostLive : 0}%` } }), live ?? '?'),
      el('span', { class: 'class bg-' + kind, title: kind }),
      el('span', { class: 'text' }, el('b', { class: 'fg-' + kind }, mnemonic), rest),
      wait ? el('span', { class: 'chip wait', title: 'completes ' + wait.map(([operation, counter]) =>
        `${page.addresses[operation].toString(16)} (${counter})`).join(', ') },
      `⟵ ${wait.length === 1 ? page.addresses[wait[0][0]].toString(16) : plural(wait.length, 'operation')}`) : null,
      this.awaited.has(step) && !wait ? el('span', { class: 'chip', title: 'waited for at '
        + this.awaited.get(step).map(([wait]) => page.addresses[wait].toString(16)).join(', ') },
      `⟶ ${this.awaited.get(step)[0][1]}`) : null,
      finding ? el('span', { class: 'chip severity ' + finding.severity, title: finding.message }, finding.rule) : null);
    return node;
  }

  runCells(step) {
    const { page } = this;
    const cells = [];
    const heat = value => ({ class: 'runs', place: { '--heat': (value / this.heaviest).toFixed(3) } });
    if (page.profile) {
      const [runs, lanes] = [page.profile.executions[step], page.profile.lanes[step]];
      cells.push(el('span', { ...heat(page.samples ? 0 : runs), title: `${number(runs)} executions, `
        + `${number(page.profile.cache_lines[step])} cache lines` }, runs ? number(runs) : ''),
      el('span', { class: 'lanes', title: `${number(lanes)} lanes in all` }, runs ? (lanes / runs).toFixed(lanes % runs ? 1 : 0) : ''));
    }
    if (page.samples) {
      const [count, stalled] = [page.samples.samples[step], page.samples.stalled[step]];
      const why = Object.entries(page.samples.reasons[step]).sort((a, b) => b[1] - a[1]);
      const alike = page.samples.alike?.[step] ?? 0;
      cells.push(el('span', { ...heat(count), title: `${plural(count, 'sample')}, ${percent(count / this.total)} of all`
        + (alike > 1 ? `; samples without address: one of ${alike} instructions that are alike` : '') },
      count ? number(count) + (alike > 1 ? '≈' : '') : ''),
      el('span', { class: 'lanes', title: why.map(([reason, times]) => `${reason}: ${times}`).join(', ') },
        count && stalled ? percent(stalled / count) : ''));
    }
    return cells;
  }

  drawArrows(first, last) {
    const inner = this.list.inner;
    const [top, height] = [first * HEIGHT_OF_LINE, (last - first) * HEIGHT_OF_LINE];
    this.overlay.setAttribute('viewBox', `0 ${top} 84 ${height}`);
    this.overlay.style.top = `${top}px`;
    this.overlay.style.height = `${height}px`;
    const paths = [];
    for (const arrow of this.arrows) {
      if (arrow.bottom < first || arrow.top > last) continue;
      const x = 76 - 8 * arrow.lane;
      const y = row => Math.max(top - 50, Math.min(top + height + 50, (row + 0.5) * HEIGHT_OF_LINE));
      const [from, to] = [y(arrow.from), y(arrow.at)];
      const way = Math.sign(to - from) || 1;
      const kind = arrow.kind + (arrow.back ? ' back' : '');
      const round = Math.min(5, Math.abs(to - from) / 2);
      paths.push(svg('path', { class: 'edge ' + kind, d: `M82 ${from}H${x + round}Q${x} ${from} ${x} ${from + way * round}`
        + `V${to - way * round}Q${x} ${to} ${x + round} ${to}H80` }),
      svg('path', { class: 'tip ' + kind, d: `M84 ${to}l-6 -3v6z` }));
    }
    replace(this.overlay, paths);
    inner.append(this.overlay);
  }

  // The source pane: one file at a time.
  sourcePane() {
    const { page } = this;
    const { files, places } = page.sources;
    this.linesOf = files.map(() => new Map());
    page.places.forEach((place, step) => {
      if (!place) return;
      const [, file, line] = places[place - 1][0] ?? [];
      if (file === null || file === undefined || !line) return;
      const lines = this.linesOf[file];
      if (!lines.has(line)) lines.set(line, []);
      lines.get(line).push(step);
    });
    this.file = this.firstPlace()?.file ?? 0;
    this.fileChoice = el('select', { 'aria-label': 'Source file', on: { change: () => {
      this.openFile(Number(this.fileChoice.value));
    } } }, files.map((it, at) => el('option', { value: at }, it.path.slice(-120))));
    this.sourceBox = el('div', { class: 'source', role: 'listbox', tabindex: 0, 'aria-label': 'Source lines',
      on: { keydown: event => this.sourceKey(event) } });
    this.source = new VirtualList(this.sourceBox, 0, HEIGHT_OF_LINE, at => this.sourceRow(at));
    this.openFile(this.file);
    return el('section', { class: 'pane', 'aria-label': 'Source' },
      el('div', { class: 'heads' }, this.fileChoice), this.sourceBox);
  }

  firstPlace() {
    const { page } = this;
    for (const place of page.places) {
      const frames = place ? page.sources.places[place - 1] : [];
      const found = [...frames].reverse().find(([, file, line]) => file !== null && line
        && page.sources.files[file].found) ?? frames.find(([, file, line]) => file !== null && line);
      if (found) return { file: found[1], line: found[2] };
    }
    return null;
  }

  openFile(at) {
    const file = this.page.sources.files[at];
    this.file = at;
    this.fileChoice.value = at;
    this.sourceLines = [];
    if (file.found) {
      file.parts.forEach(([first, lines], part) => {
        if (part > 0) this.sourceLines.push({ gap: true });
        lines.forEach((text, by) => this.sourceLines.push({ line: first + by, text }));
      });
    } else {
      this.sourceLines.push({ gap: true, text: 'the file is not there; --map OLD=NEW says where it is' });
      for (const line of [...this.linesOf[at].keys()].sort((a, b) => a - b)) this.sourceLines.push({ line, text: null });
    }
    this.heaviestLine = 1;
    for (const steps of this.linesOf[at].values()) this.heaviestLine = Math.max(this.heaviestLine, this.lineWeight(steps));
    this.source.resize(this.sourceLines.length);
  }

  lineWeight(steps) {
    return this.weights ? steps.reduce((sum, step) => sum + this.weights.of[step], 0) : steps.length;
  }

  sourceRow(at) {
    const it = this.sourceLines[at];
    if (it.gap) return el('div', { class: 'line gap', role: 'presentation' }, it.text ?? '⋯');
    const steps = this.linesOf[this.file].get(it.line);
    const isLit = this.litLine?.file === this.file && this.litLine.line === it.line;
    const isCall = this.callLines?.has(`${this.file}:${it.line}`);
    const weight = steps ? this.lineWeight(steps) : 0;
    return el('div', {
      class: 'line' + (steps ? ' has' : '') + (isLit ? ' lit' : '') + (isCall ? ' related' : ''),
      role: 'option', 'aria-selected': Boolean(isLit), 'data-line': it.line,
      on: steps ? { click: () => this.selectLine(this.file, it.line) } : null,
    }, el('span', { class: 'number' }, it.line),
    el('span', { class: 'runs', place: { '--heat': this.weights ? (weight / this.heaviestLine).toFixed(3) : 0 },
      title: steps ? `${plural(steps.length, 'instruction')}` + (this.weights ? `, ${number(weight)} ${this.weights.what}` : '') : null },
    steps ? number(weight) : ''),
    el('span', { class: 'text' }, it.text ?? ''));
  }

  showLine(place) {
    if (!place || !this.source) return;
    if (place.file !== this.file) this.openFile(place.file);
    const at = this.sourceLines.findIndex(it => it.line === place.line);
    if (at >= 0) this.source.show(at); else this.source.render(true);
  }

  selectLine(file, line) {
    const steps = this.linesOf[file].get(line) ?? [];
    this.lit = new Set(steps);
    this.litLine = { file, line };
    this.callLines = null;
    this.related = null;
    this.selected = null;
    if (steps.length && !steps.some(step => this.list.isSeen(this.listing.rowOf[step]))) {
      this.list.show(this.listing.rowOf[steps[0]]);
    }
    this.list.render(true);
    this.source.render(true);
    const weight = this.weights ? `, ${number(this.lineWeight(steps))} ${this.weights.what}` : '';
    replace(this.detail, el('b', null, `line ${line}`), ` of ${this.page.sources.files[file].path}: `
      + `${plural(steps.length, 'instruction')}${weight}`);
  }

  select(step, anyhow = false) {
    const { page } = this;
    this.selected = step;
    const place = page.places[step];
    const frames = place ? page.sources.places[place - 1] : [];
    this.lit = new Set();
    this.callLines = new Set(frames.slice(1).map(([, file, line]) => `${file}:${line}`));
    const [, file, line] = frames[0] ?? [];
    if (file !== null && file !== undefined && line) {
      this.litLine = { file, line };
      this.lit = new Set(this.linesOf[file].get(line));
      // A line of a file that is not there says less than the call that brought it here.
      const seen = page.sources.files[file].found ? frames[0]
        : frames.find(it => it[1] !== null && page.sources.files[it[1]].found) ?? frames[0];
      this.showLine({ file: seen[1], line: seen[2] });
    } else {
      this.litLine = null;
    }
    const waits = (this.waits.get(step) ?? []).map(it => it[0]);
    const waited = (this.awaited.get(step) ?? []).map(it => it[0]);
    this.related = new Set([...waits, ...waited]);
    const row = this.listing.rowOf[step];
    if (anyhow) this.list.show(row, true); else if (!this.list.isSeen(row)) this.list.show(row);
    this.list.render(true);
    this.source?.render(true);
    this.list.container.setAttribute('aria-activedescendant', 'step-' + step);
    this.tell(step, frames);
  }

  tell(step, frames) {
    const { page } = this;
    const block = this.listing.blockOf[step];
    const go = to => el('button', { type: 'button', class: 'link', on: { click: () => this.select(to, true) } },
      hex(page.addresses[to]));
    const live = ['vgprs', 'agprs', 'sgprs'].filter(it => page['live_' + it].length)
      .map(it => `${page['live_' + it][step] ?? '?'} ${it.toUpperCase().replace('PRS', 'PRs')}`).join(', ');
    const parts = [el('div', null, el('code', null, hex(page.addresses[step])), ' ', el('code', null, page.texts[step]))];
    const facts = [page.classOf(step), `bb${block.at}`];
    if (block.depth) facts.push(`loop ${block.loop}, depth ${block.depth}`);
    if (live) facts.push(live.includes('?') && !/\d/.test(live) ? 'live registers not known' : `live before it: ${live}`);
    if (page.profile) facts.push(`${number(page.profile.executions[step])} executions of waves, ${number(page.profile.lanes[step])} of lanes`);
    if (page.samples) facts.push(plural(page.samples.samples[step], 'sample'));
    parts.push(el('div', { class: 'faint' }, facts.join(' · ')));
    const waits = this.waits.get(step);
    if (waits) {
      parts.push(el('div', null, 'waits for ', waits.slice(0, 12).map(([operation, counter], at) =>
        [at ? ', ' : '', go(operation), ` (${counter})`]), waits.length > 12 ? ' …' : ''));
    }
    const awaited = this.awaited.get(step);
    if (awaited) parts.push(el('div', null, 'complete at ', awaited.slice(0, 6).map(([wait], at) => [at ? ', ' : '', go(wait)])));
    if (frames.length) {
      parts.push(el('ol', { class: 'stack' }, frames.map(([name, file, line, column], at) => el('li', null,
        at ? 'inlined into ' : 'in ', el('code', null, shortName(name ?? '?')), ' at ',
        file === null ? '?' : el('button', { type: 'button', class: 'link', on: { click: () => {
          this.showLine({ file, line });
        } } }, `${page.sources.files[file].path.split('/').pop()}:${line ?? '?'}${column ? ':' + column : ''}`)))));
    }
    const finding = this.findings.get(step);
    if (finding) parts.push(el('div', null, findingText(finding)));
    replace(this.detail, parts);
  }

  key(event) {
    const page = Math.floor(this.list.container.clientHeight / HEIGHT_OF_LINE);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 }[event.key];
    if (!by) return;
    const at = this.selected ?? (by > 0 ? -1 : 0);
    this.select(Math.max(0, Math.min(this.page.count - 1, at + by)));
    event.preventDefault();
  }

  sourceKey(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    const lines = [...this.linesOf[this.file].keys()].sort((a, b) => a - b);
    const at = this.litLine?.file === this.file ? lines.indexOf(this.litLine.line) : -1;
    const line = lines[Math.max(0, Math.min(lines.length - 1, at + by))];
    if (line === undefined) return;
    this.selectLine(this.file, line);
    this.showLine({ file: this.file, line });
    event.preventDefault();
  }

  search(text) {
    const part = text.toLowerCase();
    this.matches = part ? this.page.texts.flatMap((it, step) => it.toLowerCase().includes(part)
      || this.page.addresses[step].toString(16) === part.replace(/^0x/, '') ? [step] : []) : [];
    this.match = -1;
    if (this.matches.length) this.nextMatch(1);
    else {
      this.lit = new Set();
      this.list.render(true);
      replace(this.found, part ? 'nothing' : '');
    }
  }

  nextMatch(by) {
    if (!this.matches.length) return;
    this.match = (this.match + by + this.matches.length) % this.matches.length;
    this.lit = new Set(this.matches);
    this.selected = this.matches[this.match];
    this.list.show(this.listing.rowOf[this.selected]);
    replace(this.found, `${this.match + 1} of ${number(this.matches.length)}`);
  }
}
