// Holds the data of the page as files and points. A point has its settings in a flat object, with the values that
// replaced `auto` and `exact`. Lines are named by comparing these settings, so charts need no knowledge of a study. The
// program (src/measure) decides which points belong together and computes every figure that follows from several of
// them. These come with the data, in the form of the line `study_summary` of results.jsonl. For a file without that
// line the program makes it from the points.
'use strict';

/// Settings that do not appear in names: they say how a point is measured, or other settings already imply them.
pb.unspokenSettings = new Set([
  'ranks', 'halo', 'sigma', 'halo_tolerance', 'image.height', 'image.width', 'image.crop_height', 'image.crop_width',
  'image.seed', 'image.channels'
]);

/// Settled values that follow from the network, which `network` or `weights` name, from the memory limit, or from
/// fusion, precision and halo.
pb.consequences = new Set(['network', 'layers', 'strip_columns', 'winograd_tile', 'fused']);

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
    if (value !== null && !pb.consequences.has(key)) settings[key] = value;
  // Neither is a halo of tiles with the same pixels.
  if (settings.band_rows)
    settings.halo_px = 'carried';
  else if (settings.exchanges_rows)
    settings.halo_px = 'exchanged';
  delete settings.band_rows;
  delete settings.exchanges_rows;
  return settings;
};

pb.Point = class {
  constructor(raw, file, protocolKeys) {
    this.raw = raw;
    this.file = file;
    this.label = raw.label;
    this.status = raw.status;
    this.path = raw.work?.path ?? null;  // a whole image: whole, split or pad; otherwise tiles
    this.settings = {...pb.settingsOf(raw, protocolKeys), file: file.name};
  }
  /// Returns a figure of the metric table; null when it was not measured.
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
  /// True for engine timed, where no network ran.
  get isSimulated() {
    return this.raw.summary?.simulated === true;
  }
  /// Returns the word for a point that ended well. A simulated point is not called measured.
  get outcome() {
    return this.isSimulated ? 'simulated' : 'measured';
  }
  /// Returns figures that follow from this point alone: intervals of its rates and shares of its stages.
  get figures() {
    return this.file.figures.get(this.raw.index) ?? {stage_shares: {}};
  }
  /// Returns the 95 % interval of a rate as [low, high]; null without one.
  rateInterval(key) {
    const interval = this.figures[key];
    return interval ? [interval.low, interval.high] : null;
  }
};

pb.fileOf = ({id, name, summary, lines}, protocolKeys) => {
  const file = {
    id,
    name,
    study: lines.find(line => line.type === 'study') ?? null,
    resumed: lines.filter(line => line.type === 'resume').map(line => line.environment),
    summary,
    figures: new Map(summary.points.map(figures => [figures.point, figures])),
    end: lines.findLast(line => line.type === 'end') ?? null
  };
  file.points = lines.filter(line => line.type === 'point').map(line => new pb.Point(line, file, protocolKeys));
  const byIndex = new Map(file.points.map(point => [point.raw.index, point]));
  file.pointOf = index => byIndex.get(index) ?? null;
  file.pointsOf = indices => indices.map(file.pointOf).filter(Boolean);
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

/// Returns the settings in which the points differ, in the order in which names use them.
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

/// Describes one setting of a point: "patch 128", "no halo", "bf16".
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

/// Adds keys and a name to each set of points [{label, points, ..}]. The name holds the settings that are the same
/// within each set and differ between sets.
pb.named = sets => {
  const within = new Set(sets.flatMap(set => pb.varying(set.points)));
  const keys = pb.varying(sets.flatMap(set => set.points)).filter(key => !within.has(key));
  const named = sets.map(set => ({...set, keys, name: pb.describe(set.points[0], keys)}));
  const isUnique = one => named.filter(other => other.name === one.name).length === 1;
  return named.map(one => isUnique(one) ? one : {...one, name: `${one.name || 'points'} (${one.label})`});
};

/// Returns the entries under `key` of all files' summaries, each with its file.
pb.entriesOf = (model, key) => model.files.flatMap(file => file.summary[key].map(entry => ({...entry, file})));

/// Does the same for sets of points, and replaces indices by points.
pb.setsOf = (model, key) => pb.entriesOf(model, key).map(set => ({...set, points: set.file.pointsOf(set.points)}));

/// True for a point that the study's summary recommends. A file that was cut short recommends nothing.
pb.isRecommended = point =>
    point.raw.index !== undefined && point.file.summary.recommendations.some(one => one.point === point.raw.index);

/// Returns the first recommended point of `points`; null when there is none.
pb.recommended = points => points.find(pb.isRecommended) ?? null;

/// Puts the file's name before `words` if there are several files.
pb.ofFile = (file, words) => file.isOnly ? words : `${file.name}: ${words}`;
