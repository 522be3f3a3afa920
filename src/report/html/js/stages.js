// Draws where the time of a pass goes: the stages of every point.
'use strict';

pb.stageWords = {
  read: 'read',
  noise: 'add noise',
  gather: 'cut windows',
  h2d: 'copy to device',
  forward: 'network',
  d2h: 'copy from device',
  scatter: 'write patches',
  exchange: 'exchange',
  write: 'write file'
};
pb.stageNames = Object.keys(pb.stageWords);
pb.stageColour = stage => ({
                            forward: pb.palette[0],
                            gather: pb.palette[1],
                            scatter: pb.palette[2],
                            exchange: pb.palette[3],
                            h2d: pb.palette[4],
                            d2h: pb.palette[5],
                            read: pb.palette[6],
                            noise: pb.palette[7]
                          })[stage] ??
    '#8a8a8a';

/// The number of points that are shown at first; a button shows the rest.
pb.stageLimit = 16;

pb.section({
  id: 'stages',
  title: 'Stages',
  absent: 'stages (no point was measured)',
  about: [
    'Share of the stages of one pass: each the median over repetitions of the slowest rank. On a GPU stages overlap, ',
    'so the shares say what there is to hide, not what the pass waited for. “Exchange” is bringing parts to rank 0, or waiting for border rows.'
  ],
  find: model => model.points.filter(point => point.isMeasured && point.value('stage_forward_s') !== null),
  draw: (points, body) => {
    let shown = points.slice(0, pb.stageLimit);
    const plot = pb.chart(body, null, () => pb.stageChart(shown));
    if (shown.length === points.length) return;
    const showAll = event => {
      shown = points;
      event.currentTarget.remove();
      pb.redraw(plot);
    };
    body.append(pb.el(
        'button', {type: 'button', on: {click: showAll}}, `${shown.length} of ${points.length} points: show all`));
  },
});

pb.stageChart = points => {
  const inPass = ['gather', 'h2d', 'forward', 'd2h', 'scatter', 'exchange'];
  const share = (point, stage) => point.figures.stage_shares[stage] ?? 0;
  const names = pb.rowNames(points);
  const traces = inPass.filter(stage => points.some(point => share(point, stage) > 0))
                     .map(stage => ({
                            type: 'bar',
                            orientation: 'h',
                            name: pb.stageWords[stage],
                            y: names,
                            x: points.map(point => 100 * share(point, stage)),
                            marker: {color: pb.stageColour(stage)},
                            customdata: points.map(point => pb.seconds(point.value(`stage_${stage}_s`))),
                            hovertemplate: `%{y}<br>${pb.stageWords[stage]}: %{customdata}, %{x:.1f} %<extra></extra>`
                          }));
  return {
    traces,
    layout: {
      barmode: 'stack',
      bargap: 0.25,
      height: 110 + 24 * points.length,
      xaxis: pb.axis(pb.isNarrow() ? '%' : '% of the stages of a pass', {range: [0, 100]}),
      yaxis: {automargin: true, autorange: 'reversed', tickfont: {size: 11}},
      legend: {orientation: 'h', y: 1, yanchor: 'bottom', x: 0, traceorder: 'normal'}
    }
  };
};

/// Returns the names of the rows of a chart: labels, with the file's name if there are several files.
pb.rowNames = points => points.map(point => pb.plain(pb.ofFile(point.file, point.label)));
