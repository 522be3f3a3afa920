// Draws the scaling over ranks: speed-up and efficiency beside the ideal and the bound that the split of the windows
// sets, where the ranks' time goes, and which ranks wait.
'use strict';

pb.scalingsOf = model =>
    pb.entriesOf(model, 'scalings')
        .map(
            scaling => ({
              ...scaling,
              name: pb.ofFile(
                  scaling.file, `${scaling.kind} scaling of ${scaling.label}${scaling.simulated ? ' (SIMULATED)' : ''}`)
            }));

/// Returns the error bars. The base is 1 by definition and has none; the others have one when there are enough passes.
pb.scalingBars = (points, key, factor) => pb.intervalBars(
    points.map(point => point[key]), points.map(point => pb.endsOf(point[`${key}_low`], point[`${key}_high`])), factor);

/// Draws the measured values, the bound and the ideal of a figure over ranks: {key, factor, unit, bound(point),
/// ideal(point)}.
pb.scalingTraces = (points, figure) => {
  const ranks = points.map(point => point.num_ranks);
  const guide = (name, values, dash, colour) => ({
    x: ranks,
    y: values,
    name,
    mode: 'lines',
    line: {color: colour, width: 1.5, dash},
    hovertemplate: `${name}: %{y:.4g}${figure.unit}<extra></extra>`
  });
  const bounded = points.every(point => pb.isNumber(point.bound));
  return [
    guide('ideal', points.map(figure.ideal), 'dot', pb.colour('quiet')),
    ...bounded ? [guide('what the split allows', points.map(figure.bound), 'dash', pb.palette[1])] : [], {
      x: ranks,
      y: points.map(point => figure.factor * point[figure.key]),
      name: 'reached, 95 %',
      mode: 'lines+markers',
      line: {color: pb.palette[0], width: 2},
      marker: {size: 8, color: pb.palette[0]},
      error_y: pb.scalingBars(points, figure.key, figure.factor),
      hovertemplate: `%{x} ranks: %{y:.4g}${figure.unit}<extra></extra>`
    }
  ];
};

pb.speedupChart = ({points}) => {
  const figure = {key: 'speedup', factor: 1, unit: ' x', ideal: point => point.ideal, bound: point => point.bound};
  const ranks = points.map(point => point.num_ranks);
  return {
    traces: pb.scalingTraces(points, figure),
    layout: {
      xaxis: pb.axis('ranks', pb.powersAxis(ranks)),
      yaxis: pb.axis('speed-up', {type: 'log', dtick: Math.log10(2), tickformat: '~g'})
    }
  };
};

pb.efficiencyChart = ({points}) => {
  const figure =
      {key: 'efficiency', factor: 100, unit: ' %', ideal: () => 100, bound: point => 100 * point.efficiency_bound};
  return {
    traces: pb.scalingTraces(points, figure),
    layout: {
      xaxis: pb.axis('ranks', pb.powersAxis(points.map(point => point.num_ranks))),
      yaxis: pb.axis('efficiency, %', {rangemode: 'tozero'})
    }
  };
};

/// Leaves out the parts that are too small to see. The table of figures lists them.
pb.partNames = points => {
  const order = [...pb.stageNames, 'waiting', 'other'];
  return order.filter(name => points.some(point => (point.parts[name] ?? 0) >= 0.001));
};

pb.partColour = name => ({waiting: pb.palette[3], other: '#8a8a8a'})[name] ?? pb.stageColour(name);
pb.partWords = name =>
    ({waiting: 'wait for the slowest', other: 'neither', exchange: 'exchange'})[name] ?? pb.stageWords[name];

pb.partsChart = ({points}) => ({
  traces: pb.partNames(points).map(name => ({
                                     type: 'bar',
                                     name: pb.partWords(name),
                                     x: points.map(point => String(point.num_ranks)),
                                     y: points.map(point => 100 * (point.parts[name] ?? 0)),
                                     marker: {color: pb.partColour(name)},
                                     hovertemplate: `%{x} ranks, ${pb.partWords(name)}: %{y:.2f} %<extra></extra>`
                                   })),
  layout: {
    barmode: 'stack',
    bargap: 0.35,
    xaxis: pb.axis('ranks', {type: 'category'}),
    yaxis: pb.axis('% of the ranks’ time', {rangemode: 'tozero'})
  }
});

