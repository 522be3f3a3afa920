// Memory against width: the peak beside the pixels of the largest forward call, and which path the image took.
'use strict';

pb.pathSymbols = {
  whole: 'circle',
  split: 'diamond-open',
  pad: 'square-open',
  tiles: 'triangle-up'
};
pb.pathMarks = {
  whole: '●',
  split: '◇',
  pad: '□',
  tiles: '▲'
};
pb.pathWords = {
  whole: 'whole',
  split: 'split into quadrants',
  pad: 'padded',
  tiles: 'tiles'
};

pb.widthOf = point => point.settings.image_width_px;

/// Series of at least three widths, of one height or of one height for each width.
pb.shapeSeries = points => {
  const usable = points.filter(point => point.value('allocated_peak_mib') !== null);
  const heightFollows = [...pb.groupBy(usable, pb.widthOf).values()].every(
      same => pb.distinct(same.map(point => point.settings.image_height_px)).length === 1);
  const free = heightFollows ? ['image_width_px', 'image_height_px'] : ['image_width_px'];
  const isCurve = group => pb.distinct(group.points.map(pb.widthOf)).length >= 3;
  // Grouped again without the points of no curve: names and colours are to tell only the curves apart.
  return pb.groupsBut(pb.groupsBut(usable, free).filter(isCurve).flatMap(group => group.points), free)
      .map(group => ({...group, points: [...group.points].sort((a, b) => pb.widthOf(a) - pb.widthOf(b))}));
};

pb.peakOf = point => point.value('allocated_peak_mib');

/// Neighbouring widths between which the peak changes by more than a quarter beyond what the wider image explains, or
/// the other way: {before, after, peak, pixels} with the ratios after / before.
pb.jumpsIn = series => series.points.slice(1).flatMap((after, i) => {
  const before = series.points[i];
  const peak = pb.peakOf(after) / pb.peakOf(before), width = pb.widthOf(after) / pb.widthOf(before);
  const excess = peak / width;
  if (!(excess > 1.25 || excess < 0.8)) return [];
  const pixels = after.value('pixels_per_forward') / before.value('pixels_per_forward');
  return [{series, before, after, peak, pixels}];
});

/// Why memory jumps: by the path where that changed and its pixels per forward went the same way.
pb.jumpReason = ({before, after, peak, pixels}) => {
  const path = point => pb.pathWords[point.path] ?? 'unknown path';
  if (before.path === after.path) return `both ${path(before)}: not a matter of the path`;
  const sameWay = (peak > 1) === (pixels > 1);
  return `${path(before)} → ${path(after)}${sameWay ? '' : ', but the pixels go the other way'}`;
};

pb.jumpRow = jump => {
  const both = say => `${say(jump.before)} → ${say(jump.after)}`;
  return [
    jump.series.name || 'all points', both(pb.widthOf), pb.jumpReason(jump),
    `${both(point => pb.number(point.value('pixels_per_forward') / 1e6))} (× ${pb.number(jump.pixels, 2)})`,
    `${both(point => pb.number(pb.peakOf(point)))} (× ${pb.number(jump.peak, 2)})`
  ];
};

pb.largestJump = jumps => {
  const size = jump => Math.abs(Math.log(jump.peak));
  return jumps.reduce((most, jump) => size(jump) > size(most) ? jump : most);
};

/// A jump in a sentence.
pb.sayJump = jump => {
  const say = point => `${pb.widthOf(point)} px (${pb.pathWords[point.path] ?? 'path unknown'}, ${
      pb.number(point.value('pixels_per_forward') / 1e6)} Mpx in a forward call) peaks at ${
      pb.withUnit(pb.peakOf(point), 'MiB')}`;
  return `The largest jump of memory${jump.series.name ? ` (${jump.series.name})` : ''}: ${say(jump.before)}, ${
      say(jump.after)}.`;
};

/// The largest jump in a sentence, and all of them in a table.
pb.jumpWords = jumps => {
  if (jumps.length === 0) return [pb.el('p', {}, 'No neighbouring widths jump: the peak grows with the image.')];
  const headings = ['points', 'width, px', 'path', 'Mpx per forward', 'peak, MiB'];
  return [
    pb.el('p', {}, pb.sayJump(pb.largestJump(jumps))),
    pb.el(
        'details', {open: jumps.length <= 6},
        pb.el('summary', {}, `${pb.count(jumps.length, 'jump')}, each with its reason`),
        pb.table(headings, jumps.map(pb.jumpRow)))
  ];
};

pb.shapeTraces = (series, key, scale, model, axis) => series.map(
    (one, i) => ({
      x: one.points.map(pb.widthOf),
      y: one.points.map(point => (point.value(key) ?? NaN) * scale),
      name: pb.plain(pb.nameOf(one)),
      mode: 'lines+markers',
      legendgroup: one.name,
      showlegend: axis === 'y',
      yaxis: axis,
      line: {color: one.colour, width: 1.2, dash: one.dash},
      marker: {
        size: 8,
        color: one.colour,
        symbol: one.points.map(point => pb.pathSymbols[point.path] ?? pb.symbols[i % pb.symbols.length])
      },
      text: one.points.map(
          point => `${
              pb.hover(
                  point, ['allocated_peak_mib', 'predicted_peak_mib', 'pixels_per_forward', 'pipeline_s'],
                  model)}<br>path: ${pb.plain(point.path ?? 'unknown')}`),
      hovertemplate: '%{text}<extra></extra>',
    }));

pb.predictedTraces = series =>
    series.filter(one => one.points.some(point => point.value('predicted_peak_mib') !== null))
        .map((one, i) => ({
               x: one.points.map(pb.widthOf),
               y: one.points.map(point => point.value('predicted_peak_mib') ?? NaN),
               name: 'predicted',
               legendgroup: 'predicted',
               showlegend: i === 0,
               mode: 'markers',
               marker: {symbol: 'cross-thin', size: 11, line: {width: 1.4, color: pb.colour('quiet')}},
               hovertemplate: 'predicted %{y:.0f} MiB<extra></extra>'
             }));

pb.section({
  id: 'shape',
  title: 'Memory against width',
  absent: 'memory against width (needs at least three image widths)',
  find: model => {
    const series = pb.shapeSeries(model.points);
    return series.length > 0 ? series : null;
  },
  draw: (series, body, model) => {
    const paths = pb.distinct(series.flatMap(one => one.points.map(point => point.path)).filter(Boolean));
    body.append(pb.el(
        'p', {}, 'Peak memory follows the pixels of the largest forward call, not the size of the image. ',
        `Marks show the path: ${pb.list(paths.map(path => `${pb.pathMarks[path]} ${pb.pathWords[path]}`))}.`));
    pb.chart(body, 'Peak memory of a rank (above) and pixels of the largest forward call (below)', () => {
      const styled = pb.styled(series);
      return {
        traces: [
          ...pb.shapeTraces(styled, 'allocated_peak_mib', 1, model, 'y'), ...pb.predictedTraces(styled),
          ...pb.shapeTraces(styled, 'pixels_per_forward', 1e-6, model, 'y2')
        ],
        layout: {
          height: 520,
          xaxis: pb.axis('image width, px', {anchor: 'y2'}),
          yaxis: pb.axis('peak memory, MiB', {domain: [0.46, 1], rangemode: 'tozero'}),
          yaxis2: pb.axis('Mpx per forward', {domain: [0, 0.38], rangemode: 'tozero'}),
          legend: {orientation: 'h', y: -0.17, x: 0}
        },
      };
    });
    body.append(...pb.jumpWords(series.flatMap(pb.jumpsIn)));
  },
});
