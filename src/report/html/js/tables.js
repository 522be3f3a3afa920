// Shows the environment, the glossary, and every point with its raw line.
'use strict';

pb.section({
  id: 'points',
  title: 'All points',
  absent: 'points (the file has none)',
  about:
      'Choose a point to see its line of results.jsonl: settings, raw samples of every rank and repetition, memory, verification.',
  find: model => model.points,
  draw: (points, body, model) => {
    const shown = [...model.metrics.values()].filter(
        metric => metric.headline && points.some(point => point.value(metric.key) !== null));
    const heading = metric => ['', 'count', 'ratio', '[0,1]'].includes(metric.unit) ?
        metric.key.replaceAll('_', ' ') :
        `${metric.key.replaceAll('_', ' ').replace(/ (s|mib|db|per s)$/, '').replace(/ mpx$/, '')}, ${metric.unit}`;
    const names = points[0].file.isOnly ? ['point', 'status'] : ['file', 'point', 'status'];
    const headings = [...names, ...shown.map(heading)];
    const table = pb.table(headings, [], headings.map((unused, i) => i).filter(i => i >= names.length));
    if (points.length > 20) table.classList.add('tall');
    const rows = table.querySelector('tbody');
    for (const point of points) rows.append(...pb.pointRows(point, shown, headings.length));
    body.append(table);
  },
});

/// Returns the status of a point. Only a measured point is called "ok".
pb.statusOf = point => {
  if (point.status !== 'ok') return point.status;
  const validity = point.raw.summary?.validity ?? 'VALID';
  return validity !== 'VALID' ? validity : point.isSimulated ? 'simulated' : 'ok';
};

/// Makes the row of a point and the row of its raw line. The raw line is filled in when it is first opened.
pb.pointRows = (point, metrics, width) => {
  const raw = pb.el('tr', {class: 'raw', hidden: true}, pb.el('td', {colspan: width}));
  const toggle = event => {
    if (raw.firstChild.childNodes.length === 0)
      raw.firstChild.append(pb.el('pre', {}, JSON.stringify(point.raw, null, 1)));
    raw.hidden = !raw.hidden;
    event.currentTarget.setAttribute('aria-expanded', String(!raw.hidden));
  };
  const opener =
      pb.el('button', {type: 'button', class: 'opener', 'aria-expanded': 'false', on: {click: toggle}}, point.label);
  const status = pb.statusOf(point);
  const row = pb.el(
      'tr', {}, point.file.isOnly ? null : pb.el('td', {}, point.file.name), pb.el('td', {}, opener),
      pb.el('td', {class: status === 'ok' ? null : 'odd'}, status),
      metrics.map(metric => pb.el('td', {class: 'number'}, pb.number(point.value(metric.key), 4))));
  return [row, raw];
};

pb.environmentRows = file => {
  const environment = file.study.environment;
  const libraries =
      environment.libraries.map(library => `${library.name} ${library.loaded ?? `${library.header} (header only)`}`);
  return [
    ['command', environment.command_line], ['started', environment.started_at],
    ...file.resumed.map(later => ['resumed', `${later.started_at}: ${later.command_line}`]),
    [
      'patchbench',
      `${environment.version}, git ${environment.git_sha}${environment.git_dirty ? ' with local changes' : ''}, ${
          environment.compiler}, ${environment.build_type}`
    ],
    ['processor', environment.host_processor ?? '–'], ['libraries', libraries.join(', ')],
    ...Object.entries(environment.variables)
  ].map(([name, text]) => [name, pb.el('code', {}, text)]);
};

pb.rankRows = file => file.study.environment.ranks.map(
    rank =>
        [rank.rank, rank.host,
         `${rank.device}${rank.device === 'cuda' ? `:${rank.device_index}` : ''} ${rank.device_name ?? ''}`,
         rank.affinity ?? '–', rank.threads, pb.number(rank.memory_mib), rank.device_uuid ?? rank.pci_bus_id ?? '–']);

pb.section({
  id: 'environment',
  title: 'Environment',
  absent: 'environment (the file has no study line)',
  find: model => model.files.filter(file => file.study),
  draw: (files, body) => {
    for (const file of files)
      body.append(
          file.isOnly ? '' : pb.el('h3', {}, file.name), pb.table([], pb.environmentRows(file)),
          pb.table(['rank', 'host', 'device', 'cores', 'threads', 'memory MiB', 'id'], pb.rankRows(file), [0, 4, 5]),
          pb.details('Config of the study', pb.el('pre', {}, JSON.stringify(file.study.config, null, 1))));
  },
});

pb.section({
  id: 'glossary',
  title: 'Glossary',
  absent: 'glossary',
  find: model => model.metrics.size > 0 ? model : null,
  draw: (model, body) => {
    const rows = [...model.metrics.values()].map(
        metric =>
            [pb.el('code', {}, metric.key), metric.unit, metric.meaning, metric.over_ranks, metric.over_reps,
             metric.better]);
    const settings =
        [...model.settings.values()].map(setting => [pb.el('code', {}, setting.key), setting.unit, setting.meaning]);
    body.append(
        pb.details('Figures', pb.table(['key', 'unit', 'meaning', 'over ranks', 'over repetitions', 'better'], rows)),
        pb.details('Settings', pb.table(['key', 'unit', 'meaning'], settings)));
  },
});
