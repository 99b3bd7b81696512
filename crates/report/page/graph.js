// The control flow as a picture to move about in: zoom, pan, an overview map.

// Smaller than this, names are no more than dots.
const READABLE = 0.6;

class GraphView {
  constructor(page, open) {
    Object.assign(this, { page, open });
    this.weights = weights(page);
    this.view = null;
  }

  draw(panel) {
    const { page } = this;
    if (!page.picture) {
      replace(panel, el('p', null, `${plural(page.blocks.length, 'block')} with so many edges make no picture; `
        + 'hsaco cfg shows them as text.'));
      return;
    }
    const { width, height } = page.picture;
    const MARGIN = 24;
    this.whole = { x: -MARGIN, y: -MARGIN, width: width + 2 * MARGIN, height: height + 2 * MARGIN };
    this.heats = page.picture.nodes.map(({ blocks }) => this.heatOf(blocks));
    this.hottest = Math.max(1, ...this.heats);
    this.picture = svg('svg', { class: 'graph', tabindex: 0, role: 'group', 'aria-label':
      `Control flow: ${plural(page.blocks.length, 'block')}, ${plural(page.loops.length, 'loop')}. `
      + 'Plus and minus zoom, arrows move, 0 shows all.' }, this.tips(), this.content(true));
    this.map = svg('svg', { class: 'map', 'aria-hidden': 'true', viewBox: this.box(this.whole) }, this.content(false),
      this.mapWindow = svg('rect', { class: 'window' }));
    this.info = el('aside', { class: 'node-info', 'aria-live': 'polite' }, el('p', { class: 'faint' },
      'Choose a box. It stands for a chain of blocks that run one after the other, in large graphs with short '
      + 'conditional parts; its band shows the classes of its instructions; frames are loops.'));
    const tool = (text, label, act) => el('button', { type: 'button', 'aria-label': label, title: label, on: { click: act } }, text);
    const share = this.weights ? el('span', { class: 'faint' }, `redder boxes have more ${this.weights.what}`) : null;
    this.scale = el('span', { class: 'found', role: 'status', id: 'zoom' });
    replace(panel, el('div', { class: 'tools' }, tool('+', 'Zoom in', () => this.zoom(1.4)),
      tool('−', 'Zoom out', () => this.zoom(1 / 1.4)), tool('all', 'Show all', () => this.fit()),
      tool('1:1', 'Natural size', () => this.natural()), this.scale, share, el('span', { class: 'grow' }),
      el('span', { class: 'legend' }, ['fall_through', 'not_taken', 'taken', 'jump', 'indirect', 'call', 'leave', 'unknown']
        .filter(kind => page.picture.edges.some(it => it[2] === kind))
        .map(kind => el('span', null, el('i', { class: 'wire bg-' + kind }), kind.replace('_', ' '))))),
    el('div', { class: 'graph-box' }, el('div', { class: 'canvas' }, this.picture, this.map), this.info));
    this.listen();
    this.fit();
    // What is too small to be read is shown from its beginning, and whole in the map.
    const { width: seen, height: high } = this.size();
    if (seen / this.view.width < READABLE) {
      const size = { width: seen / READABLE, height: high / READABLE };
      this.set({ x: this.whole.x + (this.whole.width - size.width) / 2, y: this.whole.y, ...size });
    }
  }

  heatOf(blocks) {
    if (!this.weights) return 0;
    let most = 0;
    for (const { first, count } of blocks.map(it => this.page.blocks[it])) {
      for (let step = first; step < first + count; step++) most = Math.max(most, this.weights.of[step]);
    }
    return most;
  }

  box = ({ x, y, width, height }) => `${x} ${y} ${width} ${height}`;

