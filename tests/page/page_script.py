"""JavaScript expressions for Browser.evaluate, which the tests run in a report page."""

# For each chart: its section, how many traces have visible data (a stage of a thousandth of the time is less than a
# pixel wide), how many are drawn on the screen (a line, a point or bar with an area, a picture), and the size of the
# drawing.
CHARTS = """
[...document.querySelectorAll('.plot')].map(plot => {
  const sizes = (within, marks) => [...within.querySelectorAll(marks)].map(mark => {
    const box = mark.getBoundingClientRect(), style = getComputedStyle(mark);
    const outline = style.stroke === 'none' ? 0 : parseFloat(style.strokeWidth);  // shows what is thinner than a pixel
    return box.width + box.height === 0 ? box : {width: box.width + outline, height: box.height + outline};
  });
  const isDrawn = trace => trace.matches('image') ? trace.getBoundingClientRect().width > 0 :
      sizes(trace, '.js-line, .js-fill').some(box => box.width + box.height > 0) ||
      sizes(trace, 'path.point, .point path').some(box => box.width > 0 && box.height > 0);
  const traces = plot.querySelectorAll('.scatterlayer .trace, .barlayer .trace, .heatmaplayer image');
  const box = plot.querySelector('svg.main-svg')?.getBoundingClientRect() ?? {width: 0, height: 0};
  const pixel = plot._fullLayout?.xaxis ? Math.abs(plot._fullLayout.xaxis.range[1] - plot._fullLayout.xaxis.range[0]) /
      plot._fullLayout.xaxis._length : 0;
  const isThin = trace => trace.type === 'bar' && trace.orientation === 'h' && Math.max(...trace.x) < 2 * pixel;
  const filled = (plot.data ?? []).filter(trace => (trace.z ?? trace.y ?? []).length > 0 && !isThin(trace));
  return {section: plot.closest('section').id, traces: filled.length, drawn: [...traces].filter(isDrawn).length,
          width: box.width, height: box.height, fits: box.width <= plot.getBoundingClientRect().width + 1};
})
"""

# For each axis of each chart: the number of labels, and each title that does not fit into its drawing.
AXES = """
[...document.querySelectorAll('.plot')].map(plot => {
  const box = plot.querySelector('svg.main-svg').getBoundingClientRect();
  const isCut = title => { const t = title.getBoundingClientRect();
    return t.left < box.left - 1 || t.right > box.right + 1 || t.top < box.top - 1 || t.bottom > box.bottom + 1; };
  return {section: plot.closest('section').id,
          x: plot.querySelectorAll('.xtick, .x2tick').length, y: plot.querySelectorAll('.ytick, .y2tick').length,
          cut: [...plot.querySelectorAll('.xtitle, .ytitle, .y2title')].filter(isCut).map(title => title.textContent)};
})
"""

# Of a trace, for Page.drawn: its axis, and the heights of what was measured; none of stars, limits, lines through the
# points, predictions and points that did not fit.
MEASURED = """
[trace.yaxis ?? 'y', /predicted|out of memory|limit|memory of/.test(trace.name) || trace.marker?.symbol === 'star' ||
    trace.hoverinfo === 'skip' ? [] : trace.y]
"""

# Links of the navigation that are partly hidden.
CUT_LINKS = """
(() => {
  const nav = document.getElementById('nav').getBoundingClientRect();
  return [...document.querySelectorAll('#nav a')].filter(link => {
    const box = link.getBoundingClientRect();
    return box.left < nav.left - 1 || box.right > Math.min(nav.right, innerWidth) + 1 || box.bottom > nav.bottom + 1;
  }).map(link => link.textContent);
})()
"""

# The recommended points (file and label) in each place that shows them: cards, findings, and stars in the throughput
# charts.
RECOMMENDED = """
(() => {
  const found = pb.loadModel().files.flatMap(file => (file.summary?.recommendations ?? [])
      .filter(one => one.point !== null)
      .map(one => file.points.find(point => point.raw.index === one.point).label));
  const labels = selector => [...document.querySelectorAll(selector)].map(e => /★ ([^\\s:]+)/.exec(e.textContent)?.[1])
      .filter(Boolean);
  const stars = [...document.querySelectorAll('#throughput .plot')].flatMap(plot =>
      plot.data.filter(trace => trace.marker?.symbol === 'star').map(trace => [trace.x[0], trace.y[0]]));
  return {found, cards: labels('.pick p'), findings: labels('.findings li'), stars: stars.length};
})()
"""

# The lowest contrast (WCAG 2.1) of a text against its background, with that text.
CONTRAST = """
(() => {
  const parse = text => { const n = text.match(/[0-9.]+/g).map(Number); return {rgb: n.slice(0, 3), a: n[3] ?? 1}; };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.a === 1) return colour.rgb;
    }
    return [255, 255, 255];
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let worst = {ratio: 99, text: ''};
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join('');
    if (!text || element.closest('script, style, .tag, noscript') || element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    const ink = light(parse(element.closest('svg') ? style.fill : style.color).rgb);
    const paper = light(behind(element));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < worst.ratio) worst = {ratio, text: text.slice(0, 60)};
  }
  return worst;
})()
"""
