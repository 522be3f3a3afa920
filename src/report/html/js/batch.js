// Draws throughput and memory over the batch, with a panel for each set of settings other than patch, halo and batch.
'use strict';

pb.batchOf = point => point.settings.batch;
pb.batchTitle = () => pb.isNarrow() ? 'batch' : 'batch (windows in a forward call)';

/// Returns the panels that the program found. Panels of several files that share their settings become one.
pb.batchPanels = model => {
  const merged = pb.groupBy(pb.setsOf(model, 'batch_panels'), panel => panel.key);
  return pb.named([...merged.values()].map(parts => ({...parts[0], parts, points: parts.flatMap(part => part.points)})))
      .map(panel => ({...panel, series: pb.named(panel.parts.flatMap(pb.linesOf))}));
};

pb.linesOf = ({file, lines}) => lines.map(line => ({...line, file, points: file.pointsOf(line.points)}));

/// Returns the asymmetric error bars of a rate; none where there is no interval.
pb.rateBars = (points, key) =>
    pb.intervalBars(points.map(point => point.value(key)), points.map(point => point.rateInterval(key)));

pb.lineTrace = (one, key, model, extra = {}) => {
  const points = one.points.filter(point => point.isMeasured && point.value(key) !== null);
  return {
    x: points.map(pb.batchOf),
    y: points.map(point => point.value(key)),
    name: pb.plain(pb.nameOf(one)),
    mode: 'lines+markers',
    line: {color: one.colour, width: 2, dash: one.dash},
    marker: {color: one.colour, size: 7, symbol: one.symbol},
    text: points.map(
        point => pb.hover(point, ['patches_per_s', 'useful_mpx_per_s', 'allocated_peak_mib', 'seam_error'], model)),
    hovertemplate: '%{text}<extra></extra>',
    ...extra
  };
};

pb.outOfMemoryTrace = (series, y) => {
  const points = series.flatMap(one => one.points).filter(point => point.isOutOfMemory);
  if (points.length === 0) return [];
  return [{
    x: points.map(pb.batchOf),
    y: points.map(() => y),
    name: 'out of memory',
    mode: 'markers',
    cliponaxis: false,
    marker: {symbol: 'x', size: 10, color: pb.colour('bad')},
    text: points.map(
        point => `<b>${pb.plain(point.label)}</b><br>${pb.plain(point.raw.reason ?? 'out of memory')}`.slice(0, 400)),
    hovertemplate: '%{text}<extra></extra>'
  }];
};

pb.starTraces = (panel, key) =>
    panel.points.filter(point => pb.isRecommended(point) && point.value(key) !== null)
        .map(point => pb.starAt(pb.batchOf(point), point.value(key), pb.plain(pb.ofFile(point.file, 'recommended'))));

pb.section({
  id: 'throughput',
  title: 'Throughput against batch',
  absent: 'throughput against batch (needs points that differ in batch)',
  about: [
    'Pixels of the image per second of the slowest rank, from image in memory to image in memory. Bars are 95 % intervals of the ',
    'median; without a bar there were fewer than 6 repetitions. A star is the recommended point.'
  ],
  find: pb.batchPanels,
  draw: (panels, body, model) => {
    const grid = body.appendChild(pb.el('div', {class: 'grid'}));
    for (const panel of panels)
      pb.chart(grid, panel.name || null, () => {
        const series = pb.styled(panel.series);
        return {
          traces: [
            ...series.map(one => pb.lineTrace(one, 'useful_mpx_per_s', model, {
              error_y: pb.rateBars(one.points.filter(point => point.isMeasured), 'useful_mpx_per_s')
            })),
            ...pb.outOfMemoryTrace(series, 0), ...pb.starTraces(panel, 'useful_mpx_per_s')
          ],
          layout: {
            xaxis: pb.axis(pb.batchTitle(), pb.powersAxis(panel.points.map(pb.batchOf))),
            yaxis: pb.axis('Mpx/s', {rangemode: 'tozero'})
          },
        };
      });
  },
});

/// Returns the program's fits to the memory peaks: {fit, samples, predicted_batch, .., one}.
pb.memoryFitsOf = series => series.flatMap(one => {
  const isOf = group => group.samples.some(sample => one.points.includes(one.file.pointOf(sample.point)));
  return one.file.summary.batch_memory.filter(isOf).map(memory => ({...memory, one}));
});