  tips() {
    const kinds = [...new Set(this.page.picture.edges.map(it => it[2]))];
    return svg('defs', null, kinds.map(kind => svg('marker', { id: 'tip-' + kind, viewBox: '0 0 10 10', refX: 9, refY: 5,
      markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto' },
    svg('path', { class: 'tip ' + kind, d: 'M0 0.5L10 5L0 9.5z' }))));
  }

  content(isFull) {
    const { page } = this;
    const { nodes, outsides, edges, frames } = page.picture;
    const group = svg('g');
    for (const [ring, [x, y, width, height]] of frames) {
      group.append(svg('rect', { class: 'frame', x, y, width, height, rx: 8 },
        isFull ? svg('title', null, `loop ${ring}, depth ${page.loops[ring].depth}`) : null));
      if (isFull) group.append(svg('text', { class: 'frame-name', x: x + 6, y: y - 4 }, `loop ${ring}`));
    }
    for (const [, , kind, points] of edges) {
      let d = `M${points[0]} ${points[1]}`;
      for (let at = 2; at < points.length; at += 2) d += `L${points[at]} ${points[at + 1]}`;
      const back = points[points.length - 1] <= points[1] ? ' back' : '';
      group.append(svg('path', { class: `edge ${kind}${back}`, d, 'marker-end': isFull ? `url(#tip-${kind})` : null }));
    }
    nodes.forEach((node, at) => group.append(this.node(node, at, isFull)));
    for (const [words, [x, y, width, height]] of outsides) {
      group.append(svg('rect', { class: 'box', x, y, width, height, rx: height / 2 }),
        isFull ? svg('text', { class: 'faint', x: x + 9, y: y + 14 }, words) : '');
    }
    return group;
  }

  node({ blocks, place: [x, y, width, height] }, at, isFull) {
    const { page } = this;
    const all = blocks.map(it => page.blocks[it]);
    const depth = all[0].depth;
    const heat = this.heats[at] / this.hottest;
    const name = blocks.length > 1 ? `bb${blocks[0]}…bb${blocks[blocks.length - 1]}` : `bb${blocks[0]}`;
    const count = all.reduce((sum, it) => sum + it.count, 0);
    const box = svg('rect', { class: `box depth-${Math.min(depth, 2)}${heat > 0 ? ' hot' : ''}`, x, y, width, height, rx: 4,
      place: heat > 0 ? { '--heat': heat.toFixed(3) } : null });
    if (!isFull) return box;
    const classes = classesOf(page, all);
    const choose = () => this.choose(at);
    const node = svg('g', { class: 'node' + (all[0].reached ? '' : ' unreached'), tabindex: 0, role: 'button',
      'data-node': at, 'aria-label': `${name}, ${plural(count, 'instruction')}${depth ? `, loop depth ${depth}` : ''}`,
      on: { click: choose, keydown: event => {
        if (event.key === 'Enter' || event.key === ' ') { choose(); event.preventDefault(); }
      } } },
    svg('title', null, `${name}: ${classes.map(it => `${it.count} ${it.class}`).join(', ')}`), box,
    svg('text', { class: 'block-name', x: x + 8, y: y + 17 }, name.length > 11 ? name.replace('…bb', '…') : name),
    svg('text', { class: 'faint', x: x + width - 8, y: y + 17, 'text-anchor': 'end' },
      this.weights && this.heats[at] ? `${number(this.heats[at])} × ${count}` : String(count)));
    let before = 0;
    for (const it of classes) {
      const [left, right] = [before, before + it.count].map(sum => x + 8 + (width - 16) * sum / count);
      node.append(svg('rect', { class: 'fill-' + it.class, x: left, y: y + 26, width: right - left, height: 8 }));
      before += it.count;
    }
    return node;
  }

  choose(at) {
    const { page } = this;
    for (const node of this.picture.querySelectorAll('.node')) {
      node.classList.toggle('chosen', Number(node.dataset.node) === at);
    }
    const { blocks } = page.picture.nodes[at];
    const lines = blocks.flatMap(number => {
      const block = page.blocks[number];
      const texts = page.texts.slice(block.first, block.first + Math.min(block.count, 400));
      return [el('h3', null, `bb${number} at ${hex(page.addresses[block.first])}`),
        el('p', { class: 'faint' }, block.next.map(it => `${it.kind.replace('_', ' ')} → bb${it.to}`).join(', ')
          || block.exit || ''),
        block.calls.map(([address, callee]) => el('p', null, `calls ${shortName(callee)} at ${hex(address)}`)),
        el('pre', null, texts.map((it, step) => [el('span', { class: 'fg-' + page.classOf(block.first + step) }, it), '\n']),
          block.count > 400 ? `… ${block.count - 400} more` : '')];
    });
    replace(this.info, el('button', { type: 'button', on: { click: () =>
      this.open(page.addresses[page.blocks[blocks[0]].first]) } }, 'Show in the code'),
    band(classesOf(page, blocks.map(it => page.blocks[it]))), lines);
  }

  set(view) {
    const scale = this.size().width / view.width;
    if (scale > 12 || scale < this.smallest) return;
    this.view = view;
    this.picture.setAttribute('viewBox', this.box(view));
    for (const name of ['x', 'y', 'width', 'height']) this.mapWindow.setAttribute(name, view[name]);
    replace(this.scale, `${Math.round(100 * scale)} %`);
    this.picture.classList.toggle('far', scale < 0.45);
  }

  size() {
    return { width: this.picture.clientWidth || 800, height: this.picture.clientHeight || 500 };
  }

  // Small graphs are not blown up.
  fit() {
    const { width, height } = this.size();
    const scale = Math.min(1.25, width / this.whole.width, height / this.whole.height);
    this.smallest = scale / 3;
    const seen = { width: width / scale, height: height / scale };
    this.set({ x: this.whole.x - (seen.width - this.whole.width) / 2,
      y: seen.height > this.whole.height ? this.whole.y : this.whole.y - (seen.height - this.whole.height) / 2, ...seen });
  }

  natural() {
    const { width, height } = this.size();
    const { x, y } = this.view;
    this.set({ x: x + (this.view.width - width) / 2, y, width, height });
  }

  zoom(by, at = { x: 0.5, y: 0.5 }) {
    const { x, y, width, height } = this.view;
    const size = { width: width / by, height: height / by };
    this.set({ x: x + (width - size.width) * at.x, y: y + (height - size.height) * at.y, ...size });
  }

  move(x, y) {
    this.set({ ...this.view, x: this.view.x + x * this.view.width, y: this.view.y + y * this.view.height });
  }

  listen() {
    const { picture, map } = this;
    const share = (event, node) => {
      const at = node.getBoundingClientRect();
      return { x: (event.clientX - at.left) / at.width, y: (event.clientY - at.top) / at.height };
    };
    picture.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), share(event, picture));
    }, { passive: false });
    let drag = null;
    picture.addEventListener('pointerdown', event => { drag = { at: share(event, picture), view: this.view, moved: false }; });
    picture.addEventListener('pointermove', event => {
      if (!drag || !(event.buttons & 1)) { drag = null; return; }
      const at = share(event, picture);
      if (!drag.moved && Math.hypot(at.x - drag.at.x, at.y - drag.at.y) < 0.006) return;
      drag.moved = true;
      picture.setPointerCapture(event.pointerId);
      this.set({ ...drag.view, x: drag.view.x - (at.x - drag.at.x) * drag.view.width,
        y: drag.view.y - (at.y - drag.at.y) * drag.view.height });
    });
    picture.addEventListener('pointerup', () => { drag = null; });
    const go = event => {
      if (!(event.buttons & 1)) return;
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
      this.set({ ...this.view, x: at.x - this.view.width / 2, y: at.y - this.view.height / 2 });
    };
    map.addEventListener('pointerdown', go);
    map.addEventListener('pointermove', go);
    picture.addEventListener('keydown', event => {
      const act = { '+': () => this.zoom(1.4), '=': () => this.zoom(1.4), '-': () => this.zoom(1 / 1.4), 0: () => this.fit(),
        ArrowLeft: () => this.move(-0.1, 0), ArrowRight: () => this.move(0.1, 0),
        ArrowUp: () => this.move(0, -0.1), ArrowDown: () => this.move(0, 0.1) }[event.key];
      if (!act) return;
      act();
      event.preventDefault();
    });
  }
}

function classesOf(page, blocks) {
  const counts = new Map();
  for (const { first, count } of blocks) {
    for (let step = first; step < first + count; step++) {
      const name = page.classOf(step);
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return report.classes.filter(it => counts.has(it)).map(it => ({ class: it, count: counts.get(it) }));
}
