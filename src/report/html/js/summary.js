// Writes the top of the page: the verdict of each file, then what was measured and what was found.
'use strict';

pb.verdictOf = file => {
  if (!file.end)
    return {word: 'UNFINISHED', kind: 'none', reasons: ['the run was cut short: the file has no end line']};
  const kinds = {VALID: 'good', INVALID: 'fair', FAILED: 'bad'};
  return {word: file.end.verdict, kind: kinds[file.end.verdict] ?? 'none', reasons: file.end.reasons ?? []};
};

pb.verdictMeaning = {
  VALID: 'Every figure was measured by the protocol and its pixels were verified.',
  INVALID: 'The figures were measured, but are not fit for comparison.',
  FAILED: 'A point broke, or its pixels were wrong: a wrong run has no speed.',
  UNFINISHED: 'The points that were finished are shown.',
};

pb.placeOf = file => {
  const environment = file.study?.environment;
  if (!environment) return '';
  const devices = [...pb.groupBy(environment.ranks, rank => rank.device_name ?? rank.device)].map(
      ([name, ranks]) => `${pb.count(ranks.length, 'rank')} on ${name}`);
  const hosts = pb.distinct(environment.ranks.map(rank => rank.host));
  return `${pb.list(devices)}, ${hosts.length === 1 ? `host ${hosts[0]}` : pb.count(hosts.length, 'host')}`;
};

pb.countsOf = points => {
  const words = {
    oom: 'out of memory',
    index_limit: 'too large for 32-bit indices',
    failed: 'failed',
    skipped: 'skipped',
    interrupted: 'interrupted'
  };
  const said = point => point.status === 'ok' ? point.outcome : words[point.status] ?? point.status;
  const counts =
      [...pb.groupBy(points, said)].map(([outcome, members]) => `${members.length.toLocaleString('en-US')} ${outcome}`);
  return `${pb.count(points.length, 'point')}: ${pb.list(counts)}`;
};

pb.meaningOf = (word, file) => {
  const clock = 'points whose label begins with “simulated” ran no network: their times are those of a clock.';
  if (!file.points.some(point => point.isSimulated)) return pb.verdictMeaning[word] ?? '';
  if (word === 'VALID') return `Pixels were verified, but ${clock}`;
  if (word === 'INVALID') return `The figures are not fit for comparison, and ${clock}`;
  return pb.verdictMeaning[word] ?? '';
};

pb.verdictCard = file => {
  const verdict = pb.verdictOf(file);
  const times = [file.study?.environment, ...file.resumed].map(
      environment => (environment?.started_at ?? '').replace('T', ' ').replace('Z', ' UTC'));
  const started = times.join(', resumed at ');
  return pb.el(
      'div', {class: `verdict ${verdict.kind}`},
      pb.el('p', {}, pb.el('strong', {class: 'word'}, verdict.word), ' ', pb.meaningOf(verdict.word, file)),
      verdict.reasons.length > 0 ? pb.el('ul', {}, verdict.reasons.map(reason => pb.el('li', {}, reason))) : null,
      pb.el(
          'p', {class: 'quiet'},
          [file.isOnly ? null : file.name, pb.placeOf(file), started].filter(Boolean).join(' · ')));
};

/// Makes a figure of a card: a large number, with its unit and name in small print.
pb.figureOf = (number, unit, name) => pb.el(
    'div', {class: 'figure'}, pb.el('b', {}, number), pb.el('span', {class: 'unit'}, ` ${unit}`),
    pb.el('span', {class: 'name'}, name));

pb.rangeWords = interval => interval ? `95 %: ${interval.map(end => pb.number(end)).join(' to ')}` : '';

pb.seamWords = point => {
  const error = point.value('seam_error');
  if (error === null) return null;
  return pb.figureOf(error === 0 ? '0' : pb.number(error * 255, 2), 'of 255', 'seams: none visible');
};

