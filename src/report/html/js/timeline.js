// Draws what every rank did during one pass of a point, on one common clock.
'use strict';

/// Returns the ranks with a recorded timeline: samples.ranks[].timeline = {stage: [..], batch: [..], begin_s: [..],
/// end_s: [..]}.
pb.timelineOf = point =>
    (point.raw.samples?.ranks ?? []).filter(rank => rank.timeline && rank.timeline.stage.length > 0);

pb.spansOf = rank => rank.timeline.stage.map((stage, i) => ({
                                               rank: rank.rank,
                                               stage,
                                               batch: rank.timeline.batch[i],
                                               begin: rank.timeline.begin_s[i],
                                               end: rank.timeline.end_s[i]
                                             }));

/// With more lanes than this, the stages of a rank share one lane.
pb.mostLanes = 48;

/// Returns the spans, each with its lane, and the lanes from top to bottom.
pb.lanesOf = spans => {
  const order =
      [...spans].sort((a, b) => a.rank - b.rank || pb.stageNames.indexOf(a.stage) - pb.stageNames.indexOf(b.stage));
  const byStage = span => `rank ${span.rank} · ${pb.stageWords[span.stage] ?? span.stage}`;
  const byRank = span => `rank ${span.rank}`;
  const lanes = pb.distinct(order.map(byStage));
  return lanes.length <= pb.mostLanes ? {nameOf: byStage, lanes} :
                                        {nameOf: byRank, lanes: pb.distinct(order.map(byRank))};
};

pb.timelineChart = point => {
  const spans = pb.timelineOf(point).flatMap(pb.spansOf);
  const {nameOf, lanes} = pb.lanesOf(spans);
  const traces =
      pb.stageNames.map(stage => spans.filter(span => span.stage === stage))
          .filter(members => members.length > 0)
          .map(members => ({
                 type: 'bar',
                 orientation: 'h',
                 name: pb.stageWords[members[0].stage],
                 y: members.map(nameOf),
                 x: members.map(span => span.end - span.begin),
                 base: members.map(span => span.begin),
                 width: 0.72,
                 // The outline keeps spans visible that are shorter than a pixel.
                 marker: {
                   color: pb.stageColour(members[0].stage),
                   line: {width: 1, color: pb.stageColour(members[0].stage)}
                 },
                 customdata: members.map(
                     span =>
                         [span.batch < 0 ? '' : `, batch ${span.batch}`, pb.seconds(span.begin),
                          pb.seconds(span.end - span.begin)]),
                 hovertemplate: '%{y}%{customdata[0]}<br>from %{customdata[1]}, for %{customdata[2]}<extra></extra>'
               }));
  return {
    traces,
    layout: {
      barmode: 'overlay',
      showlegend: true,
      height: 130 + 24 * lanes.length,
      xaxis: pb.axis(pb.isNarrow() ? 's' : 's since the first rank left the barrier', {rangemode: 'tozero'}),
      yaxis:
          {categoryorder: 'array', categoryarray: lanes, autorange: 'reversed', automargin: true, tickfont: {size: 11}},
      legend: {orientation: 'h', y: 1, yanchor: 'bottom', x: 0}
    }
  };
};

pb.timelineWords = point => {
  const timelines = pb.timelineOf(point).map(rank => rank.timeline);
  const dropped = timelines.reduce((sum, timeline) => sum + timeline.dropped, 0);
  const error = Math.max(...timelines.map(timeline => timeline.clock_error_s));
  return [
    timelines[0].of === 'repetition' ? 'The last timed repetition.' : 'The last pass before the timed ones.',
    error > 0 ? `Clocks of other hosts are aligned to within ${pb.seconds(error)}.` : 'All ranks share one clock.',
    dropped > 0 ? `${pb.count(dropped, 'later span')} left out: raise \u201ctimeline\u201d to see them.` : null
  ].filter(Boolean)
      .join(' ');
};

pb.section({
  id: 'timeline',
  title: 'Timeline of the ranks',
  absent: 'timeline of the ranks (none was recorded)',
  about:
      'What each rank did when, in one pass. Gaps between forward calls are what the program costs; a gap before \u201cexchange\u201d is a rank that waits for the slowest.',
  find: model => model.points.filter(point => pb.timelineOf(point).length > 0),
  draw: (points, body) => pb.drawOneOf(
      body, points, pb.recommended(points) ?? points[0], {words: pb.timelineWords, chart: pb.timelineChart}),
});
