// Draws engines side by side: latency of a call, CPU, memory, what passes before the first result, and a table of all.
'use strict';

/// Returns the engine of a point with the options that its process has.
pb.engineOf = point => [point.settings.engine, point.settings['worker.options']].filter(Boolean).join(' ');

pb.engineGroups = model => pb.named(pb.setsOf(model, 'alternatives').filter(set => set.by === 'engine'));

pb.engineNames = groups => pb.distinct(groups.flatMap(group => group.points.map(pb.engineOf)));

/// Draws `key` of every group as bars, one for each engine. `ends` names the ends of its interval, if it has one;
/// without an interval of all points there are none.
pb.engineChart = (groups, model, {ends: [low, high] = [], ...figure}) => pb.groupedBars(groups, model, {
  ...figure,
  kinds: pb.engineNames(groups),
  kindOf: pb.engineOf,
  intervals: points => {
    const all = points.map(point => low ? pb.endsOf(point.value(low), point.value(high)) : null);
    return all.every(Boolean) ? all : [];
  },
  keys: pb.engineFigures
});

/// What passes before the first result, one bar a point.
pb.startChart = (groups, model) => {
  const held = groups.flatMap(group => group.points.map(point => ({group, point})));
  const x = [
    held.map(({group}) => pb.plain(group.name || 'all points')), held.map(({point}) => pb.plain(pb.engineOf(point)))
  ];
  const parts = {load_s: 'start and load', prepare_s: 'compile, first call', first_pass_s: 'first pass'};
  const traces = Object.entries(parts).map(([key, name], i) => ({
                                             type: 'bar',
                                             name,
                                             x,
                                             y: held.map(({point}) => point.value(key) ?? 0),
                                             marker: {color: pb.palette[i]},
                                             text: held.map(({point}) => pb.hover(point, Object.keys(parts), model)),
                                             textposition: 'none',
                                             hovertemplate: '%{text}<extra></extra>'
                                           }));
  return {
    traces,
    layout: {
      barmode: 'stack',
      height: 380,
      xaxis: pb.axis('', {type: 'multicategory', tickangle: 90}),
      yaxis: pb.axis('s', {rangemode: 'tozero'}),
      legend: {orientation: 'h', y: 1.12, yanchor: 'bottom', x: 0}
    }
  };
};

/// The figures of the texts beside the bars.
pb.engineFigures = [
  'call_s', 'call_p90_s', 'call_p99_s', 'call_mean_s', 'cpu_per_patch_s', 'cpu_percent', 'engine_peak_mib', 'load_s',
  'prepare_s', 'first_pass_s', 'window_error', 'fp64_error'
];

/// Makes a table of figures, a row a point. Each column is a heading and a function that makes a cell of a point.
pb.engineTable = (groups, columns) => pb.table(
    ['points', 'engine', ...columns.map(([heading]) => heading)],
    groups.flatMap(
        group => group.points.map(
            point => [group.name || 'all points', pb.engineOf(point), ...columns.map(([, cell]) => cell(point))])),
    columns.map((unused, i) => i + 2));

pb.engineTables = (groups, model) => {
  const figure = key => point => pb.withUnit(point.value(key), model.metrics.get(key)?.unit ?? '');
  const withEnds = (key, low, high) => point => point.value(low) === null ?
      pb.seconds(point.value(key)) :
      `${pb.seconds(point.value(key))} [${pb.seconds(point.value(low))}, ${pb.seconds(point.value(high))}]`;
  return [
    pb.engineTable(
        groups,
        [
          ['call: median', withEnds('call_s', 'call_low_s', 'call_high_s')], ['p90', figure('call_p90_s')],
          ['p99', figure('call_p99_s')], ['mean', withEnds('call_mean_s', 'call_mean_low_s', 'call_mean_high_s')],
          ['pass against the base', point => pb.gain(point, 'engine')]
        ]),
    pb.engineTable(
        groups,
        [
          ['CPU time a patch', figure('cpu_per_patch_s')], ['CPU', figure('cpu_percent')],
          ['resident peak', figure('engine_peak_mib')], ['start and load', figure('load_s')],
          ['compile, first call', figure('prepare_s')], ['first pass', figure('first_pass_s')],
          ['difference to fp32 (of full scale)', point => pb.number(point.value('window_error'), 2)],
          ['to fp64', point => pb.number(point.value('fp64_error'), 2)]
        ])
  ];
};

pb.section({
  id: 'engines',
  title: 'Engines',
  absent: 'engines (needs points that differ in the engine)',
  about: 'Everything equal but the engine. A call is one forward call by the clock of the process that runs the ' +
      'network. Memory is that of this process: of torch and native the whole rank, MPI and LibTorch included.',
  find: pb.engineGroups,
  draw: (groups, body, model) => {
    const shown = groups.slice(0, 12);
    const charts = [
      [
        'Latency: mean of the calls with its 95 % interval',
        {key: 'call_mean_s', title: 'ms', factor: 1e3, ends: ['call_mean_low_s', 'call_mean_high_s']}
      ],
      [
        'CPU time of a patch: other programs on the machine hardly change it',
        {key: 'cpu_per_patch_s', title: 'ms', factor: 1e3}
      ],
      [
        'CPU time by wall time in the passes: less than 100 % a thread is a core that something else had',
        {key: 'cpu_percent', title: '%'}
      ],
      ['Resident peak of the process that runs the network', {key: 'engine_peak_mib', title: 'MiB'}]
    ];
    const drawn = pb.el('div', {id: 'engines-charts'});
    body.append(drawn);
    for (const [heading, chart] of charts) pb.chart(drawn, heading, () => pb.engineChart(shown, model, chart));
    pb.chart(drawn, 'Before the first result', () => pb.startChart(shown, model));
    pb.sayShown(body, shown, groups);
    body.append(...pb.engineTables(groups, model));
  },
});
