// Draws charts and defines their colours. pb.chart draws every chart and draws it again when the colours change.
'use strict';

pb.palette = ['#3b76c4', '#d9792b', '#3d9970', '#b3508b', '#8673d1', '#9a8f2c', '#3aa0b5', '#c4554a'];
pb.dashes = ['solid', 'dash', 'dot', 'dashdot', 'longdash'];
pb.symbols = ['circle', 'square', 'diamond', 'triangle-up', 'pentagon', 'hexagon'];

pb.theme = {
  modes: ['auto', 'light', 'dark'],
  names: {auto: '◐ auto', light: '☀ light', dark: '☾ dark'},
  remembered() {
    try {
      return localStorage.getItem('patchbench-theme') ?? 'auto';
    } catch {
      return 'auto';
    }
  },
  set(mode) {
    const chosen = this.modes.includes(mode) ? mode : 'auto';
    document.documentElement.dataset.theme = chosen;
    document.getElementById('theme').textContent = this.names[chosen];
    try {
      localStorage.setItem('patchbench-theme', chosen);
    } catch { /* a file opened from disk may not remember */
    }
    pb.redrawAll();
  },
  start() {
    document.getElementById('theme').addEventListener('click', () => {
      const now = this.modes.indexOf(document.documentElement.dataset.theme);
      this.set(this.modes[(now + 1) % this.modes.length]);
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => pb.redrawAll());
    this.set(this.remembered());
  },
};

/// Returns the current value of a colour of the style sheet.
pb.colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

pb.axis = (title, extra = {}) => ({
  title: {text: pb.plain(title), standoff: 8},
  automargin: true,
  gridcolor: pb.colour('grid'),
  zerolinecolor: pb.colour('grid'),
  linecolor: pb.colour('grid'),
  ...extra,
});

/// Makes a logarithmic axis with a tick at each value. It is meant for few values, such as batches or ranks.
pb.powersAxis = values => {
  const ticks = pb.distinct(values).sort((a, b) => a - b);
  return {
    type: 'log',
    tickvals: ticks,
    ticktext: ticks.map(String),
    tickangle: 0,
    minor: {showgrid: false},
    range: [Math.log10(ticks[0]) - 0.08, Math.log10(ticks.at(-1)) + 0.08]
  };
};

/// Makes a logarithmic axis from `low` to `high` with ticks at the powers of ten. If these are fewer than three, it
/// adds 2 and 5, then every digit; if those are too few as well, the ticks are in equal steps.
pb.logAxis = ([low, high]) => {
  const ticksOf = digits => {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power)
      ticks.push(...digits.map(digit => digit * 10 ** power).filter(tick => tick >= low && tick <= high));
    return ticks;
  };
  const steps = [0, 1, 2, 3, 4].map(step => low + (high - low) * step / 4);
  const tickvals = [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]].map(ticksOf).find(ticks => ticks.length > 2) ?? steps;
  return {
    type: 'log',
    tickvals,
    ticktext: tickvals.map(tick => pb.number(tick)),
    tickangle: 0,
    minor: {showgrid: false},
    range: [Math.log10(low), Math.log10(high)]
  };
};

/// True on a phone, where there is little room for text beside a chart.
pb.isNarrow = () => document.documentElement.clientWidth < 600;

/// Returns the height of a chart in px. Each legend entry beyond six adds height, so that the legend leaves room for
/// the chart.
pb.heightFor = named => 330 + 11 * Math.max(0, named - 6);

pb.layout = (extra = {}) => ({
  paper_bgcolor: 'rgba(0,0,0,0)',
  plot_bgcolor: 'rgba(0,0,0,0)',
  height: 330,
  margin: {l: 12, r: 12, t: 12, b: 12},
  hovermode: 'closest',
  showlegend: true,
  font: {family: 'system-ui, sans-serif', size: 12.5, color: pb.colour('text')},
  hoverlabel:
      {bgcolor: pb.colour('card'), bordercolor: pb.colour('line'), font: {color: pb.colour('text')}, align: 'left'},
  legend: {orientation: 'h', y: -0.22, yanchor: 'top', x: 0, font: {size: 12}},
  ...extra,
});

