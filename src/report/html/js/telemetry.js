// Draws the counters that were read while a point was timed, and the times of the repetitions in order.
'use strict';

pb.gauges = {
  utilisation_percent: 'busy, %',
  sm_clock_mhz: 'clock, MHz',
  memory_clock_mhz: 'memory clock, MHz',
  power_w: 'power, W',
  temperature_c: 'temperature, °C'
};

/// Returns the ranks of a point that have samples over time.
pb.watchedRanks = point => (point.raw.telemetry?.ranks ?? []).filter(rank => rank.samples.at_s.length > 0);

pb.gaugesOf = point => Object.keys(pb.gauges).filter(
    gauge => pb.watchedRanks(point).some(rank => (rank.samples[gauge] ?? []).some(pb.isNumber)));

pb.rankColour = rank => pb.palette[rank % pb.palette.length];

/// Returns the range [low, high] of each panel, stacked with the first on top.
pb.stackedDomains = count => {
  const gap = count > 1 ? 0.32 / count : 0, height = (1 - gap * (count - 1)) / count;
  return Array.from(
      {length: count},
      (unused,
       i) => [1 - (i + 1) * height - i * gap, 1 - i * (height + gap)].map(edge => Math.min(1, Math.max(0, edge))));
};

/// Adds markers to a series of at most three samples, because a line alone would hardly show them.
pb.lineMode = samples => samples.filter(pb.isNumber).length > 3 ? 'lines' : 'lines+markers';

pb.telemetryChart = point => {
  const gauges = pb.gaugesOf(point);
  const domains = pb.stackedDomains(gauges.length);
  const axisName = i => i === 0 ? 'y' : `y${i + 1}`;
  const traces = gauges.flatMap(
      (gauge, i) =>
          pb.watchedRanks(point)
              .filter(rank => (rank.samples[gauge] ?? []).some(pb.isNumber))
              .map(rank => ({
                     x: rank.samples.at_s,
                     y: rank.samples[gauge],
                     yaxis: axisName(i),
                     name: `rank ${rank.rank}`,
                     legendgroup: `rank ${rank.rank}`,
                     showlegend: i === 0,
                     mode: pb.lineMode(rank.samples[gauge]),
                     line: {color: pb.rankColour(rank.rank), width: 1.6},
                     hovertemplate:
                         `rank ${rank.rank}, %{x:.1f} s: %{y:.4g} ${pb.gauges[gauge].split(', ')[1]}<extra></extra>`
                   })));
  const axisOf = (gauge, i) => pb.axis('', {
    domain: domains[i],
    nticks: 4,
    ...gauge === 'utilisation_percent' ? {range: [0, 105]} : {},
  });
  const axes = Object.fromEntries(gauges.map((gauge, i) => [axisName(i).replace('y', 'yaxis'), axisOf(gauge, i)]));
  return {
    traces,
    layout: {
      height: 100 + 110 * gauges.length,
      ...axes,
      annotations: gauges.map((gauge, i) => pb.noteAt(pb.gauges[gauge], 0, domains[i][1])),
      xaxis: pb.axis('s since the first timed repetition', {anchor: axisName(gauges.length - 1)}),
      legend: {orientation: 'h', y: 1, yanchor: 'bottom', x: 1, xanchor: 'right'}
    }
  };
};

/// Returns the share of a core that a rank's process used in each repetition: 100 % is one core.
pb.cpuOf = (point, rank) =>
    rank.cpu_s.map((cpu, i) => 100 * cpu / (point.raw.samples.wall_s[i] ?? NaN)).map(v => pb.isNumber(v) ? v : null);

pb.repetitionsChart = point => {
  const {wall_s, ranks} = point.raw.samples;
  const outliers = new Set(point.raw.summary?.outlier_reps ?? []);
  const number = wall_s.map((unused, i) => i + 1);
  return {
    traces: [
      {
        x: number,
        y: wall_s,
        name: 'slowest rank',
        mode: 'lines+markers',
        line: {color: pb.colour('quiet'), width: 1},
        marker: {
          size: 8,
          color: number.map(n => outliers.has(n - 1) ? pb.colour('bad') : pb.colour('text')),
          symbol: number.map(n => outliers.has(n - 1) ? 'diamond' : 'circle')
        },
        text: number.map(n => outliers.has(n - 1) ? ', an outlier' : ''),
        hovertemplate: 'repetition %{x}: %{y:.4g} s%{text}<extra></extra>'
      },
      ...ranks.filter(rank => rank.cpu_s.length > 0)
          .map(rank => ({
                 x: number,
                 y: pb.cpuOf(point, rank),
                 yaxis: 'y2',
                 name: `rank ${rank.rank}`,
                 mode: 'lines+markers',
                 line: {color: pb.rankColour(rank.rank), width: 1.6},
                 marker: {size: 6},
                 hovertemplate: `rank ${rank.rank}, repetition %{x}: %{y:.0f} % of a core<extra></extra>`
               }))
    ],
    layout: {
      height: 380,
      xaxis: pb.axis('repetition', {anchor: 'y2', dtick: wall_s.length <= 20 ? 1 : null}),
      yaxis: pb.axis('s', {domain: [0.56, 1], rangemode: 'tozero'}),
      yaxis2: pb.axis('CPU, % of a core', {domain: [0, 0.44], rangemode: 'tozero'}),
      legend: {orientation: 'h', y: 1.02, yanchor: 'bottom', x: 0}
    }
  };
};

pb.section({
  id: 'telemetry',
  title: 'Over time',
  absent: 'telemetry over time (no point was measured)',
  about:
      'Raw repetitions in their order: a slope is a trend, a diamond an outlier (marked, never dropped). A GPU that slows down shows in its clock.',
  find: model => model.points.filter(point => point.isMeasured && point.raw.samples.wall_s.length > 0),
  draw: (points, body) => {
    let chosen = pb.recommended(points) ?? points[0];
    const holder = pb.el('div');
    const show = point => {
      chosen = point;
      pb.forget(holder);
      holder.replaceChildren();
      pb.chart(
          holder, 'Time of each repetition (above) and CPU time of each rank’s process in it (below)',
          () => pb.repetitionsChart(chosen));
      if (pb.gaugesOf(point).length > 0)
        pb.chart(holder, 'What the counters said meanwhile', () => pb.telemetryChart(chosen));
      else
        holder.append(pb.el('p', {class: 'quiet'}, 'No counters were read on these ranks.'));
    };
    body.append(pb.chooser('Point', points, chosen, show), holder);
    show(chosen);
  },
});
