// Shows where the tiled output differs from full context, for the whole image or for the compared probes.
'use strict';

/// Returns verification.seam_map = [{row, column, height, width, cell_px, errors: [..] row by row}], or null when
/// nothing was compared.
pb.seamMapOf = point => {
  const map = point.raw.verification?.seam_map ?? [];
  return map.some(region => region.errors.some(pb.isNumber)) ? map : null;
};

pb.largestIn = region => region.errors.filter(pb.isNumber).reduce((most, error) => Math.max(most, error), 0);

/// The largest number of probes that are drawn, the worst first.
pb.seamPanels = 8;
pb.shownRegions = point => {
  const map = [...pb.seamMapOf(point)].sort((a, b) => pb.largestIn(b) - pb.largestIn(a));
  return map.slice(0, pb.seamPanels);
};

pb.heatTrace = (region, i, highest) => {
  const columns = Math.ceil(region.width / region.cell_px);
  const rows = Math.ceil(region.height / region.cell_px);
  const axis = letter => i === 0 ? letter : `${letter}${i + 1}`;
  const centre = (start, k) => start + (k + 0.5) * region.cell_px;
  return {
    type: 'heatmap',
    z: Array.from({length: rows}, (unused, r) => region.errors.slice(r * columns, (r + 1) * columns)),
    x: Array.from({length: columns}, (unused, c) => centre(region.column, c)),
    y: Array.from({length: rows}, (unused, r) => centre(region.row, r)),
    xaxis: axis('x'),
    yaxis: axis('y'),
    colorscale: [[0, pb.colour('map-low')], [0.5, pb.colour('map-middle')], [1, pb.colour('map-high')]],
    zmin: 0,
    zmax: highest,
    hoverongaps: false,
    showscale: i === 0,
    colorbar: {thickness: 12, outlinewidth: 0, title: {text: 'difference', side: 'right'}},
    hovertemplate: 'row %{y:.0f}, column %{x:.0f} px<br>largest difference %{z:.3g} of full scale<extra></extra>'
  };
};

/// Returns the edge of the patches that meet; null for carried and exchanged rows, which have none.
pb.edgeOfTiles = settings => pb.isNumber(settings.halo_px) ? settings.patch : null;

/// Returns the lines inside a region where patches join.
pb.seamLines = (region, i, patch) => {
  if (!pb.isNumber(patch)) return [];
  const line = (from, to, places) => ({
    type: 'line',
    xref: i === 0 ? 'x' : `x${i + 1}`,
    yref: i === 0 ? 'y' : `y${i + 1}`,
    line: {color: pb.colour('quiet'), width: 1, dash: 'dot'},
    ...places(from, to)
  });
  const right = region.column + region.width, bottom = region.row + region.height;
  const inside = (begin, end) => {
    const places = [];
    for (let place = Math.ceil((begin + 1) / patch) * patch; place < end; place += patch) places.push(place);
    return places;
  };
  return [
    ...inside(region.column, right).map(x => line(region.row, bottom, (y0, y1) => ({x0: x, x1: x, y0, y1}))),
    ...inside(region.row, bottom).map(y => line(region.column, right, (x0, x1) => ({x0, x1, y0: y, y1: y})))
  ];
};

/// Arranges panels in rows, with as many in a row as fit on the screen.
pb.seamGrid = (count, perRow) => {
  const columns = Math.min(count, perRow), rows = Math.ceil(count / columns);
  const part = (k, of, gap) => [k / of + (k > 0 ? gap / 2 : 0), (k + 1) / of - (k < of - 1 ? gap / 2 : 0)];
  return Array.from(
      {length: count},
      (unused, i) => ({x: part(i % columns, columns, 0.08), y: part(rows - 1 - Math.floor(i / columns), rows, 0.16)}));
};

pb.seamChart = point => {
  const regions = pb.shownRegions(point);
  const highest = Math.max(...regions.map(pb.largestIn));
  const perRow = pb.isNarrow() ? 2 : 4;
  const isWhole = regions.length === 1;
  const places = pb.seamGrid(regions.length, perRow);
  const axes = {};
  regions.forEach((region, i) => {
    const name = i === 0 ? '' : String(i + 1);
    const small = isWhole ? {} : {nticks: 4, tickfont: {size: 10}, automargin: false};
    axes[`xaxis${name}`] =
        pb.axis(isWhole ? 'column, px' : '', {...small, constrain: 'domain', domain: places[i].x, anchor: `y${name}`});
    axes[`yaxis${name}`] = pb.axis(isWhole ? 'row, px' : '', {
      ...small,
      autorange: 'reversed',
      scaleanchor: `x${name}`,
      constrain: 'domain',
      domain: places[i].y,
      anchor: `x${name}`
    });
  });
  const rows = Math.ceil(regions.length / perRow);
  return {
    // If nothing differs, the scale ends at one grey level of 255.
    traces: regions.map((region, i) => pb.heatTrace(region, i, highest > 0 ? highest : 1 / 255)),
    layout: {
      height: isWhole ? 440 : 60 + 210 * rows,
      ...isWhole ? {} : {margin: {l: 34, r: 78, t: 12, b: 24}},
      ...axes,
      shapes: regions.flatMap((region, i) => pb.seamLines(region, i, pb.edgeOfTiles(point.settings))),
      showlegend: false
    }
  };
};

pb.seamMapWords = point => {
  const error = point.value('seam_error');
  if (error === null) return '';
  const where = point.raw.verification.seam_against_whole_image ?
      'against the image run whole' :
      `at ${pb.count(pb.seamMapOf(point).length, 'probe')} with full context, squares where patches meet`;
  const hidden = pb.seamMapOf(point).length - pb.shownRegions(point).length;
  const size = error === 0 ? 'No difference at all: the halo is sufficient' :
                             `Largest difference ${pb.number(error)} of full scale${
                                 error <= 1 ? `, which is ${pb.number(error * 255)} grey levels of 255` : ''}`;
  return `${size}; compared ${where}${hidden > 0 ? ` (the worst ${pb.seamPanels} are drawn)` : ''}.`;
};

pb.section({
  id: 'seams',
  title: 'Seam error',
  absent: 'seam-error map (no tiled point was compared with full context)',
  about: [
    'Largest difference, in each cell, between the image put together from patches and the same image with full context. ',
    'Dotted lines are where patches meet: a lattice along them means that the halo is too small. ',
    'Full scale is 1 (white), or the largest magnitude of the output with full context where that is more, as untrained weights give.'
  ],
  find: model => model.points.filter(pb.seamMapOf),
  draw: (points, body) => {
    const error = point => point.value('seam_error') ?? 0;
    const worst = points.reduce((worst, point) => error(point) > error(worst) ? point : worst);
    pb.drawOneOf(body, points, worst, {words: pb.seamMapWords, chart: pb.seamChart});
  },
});