pb.charts = [];
pb.areDrawn = false;  // while false, new charts wait until the page is complete

/// Adds a chart with a heading to `parent`. `build()` returns {traces, layout} in the current colours.
pb.chart = (parent, heading, build) => {
  const plot = pb.el('div', {class: 'plot'});
  parent.append(pb.el('figure', {}, heading ? pb.el('figcaption', {}, heading) : null, plot));
  const draw = () => {
    const {traces, layout} = build();
    const named = traces.filter(trace => trace.showlegend !== false).length;
    Plotly.react(
        plot, traces, pb.layout({height: pb.heightFor(named), ...layout}),
        {responsive: true, displaylogo: false, displayModeBar: false, plotlyServerURL: ''});
  };
  pb.charts.push({plot, draw});
  if (pb.areDrawn) draw();
  return plot;
};

pb.redraw = plot => pb.charts.find(chart => chart.plot === plot).draw();

/// Unregisters the charts in `parent`, which the caller is about to empty.
pb.forget = parent => {
  for (const {plot} of pb.charts)
    if (parent.contains(plot)) Plotly.purge(plot);
  pb.charts = pb.charts.filter(({plot}) => !parent.contains(plot));
};

pb.redrawAll = () => {
  pb.areDrawn = true;
  for (const chart of pb.charts) chart.draw();
};

/// Gives each series a style. Colour follows the first setting in which the series differ; dash and symbol follow the
/// others. With several files, dash and symbol follow the file, the same in every chart, and colour follows the
/// settings.
pb.styled = series => {
  const keys = series.length > 0 ? series[0].keys : [];
  const ordered = pb.distinct(['patch', 'halo_px', ...keys]).filter(key => key !== 'file' && keys.includes(key));
  const valueOf = (one, some) => JSON.stringify(some.map(key => one.points[0].settings[key] ?? null));
  const index = (one, some) => pb.distinct(series.map(other => valueOf(other, some))).indexOf(valueOf(one, some));
  const isOnly = series.every(one => one.points[0].file.isOnly);
  return series.map(one => {
    const colour = index(one, isOnly ? ordered.slice(0, 1) : ordered);
    const mark = isOnly ? index(one, ordered.slice(1)) : Number(one.points[0].file.id);
    return {
      ...one,
      colour: pb.palette[colour % pb.palette.length],
      dash: pb.dashes[mark % pb.dashes.length],
      symbol: pb.symbols[mark % pb.symbols.length]
    };
  });
};

/// Returns the legend's name for a series: its settings, and its file if there are several files.
pb.nameOf = one => {
  const [first] = one.points;
  const name = one.name || first?.outcome || 'measured';
  return first === undefined || one.keys.includes('file') ? name : pb.ofFile(first.file, name);
};

/// Makes an annotation inside a chart. Its upper left corner is at (x, y), as shares of the drawing.
pb.noteAt = (text, x, y) => ({
  text: pb.plain(text),
  xref: 'paper',
  yref: 'paper',
  x,
  y,
  xanchor: 'left',
  yanchor: 'bottom',
  showarrow: false,
  font: {size: 12, color: pb.colour('quiet')}
});

/// Makes error bars from the interval [low, high] of each value; a value without one has no bar.
pb.intervalBars = (values, intervals, factor = 1) => {
  const lengths = end => values.map((value, i) => intervals[i] ? factor * Math.abs(intervals[i][end] - value) : 0);
  return {
    type: 'data',
    symmetric: false,
    thickness: 1.2,
    width: 3,
    visible: intervals.some(Boolean),
    array: lengths(1),
    arrayminus: lengths(0)
  };
};

/// Returns [low, high]; null without an interval.
pb.endsOf = (low, high) => pb.isNumber(low) ? [low, high] : null;