/// Returns the memory limit of a line: the cap of its points, or the memory of the device.
pb.limitOf = ({limit_mib, points}) => pb.isNumber(limit_mib) ? {
  mib: limit_mib,
  name: points[0].settings.memory_limit_mib > 0 ? 'memory limit of the point' : 'memory of the device'
} :
                                                               null;

/// True for a limit far above the peaks. Drawing it would flatten them, so the text names it instead.
pb.isFar = (limit, highest) => limit.mib > 4 * highest;

pb.aboveTheChart = limit => ({
  annotations: [pb.noteAt(`↑ ${limit.name}: ${pb.number(limit.mib)} MiB`, 0, 1)],
  margin: {l: 12, r: 12, t: 28, b: 12}
});

pb.limitTraces = (limit, batches, highest) => {
  if (!limit || pb.isFar(limit, highest)) return [];
  return [{
    x: [Math.min(...batches), Math.max(...batches)],
    y: [limit.mib, limit.mib],
    name: limit.name,
    mode: 'lines',
    line: {color: pb.colour('bad'), width: 1.5, dash: 'dot'},
    hovertemplate: `${limit.name}: ${pb.number(limit.mib)} MiB<extra></extra>`
  }];
};

/// Describes the largest batch that the straight line through the peaks predicts.
pb.memoryWords = ({one, fit, limit_mib, predicted_batch}) => {
  const limit = pb.limitOf({limit_mib, points: one.points});
  const line = `${one.name || 'peak'}: ${pb.number(fit.base_mib)} MiB + ${
      pb.number(fit.per_window_mib)} MiB a window of the batch`;
  if (!limit || !pb.isNumber(predicted_batch)) return `${line}.`;
  return `${line}; the line reaches the ${limit.name} (${pb.number(limit.mib)} MiB) at batch ${
      pb.number(predicted_batch)}, which is extrapolated.`;
};

pb.section({
  id: 'memory',
  title: 'Memory against batch',
  absent: 'memory against batch (needs points that differ in batch)',
  about:
      'Peak of the engine’s allocator on the rank that needs most. Dashed: straight line through the measured peaks; crosses: predicted before the run.',
  find: model =>
      pb.batchPanels(model).filter(panel => panel.points.some(point => point.value('allocated_peak_mib') !== null)),
  draw: (panels, body, model) => {
    const fits = panels.flatMap(
        panel => pb.memoryFitsOf(panel.series)
                     .map(memory => `${panel.name ? `${panel.name}, ` : ''}${pb.memoryWords(memory)}`));
    const grid = body.appendChild(pb.el('div', {class: 'grid'}));
    for (const panel of panels) pb.chart(grid, panel.name || null, () => pb.memoryChart(panel, model));
    if (fits.length > 0)
      body.append(pb.details('The lines in figures', pb.el('ul', {}, fits.map(fit => pb.el('li', {}, fit)))));
  },
});

pb.memoryChart = (panel, model) => {
  const series = pb.styled(panel.series);
  const fits = pb.memoryFitsOf(series);
  const peaks = panel.points.map(point => point.value('allocated_peak_mib') ?? 0);
  const batches = panel.points.map(pb.batchOf);
  const limit = pb.limitOf(panel);
  const isSensible = mib => mib !== null && (!limit || mib < 2 * limit.mib);
  const predicted = series.flatMap(one => one.points).filter(point => isSensible(point.value('predicted_peak_mib')));
  return {
    traces: [
      ...series.map(one => pb.lineTrace(one, 'allocated_peak_mib', model, {mode: 'markers'})),
      ...fits.map(({samples, fit, one}) => ({
                    x: samples.map(sample => sample.batch),
                    y: samples.map(sample => fit.base_mib + fit.per_window_mib * sample.batch),
                    mode: 'lines',
                    showlegend: false,
                    line: {color: one.colour, width: 1.5, dash: 'dash'},
                    hoverinfo: 'skip'
                  })),
      pb.predictedTrace({x: predicted.map(pb.batchOf), y: predicted.map(point => point.value('predicted_peak_mib'))}),
      ...pb.limitTraces(limit, batches, Math.max(...peaks)),
      ...pb.outOfMemoryTrace(series, limit && limit.mib <= 4 * Math.max(...peaks) ? limit.mib : 0)
    ],
    layout: {
      xaxis: pb.axis(pb.batchTitle(), {rangemode: 'tozero'}),
      yaxis: pb.axis('peak, MiB', {rangemode: 'tozero'}),
      ...limit && pb.isFar(limit, Math.max(...peaks)) ? pb.aboveTheChart(limit) : {}
    },
  };
};
