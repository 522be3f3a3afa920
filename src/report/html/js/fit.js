// Draws the time per window over the batch: the measured values, the fitted curves and the residuals.
'use strict';

pb.fitsOf = model =>
    pb.entriesOf(model, 'batch_times')
        .map(times => ({
               ...times,
               name: pb.ofFile(
                   times.file, `${times.label}, ${times.scope === 'forward' ? 'network alone' : 'whole pass'}`)
             }));

/// Returns the fitted curves of one line. The curve that fits better comes first.
pb.curvesOf = times => {
  const curves = [
    {key: 'falling', words: 'all batches', dash: 'solid', colour: pb.palette[0]},
    {key: 'rising', words: 'all batches', dash: 'dash', colour: pb.palette[1]},
    {key: 'left_arm', words: `up to batch ${times.fastest_batch}`, dash: 'dot', colour: pb.palette[2]}
  ];
  return curves.filter(curve => times[curve.key])
      .map(curve => ({...curve, ...times[curve.key], isBetter: curve.key === times.better_form}))
      .sort((a, b) => b.isBetter - a.isBetter);
};

pb.curveName = curve => `${curve.formula} (${curve.words})`;

/// Returns the 95 % band of a curve as a closed outline; nothing where the data give no band.
pb.bandTrace = curve => {
  const inner = curve.line.filter(point => pb.isNumber(point.low_s) && pb.isNumber(point.high_s));
  if (inner.length < 2) return [];
  const back = [...inner].reverse();
  return [{
    x: [...inner, ...back].map(point => point.batch),
    y: [...inner.map(point => point.high_s), ...back.map(point => point.low_s)].map(s => s * 1e3),
    fill: 'toself',
    mode: 'lines',
    line: {width: 0},
    fillcolor: `${curve.colour}2e`,
    name: '95 % band of the curve',
    hoverinfo: 'skip'
  }];
};

pb.residualTraces = (times, curves) =>
    curves.map(curve => ({
                 x: curve.batches,
                 y: curve.residuals.map(residual => 100 * residual),
                 yaxis: 'y2',
                 mode: 'markers',
                 showlegend: false,
                 marker: {color: curve.colour, size: 8, symbol: curve.isBetter ? 'circle' : 'circle-open'},
                 hovertemplate: `batch %{x}: %{y:.2f} %<br>${pb.plain(pb.curveName(curve))}<extra></extra>`
               }));

pb.outcomeOf = times =>
    times.file.points.some(point => point.isSimulated && point.raw.index === times.samples[0].point) ? 'simulated' :
                                                                                                       'measured';

pb.measuredTrace = times => {
  const seconds = times.samples.map(sample => sample.window_s);
  return {
    x: times.samples.map(sample => sample.batch),
    y: seconds.map(s => s * 1e3),
    name: `${pb.outcomeOf(times)}, 95 %`,
    mode: 'markers',
    marker: {color: pb.colour('text'), size: 8},
    error_y: pb.intervalBars(seconds, times.samples.map(sample => pb.endsOf(sample.low_s, sample.high_s)), 1e3),
    hovertemplate: 'batch %{x}: %{y:.4g} ms a window<extra></extra>'
  };
};

pb.fitChart = times => {
  const curves = pb.curvesOf(times);
  const isTaken = sample =>
      times.file.points.some(point => point.raw.index === sample.point && pb.isRecommended(point));
  return {
    traces: [
      ...curves.slice(0, 1).flatMap(pb.bandTrace),
      ...curves.map(curve => ({
                      x: curve.line.map(point => point.batch),
                      y: curve.line.map(point => point.window_s * 1e3),
                      name: pb.plain(pb.curveName(curve)),
                      mode: 'lines',
                      line: {color: curve.colour, width: 2, dash: curve.dash},
                      hoverinfo: 'skip'
                    })),
      pb.measuredTrace(times),
      ...times.samples.filter(isTaken).map(sample => pb.starAt(sample.batch, sample.window_s * 1e3, 'recommended')),
      ...pb.residualTraces(times, curves)
    ],
    layout: {
      height: curves.length > 0 ? 520 : 360,
      xaxis: pb.axis(
          pb.batchTitle(),
          {...pb.powersAxis(times.samples.map(sample => sample.batch)), anchor: curves.length > 0 ? 'y2' : 'y'}),
      yaxis: pb.axis('ms a window', {domain: [curves.length > 0 ? 0.4 : 0, 1], rangemode: 'tozero'}),
      ...curves.length > 0 ? {yaxis2: pb.axis('residual, %', {domain: [0, 0.3], zeroline: true})} : {},
      legend: {orientation: 'h', y: -0.17, yanchor: 'top', x: 0}
    }
  };
};

/// Names the fast batches. This does not choose a point: that also depends on seams and memory.
pb.sufficientWords = times => `Batch ${times.fastest_batch} is the fastest${
    pb.isNumber(times.sufficient_batch) && times.sufficient_batch !== times.fastest_batch ?
        `; batch ${times.sufficient_batch} is ${times.sufficient_words}` :
        ''}.`;

pb.parameterRows = times => pb.curvesOf(times).map(
    curve =>
        [pb.curveName(curve),
         Object.entries(curve.parameters)
             .map(
                 ([name, {value, low, high}]) => `${name} = ${pb.number(value)}${
                     pb.isNumber(low) && pb.isNumber(high) ? ` [${pb.number(low)}, ${pb.number(high)}]` : ''}`)
             .join(', '),
         `${pb.number(100 * curve.rms_residual, 2)} %`, pb.number(curve.aicc), curve.notes.join('; ')]);

pb.section({
  id: 'fit',
  title: 'Time a window over the batch',
  absent: 'T(b), the time of a window over the batch (needs points that differ in batch)',
  about: [
    'Seconds a window of the slowest rank. The curves are drawn over the batches that were measured and not beyond; ',
    'below, what each of them misses.'
  ],
  find: pb.fitsOf,
  draw: (fits, body) => {
    let chosen = fits.find(times => times.rising) ?? fits[0];
    const words = pb.el('div');
    const show = times => {
      chosen = times;
      const better = times.comparison ? pb.el('p', {}, times.comparison) : null;
      const rows = pb.parameterRows(times);
      words.replaceChildren(
          ...[pb.el('p', {}, pb.sufficientWords(times)), better,
              rows.length === 0 ?
                  pb.el('p', {class: 'quiet'}, 'Too few batches for a curve: only what was measured is drawn.') :
                  pb.details(
                      'Parameters',
                      pb.table(['curve', 'parameters, 95 %', 'rms residual', 'AICc', 'notes'], rows, [2, 3]))]
              .filter(Boolean));
    };
    body.append(pb.choose('Points', fits, chosen, times => {
      show(times);
      pb.redraw(plot);
    }));
    show(chosen);
    const plot = pb.chart(body, null, () => pb.fitChart(chosen));
    body.append(words);
  },
});
