// Writes the findings as sentences. They follow the verdict.
'use strict';

pb.times = value =>
    value >= 1 ? `${pb.number(value)} times as fast as` : `at ${pb.number(100 * value)} % of the speed of`;

pb.within = (low, high) =>
    pb.isNumber(low) && pb.isNumber(high) ? ` (95 %: ${pb.number(low)} to ${pb.number(high)})` : '';

/// Lists the INVALID ones of the points, in brackets; empty where there are none.
pb.invalidWords = (file, indices) => {
  const invalid = file.pointsOf(indices).filter(point => pb.statusOf(point) === 'INVALID');
  return invalid.length > 0 ? ` (INVALID: ${invalid.map(point => point.label).join(', ')})` : '';
};

/// Describes the fastest variant of each group of precisions, devices or engines against its base.
pb.variantWords = model => model.files.flatMap(file => file.summary.variants.flatMap(group => {
  const best = group.points.find(variant => variant.point === group.fastest);
  const loss = pb.isNumber(best.max_difference) && group.by === 'dtype' ?
      `; pixels differ from fp32 by at most ${pb.number(best.max_difference, 2)} of full scale` :
      '';
  return [`${pb.ofFile(file, group.label)}: ${best.variant} runs ${pb.times(best.speedup)} ${group.base.variant}${
      pb.within(best.speedup_low, best.speedup_high)}${loss}${pb.invalidWords(file, [group.base.point, best.point])}.`];
}));

/// Names the recommended point of each group; then says why some groups have none.
pb.recommendationWords = picks =>
    picks.filter(({best}) => best).map(({name, best, reason}) => `${name}: ★ ${best.label}: ${reason}.`);
pb.noneWords = picks => picks.filter(({best}) => !best).map(({name, reason}) => `${name}: ${reason}.`);

/// Says what limits the recommended points.
pb.limitWords = picks =>
    pb.distinct(picks.map(({name, best}) => ({name, limit: best?.raw.summary.bottleneck}))
                    .filter(({limit}) => limit)
                    .map(({name, limit}) => `${name}: ${limit.class}: ${limit.evidence}; try: ${limit.advice}.`));

pb.shapeWords = model =>
    pb.shapeSeries(model).flatMap(one => one.jumps).filter(jump => jump.is_largest).map(pb.sayJump);

/// The largest number of sentences of one kind. The charts show the rest better.
pb.mostFindings = 4;

pb.findings = (model, picks) => [pb.recommendationWords(picks), pb.noneWords(picks), pb.shapeWords(model),
                                 pb.limitWords(picks), pb.variantWords(model), pb.scalingWords(model)]
                                    .flatMap(sentences => sentences.slice(0, pb.mostFindings));
