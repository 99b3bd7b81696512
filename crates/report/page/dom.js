// Elements from values. All text goes through `shown` and becomes a text node: nothing of a file is ever markup.

// Characters that change how other text is read, or that cannot be seen: controls, bidi controls, zero-width ones.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const shown = text => String(text).replace(HIDDEN, letter =>
  `\\u{${letter.charCodeAt(0).toString(16)}}`);

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (name === 'place') for (const [key, of] of Object.entries(value)) node.style.setProperty(key, of);
    else if (name === 'value') node.value = value;
    else node.setAttribute(name, value === true ? '' : shown(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const replace = (node, ...children) => { node.replaceChildren(); return fill(node, null, children); };

const number = value => value === null || value === undefined ? '–' : value.toLocaleString('en-US');
const hex = value => '0x' + value.toString(16);
const plural = (count, thing) => `${number(count)} ${thing}${count === 1 ? '' : 's'}`;
const bytes = value => value === null || value === undefined ? '–'
  : value < 10240 ? `${number(value)} B`
  : value < 10 << 20 ? `${number(Math.round(value / 1024))} KiB`
  : `${number(Math.round(value / 1048576))} MiB`;
const percent = share => (100 * share).toFixed(share >= 0.1 || share === 0 ? 0 : 1) + ' %';

// A name of any length: the beginning, and the rest when it is asked for.
const LONG_NAME = 400;
function longName(text, tag = 'span') {
  const letters = [...text.slice(0, 4 * LONG_NAME)];
  if (text.length <= LONG_NAME || letters.length <= LONG_NAME) return el(tag, { class: 'name' }, text);
  const node = el(tag, { class: 'name' }, letters.slice(0, LONG_NAME).join(''), '… ');
  node.append(el('button', {
    type: 'button', class: 'link',
    on: { click: () => replace(node, text.slice(0, 100000), text.length > 100000 ? '…' : '') },
  }, `all ${number(text.length)} characters`));
  return node;
}
const shortName = text => text.length > LONG_NAME ? text.slice(0, LONG_NAME) + '…' : text;

// Rows of one height, of which those in sight exist.
class VirtualList {
  constructor(container, count, height, row) {
    Object.assign(this, { container, count, height, row, first: -1, last: -1 });
    this.inner = el('div', { class: 'virtual', place: { height: `${count * height}px` } });
    replace(container, this.inner);
    this.afterwards = [];
    container.addEventListener('scroll', () => this.render(), { passive: true });
    new ResizeObserver(() => this.render()).observe(container);
  }
  resize(count) {
    this.count = count;
    this.inner.style.height = `${count * this.height}px`;
    this.render(true);
  }
  render(anew = false) {
    const { container, height, count } = this;
    const seen = container.clientHeight || 600;
    const first = Math.max(0, Math.floor(container.scrollTop / height) - 8);
    const last = Math.min(count, Math.ceil((container.scrollTop + seen) / height) + 8);
    if (!anew && first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const rows = [];
    for (let at = first; at < last; at++) {
      const node = this.row(at);
      node.style.top = `${at * height}px`;
      rows.push(node);
    }
    this.inner.replaceChildren(...rows);
    for (const act of this.afterwards) act(first, last);
  }
  isSeen(at) {
    const top = at * this.height;
    return top >= this.container.scrollTop
      && top + this.height <= this.container.scrollTop + this.container.clientHeight;
  }
  show(at, anyhow = false) {
    if (anyhow || !this.isSeen(at)) {
      this.container.scrollTop = Math.max(0, at * this.height - this.container.clientHeight / 3);
    }
    this.render(true);
  }
}

// Tabs as the ARIA practices have them: arrows move between them.
function tabs(label, items, chosen, choose) {
  const list = el('div', { class: 'tabs', role: 'tablist', 'aria-label': label });
  const panel = el('div', { class: 'panel', role: 'tabpanel', id: 'panel', tabindex: 0 });
  const select = (id, focus) => {
    for (const tab of list.children) {
      const is = tab.id === 'tab-' + id;
      tab.setAttribute('aria-selected', is);
      tab.tabIndex = is ? 0 : -1;
      if (is && focus) tab.focus();
    }
    panel.setAttribute('aria-labelledby', 'tab-' + id);
    replace(panel);
    items.find(it => it.id === id).draw(panel);
    choose(id);
  };
  for (const { id, title, count } of items) {
    list.append(el('button', {
      type: 'button', role: 'tab', id: 'tab-' + id, 'aria-controls': 'panel',
      on: { click: () => select(id) },
    }, title, count ? el('span', { class: 'count' }, number(count)) : null));
  }
  list.addEventListener('keydown', event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = items.findIndex(it => 'tab-' + it.id === document.activeElement.id);
    select(items[(at + step + items.length) % items.length].id, true);
    event.preventDefault();
  });
  // Views measure themselves, so that they are drawn once they are in the page.
  const begin = () => select(items.some(it => it.id === chosen) ? chosen : items[0].id);
  return { list, panel, begin };
}
