// Where the time of a pass goes: stages of every point, and the last repetition of every rank along the clock.
'use strict';

pb.stageNames = ['read', 'noise', 'gather', 'h2d', 'forward', 'd2h', 'scatter', 'exchange', 'write'];
pb.stageWords = {
  read: 'read',
  noise: 'add noise',
  gather: 'cut windows',
  h2d: 'copy to device',
  forward: 'network',
  d2h: 'copy from device',
  scatter: 'write patches',
  exchange: 'wait and exchange',
  write: 'write file'
};
pb.stageColour = stage => ({
                            forward: pb.palette[0],
                            gather: pb.palette[1],
                            scatter: pb.palette[2],
                            exchange: pb.palette[3],
                            h2d: pb.palette[4],
                            d2h: pb.palette[5],
                            read: pb.palette[6],
                            noise: pb.palette[7],
                            write: '#8a8a8a'
                          })[stage] ??
    '#8a8a8a';

pb.stageLimit = 60;

pb.section({
  id: 'stages',
  title: 'Stages',
  absent: 'stages (no point was measured)',
  find: model => {
    const points = model.points.filter(point => point.isMeasured && point.value('stage_forward_s') !== null);
    return points.length > 0 ? points : null;
  },
  draw: (points, body) => {
    const shown = points.slice(0, pb.stageLimit);
    body.append(pb.el(
        'p', {},
        'Share of the stages of one pass: each the median over repetitions of the slowest rank. On a GPU stages overlap, ',
        'so the shares say what there is to hide, not what the pass waited for. “Wait and exchange” is what a rank waits for the slowest, and bringing parts to rank 0.'));
    if (shown.length < points.length)
      body.append(pb.el('p', {class: 'quiet'}, `The first ${shown.length} of ${points.length} points.`));
    pb.chart(body, null, () => pb.stageChart(shown));
  },
});

pb.stageChart = points => {
  const inPass = ['gather', 'h2d', 'forward', 'd2h', 'scatter', 'exchange'];
  const seconds = (point, stage) => point.value(`stage_${stage}_s`) ?? 0;
  const total = point => inPass.reduce((sum, stage) => sum + seconds(point, stage), 0);
  const names = pb.rowNames(points);
  const traces = inPass.filter(stage => points.some(point => seconds(point, stage) > 0))
                     .map(stage => ({
                            type: 'bar',
                            orientation: 'h',
                            name: pb.stageWords[stage],
                            y: names,
                            x: points.map(point => 100 * seconds(point, stage) / total(point)),
                            marker: {color: pb.stageColour(stage)},
                            customdata: points.map(point => pb.seconds(seconds(point, stage))),
                            hovertemplate: `%{y}<br>${pb.stageWords[stage]}: %{customdata}, %{x:.1f} %<extra></extra>`
                          }));
  return {
    traces,
    layout: {
      barmode: 'stack',
      bargap: 0.25,
      height: 110 + 24 * points.length,
      xaxis: pb.axis('% of the stages of a pass', {range: [0, 100]}),
      yaxis: {automargin: true, autorange: 'reversed', tickfont: {size: 11}},
      legend: {orientation: 'h', y: 1, yanchor: 'bottom', x: 0, traceorder: 'normal'}
    }
  };
};

/// Names for rows of a chart: labels, with the file's name where there are several.
pb.rowNames = points =>
    points.map(point => pb.plain(point.file.isOnly ? point.label : `${point.file.name}: ${point.label}`));

/// Points with a recorded timeline: samples.ranks[].timeline = {stage: [..], begin_s: [..], end_s: [..]}.
pb.timelineOf = point =>
    (point.raw.samples?.ranks ?? []).filter(rank => rank.timeline && rank.timeline.stage.length > 0);

pb.timelineChart = point => {
  const spans = pb.timelineOf(point).flatMap(
      rank => rank.timeline.stage.map((stage, i) => ({
                                        lane: `rank ${rank.rank} · ${pb.stageWords[stage] ?? stage}`,
                                        rank: rank.rank,
                                        stage,
                                        begin: rank.timeline.begin_s[i],
                                        end: rank.timeline.end_s[i]
                                      })));
  const order = (a, b) => a.rank - b.rank || pb.stageNames.indexOf(a.stage) - pb.stageNames.indexOf(b.stage);
  const lanes = pb.distinct([...spans].sort(order).map(span => span.lane));
  const traces = [...pb.groupBy(spans, span => span.stage)].map(
      ([stage, members]) => ({
        type: 'bar',
        orientation: 'h',
        name: pb.stageWords[stage] ?? pb.plain(stage),
        y: members.map(span => span.lane),
        x: members.map(span => span.end - span.begin),
        base: members.map(span => span.begin),
        width: 0.72,
        marker: {color: pb.stageColour(stage), line: {width: 0}},
        customdata: members.map(span => [pb.seconds(span.begin), pb.seconds(span.end - span.begin)]),
        hovertemplate: '%{y}<br>from %{customdata[0]}, for %{customdata[1]}<extra></extra>'
      }));
  return {
    traces,
    layout: {
      barmode: 'overlay',
      showlegend: false,
      height: 90 + 24 * lanes.length,
      xaxis: pb.axis('s since the start of the repetition', {rangemode: 'tozero'}),
      yaxis:
          {categoryorder: 'array', categoryarray: lanes, autorange: 'reversed', automargin: true, tickfont: {size: 11}}
    }
  };
};

pb.section({
  id: 'timeline',
  title: 'Timeline of the ranks',
  absent: 'timeline of the ranks (none was recorded)',
  find: model => {
    const points = model.points.filter(point => pb.timelineOf(point).length > 0);
    return points.length > 0 ? points : null;
  },
  draw: (points, body) => {
    let chosen = pb.recommended(points) ?? points[0];
    body.append(
        pb.el(
            'p', {}, 'The last timed repetition of a point, all ranks on one clock that starts at the common barrier.'),
        pb.chooser('Point', points, chosen, point => {
          chosen = point;
          pb.redraw(plot);
          note();
        }));
    const cut = body.appendChild(pb.el('p', {class: 'quiet'}));
    const note = () => {
      const dropped = pb.timelineOf(chosen).reduce((sum, rank) => sum + (rank.timeline.dropped ?? 0), 0);
      cut.textContent = dropped > 0 ?
          `${pb.count(dropped, 'later span')} of this repetition did not fit into the record and are not drawn.` :
          '';
    };
    note();
    const plot = pb.chart(body, null, () => pb.timelineChart(chosen));
  },
});