pb.waitingChart = ({points}) => ({
  traces: points.filter(point => point.num_ranks > 1)
              .map((point, i) => ({
                     x: point.ranks.map(each => each.rank),
                     y: point.ranks.map(each => 1e3 * each.waiting_s),
                     name: `of ${point.num_ranks}`,
                     mode: 'lines+markers',
                     line: {width: 1, color: pb.palette[i % pb.palette.length]},
                     marker: {size: 6, symbol: pb.symbols[i % pb.symbols.length]},
                     hovertemplate: `rank %{x} of ${point.num_ranks}: %{y:.3g} ms<extra></extra>`
                   })),
  layout: {
    xaxis: pb.axis('rank', {rangemode: 'tozero'}),
    yaxis: pb.axis('wait for the slowest, ms (median)', {rangemode: 'tozero'})
  }
});

pb.scalingColumns = {
  num_ranks: ['ranks', 1],
  pipeline_s: ['pass, ms', 1e3],
  speedup: ['speed-up', 1],
  bound: ['split allows', 1],
  efficiency: ['efficiency, %', 100],
  of_bound: ['of what the split allows, %', 100],
  simulated_s: ['devices (simulated), ms', 1e3],
  beyond_bound: ['beyond them, %', 100],
  overhead_per_window_s: ['the same a window, ms', 1e3],
  between_s: ['between passes, ms', 1e3],
  cpu_per_patch_s: ['host CPU a patch, ms', 1e3],
  host_cores: ['host cores busy', 1],
  host_peak_mib: ['host MiB a rank', 1],
};

pb.scalingTable = ({points}) => {
  const columns = Object.entries(pb.scalingColumns).filter(([key]) => points.some(point => pb.isNumber(point[key])));
  return pb.table(
      columns.map(([, [heading]]) => heading),
      points.map(
          point => columns.map(([key, [, factor]]) => pb.number(pb.isNumber(point[key]) ? factor * point[key] : null))),
      columns.map((column, i) => i));
};

/// Makes one sentence for each study over ranks, on its largest number of ranks.
pb.scalingWords = model => pb.scalingsOf(model).map(({file, name, points}) => {
  const base = points[0], most = points.at(-1);
  const work =
      pb.isNumber(most.of_bound) ? `, ${pb.number(100 * most.of_bound)} % of what the split of the windows allows` : '';
  return `${name}: ${pb.count(most.num_ranks, 'rank')} do ${pb.number(most.speedup)} times the work of ${
      base.num_ranks} in the same time${pb.within(most.speedup_low, most.speedup_high)}${work}${
      pb.invalidWords(file, [base.point, most.point])}.`;
});

pb.section({
  id: 'scaling',
  title: 'Scaling over ranks',
  absent: 'scaling (needs points that differ in their ranks)',
  about: [
    'Pixels a second against those of the fewest ranks. Windows cannot be divided: what the split allows is the ideal less what the busiest rank has more than its share. ',
    'The parts are sums over ranks; a device’s stages overlap with the host’s, so they need not make 100 %.'
  ],
  find: pb.scalingsOf,
  draw: (scalings, body) => {
    let chosen = scalings[0];
    const plots = [];
    const words = pb.el('div');
    const show = scaling => {
      chosen = scaling;
      const note = scaling.simulated ?
          pb.el(
              'p', {}, pb.el('b', {}, 'SIMULATED: no network ran.'),
              ' The devices are clocks; what is measured is what the program does around them.') :
          null;
      words.replaceChildren(
          ...[note, ...scaling.warnings.map(warning => pb.el('p', {}, pb.el('b', {}, 'Warning: '), warning))].filter(
              Boolean));
      table.replaceChildren(pb.scalingTable(scaling));
      if (pb.areDrawn) plots.forEach(pb.redraw);
    };
    const table = pb.el('div');
    body.append(pb.choose('Points', scalings, chosen, show), words);
    const grid = body.appendChild(pb.el('div', {class: 'grid'}));
    for (const [heading, build] of [
             ['Speed-up', pb.speedupChart], ['Efficiency', pb.efficiencyChart],
             ['Where the ranks’ time goes', pb.partsChart], ['Who waits', pb.waitingChart]])
      plots.push(pb.chart(grid, heading, () => build(chosen)));
    body.append(pb.details('In figures', table));
    show(chosen);
  },
});
