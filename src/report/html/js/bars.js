// Draws precisions and devices side by side: bars with intervals, and a table with the gain over the base.
'use strict';

pb.barOrder = {
  dtype: ['fp32', 'tf32', 'bf16', 'fp16'],
  device: ['cpu', 'cuda']
};

/// Returns the alternatives that the program found, in the order of their bars.
pb.barGroups = (model, key) => {
  const place = point => pb.barOrder[key].indexOf(point.settings[key]);
  const sets = pb.setsOf(model, 'alternatives').filter(set => set.by === key);
  return pb.named(sets.map(set => ({...set, points: set.points.sort((a, b) => place(a) - place(b))})));
};

/// Returns the study's figure of `point` against the base of its variants; a dash where the point was not compared.
pb.gain = (point, key) => {
  const groups = point.file.summary.variants.filter(group => group.by === key);
  if (groups.some(group => group.base.point === point.raw.index)) return 'base';
  const variant = groups.flatMap(group => group.points).find(one => one.point === point.raw.index);
  if (!pb.isNumber(variant?.speedup)) return '–';
  const ends = pb.isNumber(variant.speedup_low) ? [variant.speedup_low, variant.speedup_high] : null;
  return `${pb.number(variant.speedup)}×${ends ? ` [${ends.map(end => pb.number(end)).join(', ')}]` : ''}`;
};

pb.barTable = (groups, key) => {
  const rows = groups.flatMap(group => {
    const points = group.points;
    const noise = points[0].value('psnr_noisy_db');
    return points.map(
        point =>
            [group.name || 'all points', point.settings[key], pb.number(point.value('useful_mpx_per_s')),
             pb.gain(point, key), pb.number(point.value('allocated_peak_mib')),
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
  const chart = pb.groupedBars(groups, model, {
    kinds: values,
    kindOf: point => point.settings[key],
    key: 'useful_mpx_per_s',
    title: 'Mpx/s',
    intervals: points => points.map(point => point.rateInterval('useful_mpx_per_s')),
    keys: ['useful_mpx_per_s', 'allocated_peak_mib', 'psnr_denoised_db']
  });
  chart.layout.legend = {orientation: 'h', y: 1.12, yanchor: 'bottom', x: 0};
  return chart;
};

pb.barSection = (id, title, key, words) => pb.section({
  id,
  title,
  absent: `${title.toLowerCase()} (needs points that differ in ${words})`,
  about: 'Pixels of the image per second, everything else equal. Bars at the tops are 95 % intervals of the median.',
  find: model => pb.barGroups(model, key),
  draw: (groups, body, model) => {
    const shown = groups.slice(0, 24);
    pb.chart(body, null, () => pb.barChart(shown, key, model));
    pb.sayShown(body, shown, groups);
    body.append(pb.barTable(groups, key));
  },
});

pb.barSection('precision', 'Precision', 'dtype', 'precision');
pb.barSection('devices', 'Devices', 'device', 'device');
