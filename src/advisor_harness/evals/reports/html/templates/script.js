'use strict';
// Everything can be read without this: it filters, unfolds, and opens what a link points to.
(() => {
  const byId = (id) => document.getElementById(id);
  const cases = [...document.querySelectorAll('[data-state]')];
  const folds = [...document.querySelectorAll('.case > details')];
  const find = byId('find'), state = byId('state'), found = byId('found');
  const tools = document.querySelector('.tools');

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const each of cases) {
      const fits = (!state.value || each.dataset.state === state.value) &&
        words.every((word) => each.dataset.text.includes(word));
      each.hidden = !fits;
      shown += fits;
    }
    const narrowed = words.length > 0 || state.value !== '';
    if (narrowed) for (const list of document.querySelectorAll('.list')) list.open = true;
    found.textContent = narrowed ? `${shown} of ${cases.length} cases shown` : '';
  };
  const fold = (open) => { for (const each of folds) if (!each.parentElement.hidden) each.open = open; };

  tools.hidden = false;
  tools.addEventListener('submit', (event) => event.preventDefault());
  find.addEventListener('input', filter);
  find.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { find.value = ''; filter(); }
  });
  state.addEventListener('change', filter);
  byId('expand').addEventListener('click', () => fold(true));
  byId('collapse').addEventListener('click', () => fold(false));

  // What a finished print leaves open was open before.
  let opened = [];
  addEventListener('beforeprint', () => {
    if (opened.length > 0) return;
    opened = folds.filter((each) => !each.open).slice(0, 50);
    for (const each of opened) each.open = true;
  });
  addEventListener('afterprint', () => {
    for (const each of opened) each.open = false;
    opened = [];
  });

  const reveal = () => {
    const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
    const around = target && target.closest('details');
    if (around) { around.open = true; around.scrollIntoView(); }
  };
  addEventListener('hashchange', reveal);
  reveal();
})();
