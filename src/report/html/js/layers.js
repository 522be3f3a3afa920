// Draws where the time of a forward call goes: the layers of one point, and a table of them.
'use strict';

/// The largest number of bars; the table shows every layer.
pb.mostLayerBars = 24;

/// Returns the profile that the file has for `point`; null without one.
pb.profileOf = point => point.file.summary.profiles.find(profile => profile.point === point.raw.index) ?? null;

pb.layerWords = profile => {
  const call = `${pb.count(profile.windows, 'window')} takes ${pb.seconds(profile.forward_s)} on rank ${profile.rank}`;
  return `A forward call of ${call} (mean of ${pb.count(profile.calls, 'call')} after the repetitions).`;
};

pb.layerChart = profile => {
  const layers = profile.layers.slice(0, pb.mostLayerBars);
  const names = [...layers.map(layer => layer.layer), 'other'];
  const shares = [...layers.map(layer => layer.share), Math.max(0, profile.other_s / profile.forward_s)];
  const seconds = [...layers.map(layer => layer.seconds), profile.other_s];
  return {
    traces: [{
      type: 'bar',
      orientation: 'h',
      y: names.map(pb.plain),
      x: shares.map(share => 100 * share),
      marker: {color: names.map(name => name === 'other' ? '#8a8a8a' : pb.palette[0])},
      customdata: seconds.map(pb.seconds),
      hovertemplate: '%{y}: %{customdata}, %{x:.1f} %<extra></extra>'
    }],
    layout: {
      bargap: 0.2,
      height: 90 + 20 * names.length,
      showlegend: false,
      xaxis: pb.axis(pb.isNarrow() ? '%' : '% of the time of a forward call', {rangemode: 'tozero'}),
      yaxis: {automargin: true, autorange: 'reversed', tickfont: {size: 11}}
    }
  };
};

pb.layerTable = profile => pb.table(
    ['layer', 'operation', 'time', '%', 'GFLOP', 'executed', 'MB', '% of bound'],
    [
      ...profile.layers.map(
          layer =>
              [layer.layer, layer.operation, pb.seconds(layer.seconds), pb.number(100 * layer.share),
               pb.number(layer.flop / 1e9), pb.number(layer.executed_flop / 1e9), pb.number(layer.bytes / 1e6),
               layer.of_bound === null ? '–' : pb.number(100 * layer.of_bound)]),
      ['other', '', pb.seconds(profile.other_s), pb.number(100 * profile.other_s / profile.forward_s), '', '', '', '']
    ],
    [2, 3, 4, 5, 6, 7]);

pb.section({
  id: 'layers',
  title: 'Layers',
  absent: 'layers (no point was profiled: run --profile)',
  about:
      'Layers have the names of the network\u2019s weights, the same in every engine. FLOP and bytes follow from the network: an engine may compute fewer. \u201cOther\u201d is what the call spends between layers.',
  find: model => model.points.filter(point => pb.profileOf(point) !== null),
  draw: (points, body) => {
    const details = pb.details('All layers');
    pb.drawOneOf(body, points, pb.recommended(points) ?? points[0], {
      words: point => pb.layerWords(pb.profileOf(point)),
      chart: point => pb.layerChart(pb.profileOf(point)),
      follow: point => details.replaceChildren(details.firstChild, pb.layerTable(pb.profileOf(point))),
    });
    body.append(details);
  },
});
