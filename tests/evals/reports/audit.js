// What a person with another way of reading would stumble over, as sentences. Called with nothing, answers a list.
() => {
  const problems = [];
  const say = (what, element) => problems.push(`${what}: ${element.outerHTML.slice(0, 160)}`);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const visible = (element) => element.checkVisibility();
  const byId = (id) => document.getElementById(id);

  // Names.
  const nameOf = (element) => {
    const labelled = (element.getAttribute('aria-labelledby') || '').split(/\s+/).filter(Boolean);
    if (labelled.length) return labelled.map((id) => (byId(id) || {}).textContent || '').join(' ').trim();
    const own = element.getAttribute('aria-label') || '';
    if (own) return own.trim();
    if (element.labels && element.labels.length) return element.labels[0].textContent.trim();
    return element.textContent.trim();
  };
  for (const element of all('a, button, summary, input, select, nav, [role=region], [role=search], [role=img], section[id]'))
    if (!nameOf(element) && !(element.tagName === 'SECTION' && !element.hasAttribute('aria-labelledby'))) say('no name', element);
  const ids = all('[id]').map((element) => element.id);
  for (const id of ids) if (ids.filter((other) => other === id).length > 1) problems.push(`id twice: ${id}`);
  for (const element of all('[aria-labelledby], [aria-describedby]'))
    for (const id of [element.getAttribute('aria-labelledby'), element.getAttribute('aria-describedby')].join(' ').split(/\s+/))
      if (id && !byId(id)) say('refers to nothing', element);

  // Structure.
  if (all('h1').length !== 1) problems.push(`${all('h1').length} first headings`);
  let last = 0;
  for (const heading of all('h1, h2, h3, h4, h5, h6')) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) say(`heading ${level} after ${last}`, heading);
    if (!heading.textContent.trim()) say('empty heading', heading);
    last = level;
  }
  for (const landmark of ['body > header', 'nav', 'main', 'body > footer'])
    if (all(landmark).length !== 1) problems.push(`${all(landmark).length} of ${landmark}`);
  for (const list of all('ul, ol'))
    for (const child of list.children) if (child.tagName !== 'LI') say('no list item', child);
  for (const table of all('table')) {
    if (!table.caption || !table.caption.textContent.trim()) say('no caption', table);
    for (const cell of table.querySelectorAll('th')) if (!cell.scope) say('no scope', cell);
    const widths = new Set([...table.rows].map((row) => row.cells.length));
    if (widths.size > 1) say('rows of different lengths', table);
  }
  for (const image of all('svg')) {
    if (image.getAttribute('role') !== 'img') say('no role', image);
    if (!image.querySelector('title')) say('no title', image);
  }
  for (const element of all('[tabindex]')) if (element.tabIndex > 0) say('own place in the order', element);
  for (const element of all('*'))
    if (visible(element) && element.scrollWidth > element.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(element).overflowX) && element.tabIndex < 0)
      say('scrolls, but not by keyboard', element);

  // Contrast: 4.5, or 3 for large text.
  const parse = (text) => { const n = text.match(/[\d.]+/g).map(Number); return { rgb: n.slice(0, 3), a: n.length > 3 ? n[3] : 1 }; };
  const over = (top, below) => top.rgb.map((value, i) => value * top.a + below[i] * (1 - top.a));
  const backdrop = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const layer = parse(getComputedStyle(each).backgroundColor);
      if (layer.a > 0) layers.push(layer);
      if (layer.a === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((value) => { const s = value / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || seen.has(element) || !visible(element)) continue;
    seen.add(element);
    if (element.closest('script, style, .unseen')) continue;
    const style = getComputedStyle(element);
    const drawn = element instanceof SVGElement ? style.fill : style.color;
    if (element.closest('title, desc')) continue;
    const ratio = contrast(over(parse(drawn), backdrop(element)), backdrop(element));
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least) say(`contrast ${ratio.toFixed(2)} of ${drawn}`, element);
  }
  for (const control of all('input, select, button')) {
    const ratio = contrast(over(parse(getComputedStyle(control).borderTopColor), backdrop(control.parentElement)), backdrop(control.parentElement));
    if (visible(control) && ratio < 3) say(`border ${ratio.toFixed(2)}`, control);
  }
  return problems;
}
