// Draws memory over width: the peak beside the pixels of the largest forward call, and the path of the image.
'use strict';

pb.paths = {
  whole: {symbol: 'circle', mark: '●', words: 'whole'},
  split: {symbol: 'diamond-open', mark: '◇', words: 'split into quadrants'},
  pad: {symbol: 'square-open', mark: '□', words: 'padded'},
  tiles: {symbol: 'triangle-up', mark: '▲', words: 'tiles'}
};

pb.widthOf = point => point.settings.image_width_px;

/// Returns the series over the width that the program found, with their jumps: {series, before, after, cause,
/// peak_ratio, pixels_ratio, is_largest}.
pb.shapeSeries = model => pb.named(pb.setsOf(model, 'width_series')).map(one => {
  const jumps = one.jumps.map(
      jump => ({...jump, series: one, before: one.file.pointOf(jump.before), after: one.file.pointOf(jump.after)}));
  return {...one, jumps};
});

pb.peakOf = point => point.value('allocated_peak_mib');

/// Says why memory jumps.
pb.jumpReason = ({before, after, cause}) => {
  const path = point => pb.paths[point.path]?.words ?? 'unknown path';
  if (cause === 'not_path') return `both ${path(before)}: not a matter of the path`;
  return `${path(before)} → ${path(after)}${cause === 'path' ? '' : ', but the pixels go the other way'}`;
};

pb.jumpRow = jump => {
  const both = say => `${say(jump.before)} → ${say(jump.after)}`;
  return [
    jump.series.name || 'all points', both(pb.widthOf), pb.jumpReason(jump),
    `${both(point => pb.number(point.value('pixels_per_forward') / 1e6))} (× ${pb.number(jump.pixels_ratio, 2)})`,
    `${both(point => pb.number(pb.peakOf(point)))} (× ${pb.number(jump.peak_ratio, 2)})`
  ];
};

/// Describes a jump in a sentence.
pb.sayJump = jump => {
  const say = point => `${pb.widthOf(point)} px (${pb.paths[point.path]?.words ?? 'path unknown'}, ${
      pb.number(point.value('pixels_per_forward') / 1e6)} Mpx in a forward call) peaks at ${
      pb.withUnit(pb.peakOf(point), 'MiB')}`;
  return `${pb.ofFile(jump.series.file, 'The')} largest jump of memory${
      jump.series.name ? ` (${jump.series.name})` : ''}: ${say(jump.before)}, ${say(jump.after)}.`;
};

/// Describes the largest jump of each file in a sentence, and lists all jumps in a table.
pb.jumpWords = series => {
  const jumps = series.flatMap(one => one.jumps);
  if (jumps.length === 0) return [pb.el('p', {}, 'No neighbouring widths jump: the peak grows with the image.')];
  const headings = ['points', 'width, px', 'path', 'Mpx per forward', 'peak, MiB'];
  return [
    ...jumps.filter(jump => jump.is_largest).map(jump => pb.el('p', {}, pb.sayJump(jump))),
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
        symbol: one.points.map(point => pb.paths[point.path]?.symbol ?? pb.symbols[i % pb.symbols.length])
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
        .map((one, i) => pb.predictedTrace({
          x: one.points.map(pb.widthOf),
          y: one.points.map(point => point.value('predicted_peak_mib') ?? NaN),
          legendgroup: 'predicted',
          showlegend: i === 0
        }));

pb.section({
  id: 'shape',
  title: 'Memory against width',
  absent: 'memory against width (needs at least three image widths)',
  find: pb.shapeSeries,
  draw: (series, body, model) => {
    const paths = pb.distinct(series.flatMap(one => one.points.map(point => point.path)).filter(Boolean));
    body.append(pb.el(
        'p', {}, 'Peak memory follows the pixels of the largest forward call, not the size of the image. ',
        `Marks show the path: ${pb.list(paths.map(path => `${pb.paths[path]?.mark} ${pb.paths[path]?.words}`))}.`));
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
    body.append(...pb.jumpWords(series));
  },
});
