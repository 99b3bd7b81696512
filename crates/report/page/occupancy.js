// Occupancy as charts and sliders. The numbers are looked up in tables that the report has of the device.

const waysOf = (table, amount) => (table.find(it => amount <= it[0]) ?? table[table.length - 1])[1];

// What may be freed for more waves: one of it, several.
const FREED = { vgprs: ['VGPR', 'VGPRs'], sgprs: ['SGPR', 'SGPRs'], lds: ['byte of LDS', 'bytes of LDS'] };

// `6 fewer VGPRs give one wave more (8)`
function moreWaves(fewer, by, waves) {
  const freed = Object.entries(fewer).filter(it => it[1]);
  const words = freed.map(([key, count]) => `${number(count)} fewer ${FREED[key][count === 1 ? 0 : 1]}`).join(' and ');
  const isOne = freed.length === 1 && freed[0][1] === 1;
  return `${words} ${isOne ? 'gives' : 'give'} ${by === 1 ? 'one wave' : by + ' waves'} more (${waves})`;
}

// What to do without for more waves, in words.
function nextWaves(page) {
  const { next, waves_per_simd: before } = page.resources.occupancy;
  const { vgprs, sgprs, lds, waves_per_simd: waves } = next;
  return moreWaves({ vgprs, sgprs, lds }, waves - before, waves) + '.';
}

class Occupancy {
  constructor(page) {
    this.page = page;
    this.device = report.objects[page.row.object].devices[page.demand.device];
    const [smallest, largest] = page.demand.workgroup;
    this.declared = { vgprs: page.demand.vgprs, sgprs: page.demand.sgprs, lds: page.demand.lds, workgroup: largest, isAny: true };
    this.isRange = smallest !== largest;
    this.now = { ...this.declared };
  }

  // By LDS, for workgroups of a size; or of any that is declared, up to the largest.
  byLds({ workgroup, isAny }) {
    const { device } = this;
    if (isAny) return device.declared;
    const waves = Math.max(1, Math.ceil(workgroup / device.wave));
    return device.workgroups[Math.min(waves, device.workgroups.length) - 1];
  }

  waves(amounts) {
    const { device } = this;
    const lds = this.byLds(amounts);
    const each = [['vgprs', waysOf(device.vgprs, amounts.vgprs)], ['sgprs', waysOf(device.sgprs, amounts.sgprs)],
      ['lds', waysOf(lds, amounts.lds)], ['workgroups', waysOf(lds, 0)]];
    let found = { waves: device.max_waves, limiter: null };
    for (const [limiter, waves] of each) if (waves < found.waves) found = { waves, limiter };
    return found;
  }

  // How much less of one resource gives more waves, all else being as it is.
  hints(amounts) {
    const { waves } = this.waves(amounts);
    const found = [];
    for (const key of Object.keys(FREED)) {
      const table = key === 'lds' ? this.byLds(amounts) : this.device[key];
      for (const [last] of [...table].reverse()) {
        if (last >= amounts[key]) continue;
        const more = this.waves({ ...amounts, [key]: last });
        if (more.waves > waves) {
          found.push(moreWaves({ [key]: amounts[key] - last }, more.waves - waves, more.waves));
          break;
        }
      }
    }
    return found;
  }

  draw(panel) {
    const { page, device } = this;
    this.result = el('output', { class: 'waves', id: 'waves', 'aria-live': 'polite' });
    this.hint = el('ul', { class: 'hints' });
    const sizes = [
      ['vgprs', 'VGPRs', device.max_vgprs, 1, String],
      ['sgprs', 'SGPRs', device.max_sgprs + 8, 1, String],
      ['lds', 'LDS bytes', device.lds_bytes, 256, it => it >= 1024 ? `${+(it / 1024).toFixed(1)}K` : String(it)],
      ['workgroup', 'workgroup size', device.max_workgroup, device.wave, String],
    ];
    this.cards = sizes.map(([key, title, most, step, unit]) => {
      const chart = el('div');
      const value = el('output', { class: 'amount' });
      const slider = el('input', { type: 'range', id: 'slider-' + key, min: 0,
        max: Math.max(most, this.declared[key]), step: key === 'lds' ? 4 : step, value: this.now[key],
        'aria-label': title,
        on: { input: () => {
          this.now[key] = Math.max(key === 'workgroup' ? step : 0, Number(slider.value));
          this.now.isAny = this.now.workgroup === this.declared.workgroup;
          this.refresh();
        } } });
      return { key, title, most: Math.max(most, this.declared[key]), unit, chart, value, slider,
        node: el('section', { class: 'card' }, el('h3', null, el('label', { for: 'slider-' + key }, title), ' ', value), chart, slider) };
    });
    const said = page.resources.occupancy;
    replace(panel,
      el('div', { class: 'occupancy-head' }, this.result,
        el('button', { type: 'button', on: { click: () => {
          this.now = { ...this.declared };
          for (const it of this.cards) it.slider.value = this.now[it.key];
          this.refresh();
        } } }, 'As declared'),
        el('span', { class: 'faint' }, `${page.row.target ?? ''}: waves of ${device.wave} lanes, `
          + `at most ${device.max_waves} on a SIMD`, device.cu_mode ? ', CU mode' : '',
        `; as declared, ${plural(said?.workgroups_per_cu ?? 0, 'workgroup')} of ${said?.workgroup_size} on a compute unit`)),
      this.hint, el('div', { class: 'cards' }, this.cards.map(it => it.node)),
      el('p', { class: 'faint' }, 'Waves on one SIMD, counted as LLVM counts them. A workgroup may have any size that the kernel '
        + 'allows until the slider chooses one.'));
    this.refresh();
  }

  refresh() {
    const { waves, limiter } = this.waves(this.now);
    const before = this.waves(this.declared).waves;
    const change = waves === before ? '' : ` (${waves > before ? '+' : '−'}${Math.abs(waves - before)})`;
    replace(this.result, el('b', null, `${waves} of ${this.device.max_waves} waves${change}`),
      limiter ? `, limited by ${limiter}` : ', as many as there can be');
    this.result.dataset.waves = waves;
    this.result.dataset.limiter = limiter ?? '';
    replace(this.hint, this.hints(this.now).map(it => el('li', null, it)));
    for (const { key, title, most, unit, chart, value } of this.cards) {
      const amounts = this.tableOf(key);
      const isRange = key === 'workgroup' && this.isRange && this.now.workgroup === this.declared.workgroup;
      replace(value, (isRange ? 'up to ' : '') + number(this.now[key]));
      replace(chart, steps(amounts, { most, at: this.now[key], waves, label: `Waves by ${title}`, unit }));
    }
  }

  // Waves by one resource, the others as the sliders say.
  tableOf(key) {
    const amounts = key === 'workgroup'
      ? this.device.workgroups.map((_, at) => (at + 1) * this.device.wave)
      : (key === 'lds' ? this.byLds(this.now) : this.device[key]).map(it => it[0]);
    return amounts.map(amount => [amount, this.waves({ ...this.now, [key]: amount, isAny: key !== 'workgroup' && this.now.isAny }).waves]);
  }
}
