// Memory against width: the peak beside the pixels of the largest forward call, and which path the image took.
'use strict';

pb.pathSymbols = {
  whole: 'circle',
  split: 'diamond-open',
  pad: 'square-open',
  tiles: 'triangle-up'
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
  return pb.groupsBut(usable, heightFollows ? ['image_width_px', 'image_height_px'] : ['image_width_px'])
      .filter(group => pb.distinct(group.points.map(pb.widthOf)).length >= 3)
      .map(group => ({...group, points: [...group.points].sort((a, b) => pb.widthOf(a) - pb.widthOf(b))}));
};

/// The largest jump of memory between neighbouring widths that took different paths, in words.
pb.jumpIn = series => {
  let jump = null;
  series.points.slice(1).forEach((after, i) => {
    const before = series.points[i];
    const size = Math.abs(after.value('allocated_peak_mib') - before.value('allocated_peak_mib'));
    if (before.path !== after.path && (!jump || size > jump.size)) jump = {before, after, size};
  });
  if (!jump) return null;
  const say = point => `${pb.widthOf(point)} px (${pb.pathWords[point.path] ?? 'path unknown'}, ` +
      `${pb.number(point.value('pixels_per_forward') / 1e6)} Mpx in a forward call) peaks at ${
                           pb.withUnit(point.value('allocated_peak_mib'), 'MiB')}`;
  return `${series.name || 'All points'}: ${say(jump.before)}, ${say(jump.after)}.`;
};

pb.shapeTraces = (series, key, scale, model, axis) => series.map(
    (one, i) => ({
      x: one.points.map(pb.widthOf),
      y: one.points.map(point => (point.value(key) ?? NaN) * scale),
      name: pb.plain(one.name || 'measured'),
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
        `Marks show the path: ${pb.list(paths.map(path => pb.pathWords[path]))}.`));
    const jumps = series.map(pb.jumpIn).filter(Boolean);
    if (jumps.length > 0) body.append(pb.el('ul', {}, jumps.map(jump => pb.el('li', {}, jump))));
    pb.chart(body, 'Peak memory of a rank (above) and pixels of the largest forward call (below)', () => {
      const styled = pb.styled(series);
      return {
        traces: [
          ...pb.shapeTraces(styled, 'allocated_peak_mib', 1, model, 'y'), ...pb.predictedTraces(styled),
          ...pb.shapeTraces(styled, 'pixels_per_forward', 1e-6, model, 'y2')
        ],
        layout: {
          height: 520,
          xaxis: pb.axis('image width, px'),
          yaxis: pb.axis('peak memory, MiB', {domain: [0.46, 1], rangemode: 'tozero'}),
          yaxis2: pb.axis('Mpx per forward', {domain: [0, 0.36], rangemode: 'tozero'}),
          legend: {orientation: 'h', y: -0.16, x: 0}
        },
      };
    });
  },
});
