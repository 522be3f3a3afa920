// The data of the page as files and points. A point knows its settings flat, with what became of `auto` and `exact`;
// what points differ in is found by comparing these, so that charts need to know no study.
'use strict';

/// Settings that say how a point is measured, or that others make obsolete: they tell no two points apart.
pb.unspokenSettings = new Set([
  'ranks', 'halo', 'sigma', 'halo_tolerance', 'threads', 'image.height', 'image.width', 'image.crop_height',
  'image.crop_width', 'image.seed', 'image.channels', 'slots'
]);

pb.flatten = (object, prefix = '', into = {}) => {
  for (const [key, value] of Object.entries(object)) {
    if (key === 'settled') continue;
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      pb.flatten(value, `${prefix}${key}.`, into);
    else
      into[prefix + key] = value;
  }
  return into;
};

pb.settingsOf = (raw, protocolKeys) => {
  const settings = {};
  for (const [key, value] of Object.entries(pb.flatten(raw.point)))
    if (!protocolKeys.has(key) && !pb.unspokenSettings.has(key)) settings[key] = value;
  for (const [key, value] of Object.entries(raw.point.settled ?? {}))
    if (value !== null) settings[key] = value;
  return settings;
};

pb.Point = class {
  constructor(raw, file, protocolKeys) {
    this.raw = raw;
    this.file = file;
    this.label = raw.label;
    this.status = raw.status;
    this.path = raw.work?.path ?? null;  // of a whole image: whole, split or pad; else tiles
    this.settings = {...pb.settingsOf(raw, protocolKeys), file: file.name};
  }
  /// A figure of the metric table; null when it was not measured.
  value(key) {
    const value = this.raw.summary?.[key];
    return pb.isNumber(value) ? value : null;
  }
  get isMeasured() {
    return this.status === 'ok' && this.value('pipeline_s') !== null;
  }
  get isOutOfMemory() {
    return this.status === 'oom';
  }
  get isVerified() {
    return this.raw.verification?.outcome === 'passed';
  }
  /// Engine timed: no network ran.
  get isSimulated() {
    return this.raw.summary?.simulated === true;
  }
  /// How a point that ended well is spoken of: what a clock gave was not measured.
  get outcome() {
    return this.isSimulated ? 'simulated' : 'measured';
  }
  /// Measured, verified and fit for comparison.
  get isValid() {
    return this.isMeasured && this.raw.summary.validity === 'VALID';
  }
  /// [low, high] of a rate = work / pipeline_s, from the interval of pipeline_s; null without one.
  rateInterval(key) {
    const rate = this.value(key), s = this.value('pipeline_s');
    const low = this.value('pipeline_low_s'), high = this.value('pipeline_high_s');
    return [rate, s, low, high].includes(null) ? null : [rate * s / high, rate * s / low];
  }
};

pb.fileOf = ({id, name, lines}, protocolKeys) => {
  const file = {
    id,
    name,
    study: lines.find(line => line.type === 'study') ?? null,
    summary: lines.findLast(line => line.type === 'study_summary') ?? null,
    end: lines.findLast(line => line.type === 'end') ?? null
  };
  file.points = lines.filter(line => line.type === 'point').map(line => new pb.Point(line, file, protocolKeys));
  for (const same of pb.groupBy(file.points, point => point.label).values())
    if (same.length > 1)
      for (const point of same) point.label += `#${point.raw.index}`;
  return file;
};

pb.loadModel = () => {
  const data = JSON.parse(document.getElementById('patchbench-data').textContent);
  const protocolKeys = new Set(data.settings.filter(setting => setting.protocol).map(setting => setting.key));
  const files = data.files.map(file => pb.fileOf(file, protocolKeys));
  for (const file of files) file.isOnly = files.length === 1;
  return {
    files,
    points: files.flatMap(file => file.points),
    metrics: new Map(data.metrics.map(metric => [metric.key, metric])),
    settings: new Map(data.settings.map(setting => [setting.key, setting])),
    images: data.images,
  };
};

/// Settings in which the points differ, in the order in which they are best spoken of.
pb.varying = points => {
  const order = [
    'file', 'network', 'device', 'num_ranks', 'dtype', 'image.path', 'image_height_px', 'image_width_px', 'odd_shape',
    'patch', 'halo_px', 'batch'
  ];
  const keys = pb.distinct(points.flatMap(point => Object.keys(point.settings)));
  const rank = key => order.includes(key) ? order.indexOf(key) : order.length;
  return keys.filter(key => pb.distinct(points.map(point => JSON.stringify(point.settings[key] ?? null))).length > 1)
      .sort((a, b) => rank(a) - rank(b));
};

/// How one setting of a point is said: "patch 128", "no halo", "bf16".
pb.sayingOf = (key, value) => {
  if (key === 'halo_px') return value === 0 ? 'no halo' : `halo ${value}`;
  if (key === 'num_ranks') return pb.count(value, 'rank');
  if (key === 'image_height_px') return `height ${value}`;
  if (key === 'image_width_px') return `width ${value}`;
  if (key === 'image.path') return value === '' ? 'synthetic scene' : value.split('/').at(-1);
  if (key === 'weights') return `weights ${value.split('/').at(-1)}`;
  if (key === 'memory_limit_mib') return value === 0 ? 'no memory limit' : `limit ${value} MiB`;
  if (typeof value === 'boolean') return `${value ? '' : 'no '}${key.replaceAll('_', ' ')}`;
  if (['file', 'network', 'device', 'dtype', 'odd_shape', 'engine', 'layout', 'workload'].includes(key))
    return String(value);
  return `${key.replaceAll('_', ' ')} ${value}`;
};

pb.describe = (point, keys) => {
  const isBoth = keys.includes('image_height_px') && keys.includes('image_width_px');
  const size = `${point.settings.image_height_px} × ${point.settings.image_width_px} px`;
  return keys.filter(key => point.settings[key] !== undefined && !(isBoth && key === 'image_width_px'))
      .map(key => isBoth && key === 'image_height_px' ? size : pb.sayingOf(key, point.settings[key]))
      .join(', ');
};

/// Groups of points that agree in all settings but `free`; each with the settings that tell it from the other groups.
pb.groupsBut = (points, free) => {
  const keys = pb.varying(points).filter(key => !free.includes(key));
  const groups = pb.groupBy(points, point => JSON.stringify(keys.map(key => point.settings[key] ?? null)));
  return [...groups.values()].map(members => ({points: members, keys, name: pb.describe(members[0], keys)}));
};

/// Which points to take, as the study's summary says: decided in one place, by the program (measure/recommendation),
/// and only shown here. A file that was cut short, or that an older version wrote, recommends nothing.
pb.recommendationsOf = file => file.summary?.recommendations ?? [];

pb.isRecommended = point =>
    point.raw.index !== undefined && pb.recommendationsOf(point.file).some(one => one.point === point.raw.index);

/// The first of some points that is recommended; null when none is.
pb.recommended = points => points.find(pb.isRecommended) ?? null;

/// Words about something of a file, which is named where there are several.
pb.ofFile = (file, words) => file.isOnly ? words : `${file.name}: ${words}`;
