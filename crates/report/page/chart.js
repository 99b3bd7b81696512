// Charts, as SVG.

// How much of each class there is, as a bar of parts.
function band(classes, label) {
  const total = classes.reduce((sum, it) => sum + it.count, 0) || 1;
  const bar = el('div', { class: 'band', role: 'img', 'aria-label': label ?? classes.map(it =>
    `${it.class}: ${it.count}`).join(', ') });
  for (const it of classes) {
    bar.append(el('span', {
      class: 'part bg-' + it.class, title: `${it.class}: ${number(it.count)} (${percent(it.count / total)})`,
      place: { 'flex-grow': it.count },
    }));
  }
  return bar;
}

// A step function: points are the last amount with which so many waves run; a mark stands at an amount and its waves.
function steps(points, { most, at, waves: marked, label, unit, height = 150 }) {
  const [width, left, bottom] = [320, 34, 24];
  const highest = Math.max(...points.map(it => it[1]), 1);
  const x = amount => left + (width - left - 20) * Math.min(amount, most) / most;
  const y = waves => 10 + (height - bottom - 10) * (1 - waves / highest);
  let path = '';
  let before = 0;
  for (const [last, waves] of points) {
    path += `${path ? 'L' : 'M'}${x(before)} ${y(waves)}L${x(Math.min(last, most))} ${y(waves)}`;
    before = last;
    if (last >= most) break;
  }
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, class: 'steps', role: 'img',
    'aria-label': `${label}: ${points.map(([last, waves]) => `${waves} waves up to ${last}`).join(', ')}` });
  for (let waves = 0; waves <= highest; waves += highest > 10 ? 4 : highest > 5 ? 2 : 1) {
    picture.append(svg('path', { class: 'grid', d: `M${left} ${y(waves)}H${width - 20}` }),
      svg('text', { x: left - 6, y: y(waves) + 4, 'text-anchor': 'end' }, String(waves)));
  }
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const amount = Math.round(most * share);
    picture.append(svg('text', { x: x(amount), y: height - 6, 'text-anchor': 'middle' }, unit(amount)));
  }
  picture.append(svg('path', { class: 'step', d: path }));
  picture.append(svg('path', { class: 'now', d: `M${x(at)} ${y(0)}V10` }),
    svg('circle', { class: 'now', cx: x(at), cy: y(marked), r: 4.5 }));
  return picture;
}

// Numbers along the code, of which a point of the picture is the most of its instructions.
function curvePath(values, columns, width, height, most) {
  const points = [];
  for (let column = 0; column < columns; column++) {
    const first = Math.floor(column * values.length / columns);
    const last = Math.max(first + 1, Math.floor((column + 1) * values.length / columns));
    let peak = null;
    for (let at = first; at < last; at++) {
      if (values[at] !== null && (peak === null || values[at] > peak)) peak = values[at];
    }
    points.push(peak);
  }
  let line = '';
  let area = '';
  let open = false;
  const x = column => (width * column / columns).toFixed(1);
  const y = value => (height * (1 - value / most)).toFixed(1);
  points.forEach((value, column) => {
    if (value === null) {
      if (open) area += `V${height}Z`;
      open = false;
      return;
    }
    line += `${open ? 'L' : 'M'}${x(column)} ${y(value)}H${x(column + 1)}`;
    area += open ? `V${y(value)}H${x(column + 1)}` : `M${x(column)} ${height}V${y(value)}H${x(column + 1)}`;
    open = true;
  });
  if (open) area += `V${height}Z`;
  return { line, area };
}
