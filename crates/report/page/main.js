// What is shown follows the address: nothing for the table, kernel=N and tab=NAME for a page.

const stateOf = hash => Object.fromEntries(hash.replace(/^#/, '').split('&').filter(Boolean).map(it => it.split('=')));
let drawn = null;

async function show() {
  const state = stateOf(location.hash);
  const main = document.getElementById('main');
  const key = `${state.kernel}:${state.tab}:${state.at}`;
  if (key === drawn && state.kernel !== undefined) return;
  const started = performance.now();
  if (state.at !== undefined) state.at = Number(state.at);
  const isPage = state.kernel !== undefined && report.kernels[Number(state.kernel)];
  if (isPage) await drawKernel(main, state);
  else {
    replace(document.getElementById('crumbs'));
    drawOverview(main);
  }
  drawn = isPage ? `${state.kernel}:${state.tab}:${state.at}` : null;
  document.title = isPage ? `${shortName(isPage.demangled).slice(0, 80)} – ${report.title}` : report.title;
  window.scrollTo(0, 0);
  document.body.dataset.shown = isPage ? 'kernel' : 'overview';
  measure('took', started);
}

// Says for measurements how long it took until what was drawn could be seen.
function measure(name, started = 0) {
  requestAnimationFrame(() => setTimeout(() => {
    document.body.dataset[name] = (performance.now() - started).toFixed(1);
  }));
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  document.getElementById('theme').value = name;
  try { localStorage.setItem('hsaco-theme', name); } catch { /* pages of files may have no storage */ }
}

async function begin() {
  let theme = 'auto';
  try { theme = localStorage.getItem('hsaco-theme') ?? 'auto'; } catch { /* pages of files may have no storage */ }
  setTheme(theme);
  document.getElementById('theme').addEventListener('change', event => setTheme(event.target.value));
  try {
    await loadIndex();
    arrange();
    await show();
    measure('ready');
  } catch (error) {
    replace(document.getElementById('main'), el('p', { class: 'remark', role: 'alert' },
      `This report cannot be shown: ${error.message}`));
    throw error;
  }
  window.addEventListener('hashchange', () => show());
  document.addEventListener('keydown', event => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    const field = document.getElementById('filter') ?? document.getElementById('search');
    if (event.key === '/' && !isTyping && field) { field.focus(); event.preventDefault(); }
    if (event.key === 'Escape' && isTyping) event.target.blur();
  });
}
begin();
