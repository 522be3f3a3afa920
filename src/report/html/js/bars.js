// Precisions and devices side by side: bars with intervals, and the gain over the base in a table.
'use strict';

pb.barOrder = {
  dtype: ['fp32', 'tf32', 'bf16', 'fp16'],
  device: ['cpu', 'cuda']
};

/// Groups of measured points that differ in `key` only.
pb.barGroups = (points, key) => {
  const free = key === 'device' ? ['device', 'num_ranks'] : [key];
  return pb.groupsBut(points.filter(point => point.isMeasured), free)
      .filter(group => pb.distinct(group.points.map(point => point.settings[key])).length > 1);
};

/// What the study says of `point` against `base`; null for points of two files, or of a study that has not ended.
pb.variantOf = (point, base) => (point.file === base.file ? point.file.summary?.variants ?? [] : [])
                                    .filter(group => group.base.point === base.raw.index)
                                    .flatMap(group => group.points)
                                    .find(variant => variant.point === point.raw.index) ??
    null;

/// The ratio of two rates with its interval: the study's; without one the ends of theirs are divided, which is wider
/// than need be, never narrower.
pb.gain = (point, base) => {
  const rate = 'useful_mpx_per_s';
  const variant = pb.variantOf(point, base);
  if (pb.isNumber(variant?.speedup_low))
    return `${pb.number(variant.speedup)}× [${pb.number(variant.speedup_low)}, ${pb.number(variant.speedup_high)}]`;
  const own = point.rateInterval(rate), other = base.rateInterval(rate);
  const ratio = `${pb.number(point.value(rate) / base.value(rate))}×`;
  return own && other ? `${ratio} [${pb.number(own[0] / other[1])}, ${pb.number(own[1] / other[0])}]` : ratio;
};

pb.barTable = (groups, key) => {
  const values = pb.barOrder[key];
  const rows = groups.flatMap(group => {
    const points = [...group.points].sort((a, b) => values.indexOf(a.settings[key]) - values.indexOf(b.settings[key]));
    const noise = points[0].value('psnr_noisy_db');
    return points.map(
        point =>
            [group.name || 'all points', point.settings[key], pb.number(point.value('useful_mpx_per_s')),
             point === points[0] ? 'base' : pb.gain(point, points[0]), pb.number(point.value('allocated_peak_mib')),
             noise === null || point.value('psnr_denoised_db') === null ? '–' :
                                                                          point.value('psnr_denoised_db').toFixed(2),
             pb.number(point.value('window_error'), 2)]);
  });
  return pb.table(
      [
        'points', key === 'dtype' ? 'precision' : 'device', 'Mpx/s', 'against the base', 'peak MiB', 'PSNR dB',
        'largest difference to fp32 (of full scale)'
      ],
      rows, [2, 3, 4, 5, 6]);
};

pb.barChart = (groups, key, model) => {
  const values = pb.distinct(groups.flatMap(group => group.points.map(point => point.settings[key])))
                     .sort((a, b) => pb.barOrder[key].indexOf(a) - pb.barOrder[key].indexOf(b));
  const traces = values.map((value, i) => {
    const points = groups.map(group => group.points.find(point => point.settings[key] === value)).filter(Boolean);
    const names = groups.filter(group => group.points.some(point => point.settings[key] === value))
                      .map(group => pb.plain(group.name || 'all points'));
    return {
      type: 'bar',
      name: pb.plain(value),
      x: names,
      y: points.map(point => point.value('useful_mpx_per_s')),
      marker: {color: pb.palette[i % pb.palette.length]},
      error_y: pb.rateBars(points, 'useful_mpx_per_s'),
      text: points.map(point => pb.hover(point, ['useful_mpx_per_s', 'allocated_peak_mib', 'psnr_denoised_db'], model)),
      textposition: 'none',
      hovertemplate: '%{text}<extra></extra>'
    };
  });
  return {
    traces,
    layout: {
      barmode: 'group',
      bargap: 0.3,
      xaxis: pb.axis(''),
      yaxis: pb.axis('Mpx/s', {rangemode: 'tozero'}),
      legend: {orientation: 'h', y: 1.12, yanchor: 'bottom', x: 0}
    }
  };
};

pb.barSection = (id, title, key, words) => pb.section({
  id,
  title,
  absent: `${title.toLowerCase()} (needs points that differ in ${words})`,
  find: model => {
    const groups = pb.barGroups(model.points, key);
    return groups.length > 0 ? groups : null;
  },
  draw: (groups, body, model) => {
    body.append(pb.el(
        'p', {},
        'Pixels of the image per second, everything else equal. Bars at the tops are 95 % intervals of the median.'));
    const shown = groups.slice(0, 24);
    pb.chart(body, null, () => pb.barChart(shown, key, model));
    if (shown.length < groups.length)
      body.append(pb.el(
          'p', {class: 'quiet'}, `The first ${shown.length} of ${groups.length} groups are drawn; the table has all.`));
    body.append(pb.barTable(groups, key));
  },
});

pb.barSection('precision', 'Precision', 'dtype', 'precision');
pb.barSection('devices', 'Devices', 'device', 'device');