/// Returns the recommendations of each file: {name, best, reason}. best is null where no point qualifies; reason says
/// why.
pb.picks = model => model.files.flatMap(
    file => file.summary.recommendations.map(
        one => ({name: pb.ofFile(file, one.label), best: file.pointOf(one.point), reason: one.why})));

pb.pickCard = ({name, best}) => {
  const [before, after] = [best.value('psnr_noisy_db'), best.value('psnr_denoised_db')];
  const isTrained = !(best.settings.weights ?? '').startsWith('seed:');
  const speed = pb.rangeWords(best.rateInterval('useful_mpx_per_s'));
  return pb.el(
      'div', {class: 'pick'}, pb.el('h3', {}, name), pb.el('p', {class: 'quiet'}, `★ ${best.label}`),
      pb.el(
          'div', {class: 'figures'}, pb.figureOf(pb.number(best.value('useful_mpx_per_s')), 'Mpx/s', speed || 'speed'),
          pb.figureOf(pb.number(best.value('patches_per_s')), 'patches/s', 'speed'),
          best.value('allocated_peak_mib') === null ?
              null :
              pb.figureOf(pb.number(best.value('allocated_peak_mib')), 'MiB', 'peak memory of a rank'),
          isTrained && after !== null ?
              pb.figureOf(`${pb.decibels(before, 1)} → ${pb.decibels(after, 1)}`, 'dB', 'PSNR before and after') :
              null,
          pb.seamWords(best)));
};

/// Shows the first cards; the others are folded.
pb.pickCards = picks => {
  const most = 6;
  const grid = some => pb.el('div', {class: 'picks'}, some.map(pb.pickCard));
  return [
    grid(picks.slice(0, most)),
    picks.length > most ? pb.details(`${picks.length - most} more`, grid(picks.slice(most))) : null
  ];
};

/// Lists reasons and notes with the points that they apply to. Equal ones are listed once.
pb.remarks = points => {
  const remarks = pb.groupBy(
      points.flatMap(point => {
        const summary = point.raw.summary ?? {};
        const texts =
            [point.status === 'ok' ? null : point.raw.reason, ...summary.reasons ?? [], ...summary.notes ?? []];
        return pb.distinct(texts.filter(Boolean)).map(text => ({text, point}));
      }),
      remark => remark.text);
  return [...remarks].map(([text, hits]) => {
    const all = hits.length === points.length && points.length > 1;
    const names = hits.map(hit => hit.point.label);
    const where = all    ? 'all points' :
        names.length > 4 ? `${pb.count(names.length, 'point')}, e.g. ${names[0]}` :
                           names.join(', ');
    return pb.el('li', {}, pb.el('b', {}, where), ': ', text);
  });
};

pb.drawSummary = (model, parent) => {
  const names = model.files.map(file => file.study?.config?.name ?? file.name);
  document.title = `patchbench: ${pb.distinct(names).join(', ')}`;
  const picks = pb.picks(model);
  const taken = picks.filter(({best}) => best);
  const findings = pb.findings(model, picks);
  const remarks = pb.remarks(model.points);
  parent.append(pb.el(
      'section', {id: 'summary'}, pb.el('h1', {}, pb.distinct(names).join(' · ')), model.files.map(pb.verdictCard),
      pb.el(
          'p', {class: 'lead'}, `${pb.countsOf(model.points)}.`,
          taken.length > 0 ?
              ' The star is for the fastest verified point without visible seams (a seam error of at most its halo_tolerance and the rounding of its output and precision); of those within 5 % of it whose intervals overlap, for the one that needs least memory.' :
              ''),
      findings.length > 0 ? pb.el('ul', {class: 'findings'}, findings.map(text => pb.el('li', {}, text))) : null,
      pb.pickCards(taken),
      remarks.length > 0 ? pb.details(pb.count(remarks.length, 'remark'), pb.el('ul', {}, remarks)) : null));
};