/// Draws a figure of groups of points as bars side by side, one for each of `kinds`: {kinds, kindOf(point), key, title,
/// factor, intervals(points), keys: the figures of the texts beside the bars}.
pb.groupedBars = (groups, model, {kinds, kindOf, key, title, factor = 1, intervals = () => [], keys}) => {
  const traces = kinds.map((kind, i) => {
    const held = groups.map(group => ({group, point: group.points.find(point => kindOf(point) === kind)}))
                     .filter(({point}) => point && point.value(key) !== null);
    const points = held.map(({point}) => point);
    return {
      type: 'bar',
      name: pb.plain(kind),
      x: held.map(({group}) => pb.plain(group.name || 'all points')),
      y: points.map(point => factor * point.value(key)),
      marker: {color: pb.palette[i % pb.palette.length]},
      error_y: pb.intervalBars(points.map(point => point.value(key)), intervals(points), factor),
      text: points.map(point => pb.hover(point, keys, model)),
      textposition: 'none',
      hovertemplate: '%{text}<extra></extra>'
    };
  });
  return {
    traces,
    layout: {barmode: 'group', bargap: 0.3, xaxis: pb.axis(''), yaxis: pb.axis(title, {rangemode: 'tozero'})}
  };
};

/// Says how many groups the charts leave out, if they do.
pb.sayShown = (body, shown, groups) => {
  if (shown.length < groups.length)
    body.append(pb.el(
        'p', {class: 'quiet'}, `The first ${shown.length} of ${groups.length} groups are drawn; the table has all.`));
};

/// Makes marks of predicted values, which `extra` places.
pb.predictedTrace = extra => ({
  name: 'predicted',
  mode: 'markers',
  marker: {symbol: 'cross-thin', size: 11, line: {width: 1.4, color: pb.colour('quiet')}},
  hovertemplate: 'predicted %{y:.0f} MiB<extra></extra>',
  ...extra
});

pb.starAt = (x, y, name) => ({
  x: [x],
  y: [y],
  name,
  mode: 'markers',
  hoverinfo: 'skip',
  marker: {symbol: 'star', size: 17, color: pb.colour('star'), line: {width: 1.2, color: pb.colour('text')}}
});

/// Returns the text beside the pointer: the point, then the figures of the chart.
pb.hover = (point, keys, model) => {
  const lines = keys.map(key => {
    const metric = model.metrics.get(key);
    const interval =
        ['patches_per_s', 'useful_mpx_per_s', 'images_per_s'].includes(key) ? point.rateInterval(key) : null;
    const range = interval ? ` [${interval.map(end => pb.number(end)).join(', ')}]` : '';
    return point.value(key) === null ?
        null :
        `${key.replaceAll('_', ' ')}: ${pb.withUnit(point.value(key), metric?.unit ?? '')}${range}`;
  });
  return [
    `<b>${pb.plain(pb.ofFile(point.file, point.label))}</b>`, ...lines.filter(line => line !== null).map(pb.plain)
  ].join('<br>');
};

/// Makes a selection list for items that have a name.
pb.choose = (title, items, chosen, onChoice) => {
  const select = pb.el(
      'select', {on: {change: event => onChoice(items[Number(event.target.value)])}},
      items.map((item, i) => pb.el('option', {value: i, selected: item === chosen}, item.name)));
  return pb.el('label', {class: 'chooser'}, title, ' ', select);
};

/// Makes a selection list for points, by label.
pb.chooser = (title, points, chosen, onChoice) => {
  const items = points.map(point => ({point, name: pb.ofFile(point.file, point.label)}));
  return pb.choose(title, items, items.find(item => item.point === chosen), item => onChoice(item.point));
};

/// Draws a list of `points` from which one is taken, at first `first`, and `words(point)` and `chart(point)` of that
/// one. `follow(point)`, if there is one, is called with each point that is taken.
pb.drawOneOf = (body, points, first, {words, chart, follow = null}) => {
  let chosen = first;
  const quiet = pb.el('p', {class: 'quiet'});
  const say = () => {
    quiet.textContent = words(chosen);
    follow?.(chosen);
  };
  body.append(pb.chooser('Point', points, chosen, point => {
    chosen = point;
    say();
    pb.redraw(plot);
  }), quiet);
  say();
  const plot = pb.chart(body, null, () => chart(chosen));
};
