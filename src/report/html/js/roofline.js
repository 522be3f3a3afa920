// Draws the network's speed against the bounds measured on the same ranks: matrix product, 3x3 convolution and copies.
'use strict';

/// Returns the rooflines that the program found. Each holds the points of one file, device and precision.
pb.roofs = model => pb.entriesOf(model, 'rooflines').map((roof, i) => ({
                                                           ...roof,
                                                           name: pb.ofFile(roof.file, `${roof.device}, ${roof.dtype}`),
                                                           colour: pb.palette[i % pb.palette.length]
                                                         }));

/// Draws a roof: a slope set by the copy speed up to the ridge, then flat.
pb.roofTrace = ({name, colour, copy_gb_per_s}, roof, words, dash, range) => {
  if (!roof) return [];
  const xs = [range[0], roof.ridge_flop_per_byte, range[1]];
  return [{
    x: xs,
    y: xs.map(x => pb.roofAt(roof, x)),
    name: pb.plain(`${name}: ${words}`),
    mode: 'lines',
    line: {color: colour, width: 2, dash},
    hovertemplate: `${pb.plain(name)}<br>${words}: ${pb.number(roof.tflops)} TFLOP/s, copies: ${
        pb.number(copy_gb_per_s)} GB/s<extra></extra>`
  }];
};

/// Returns the height of a roof at an intensity.
pb.roofAt = ({tflops, ridge_flop_per_byte}, x) => tflops * Math.min(1, x / ridge_flop_per_byte);

pb.roofPoints = (roof, model) => {
  const samples = roof.points.map(sample => ({...sample, point: roof.file.pointOf(sample.point)}));
  return [...pb.groupBy(samples, sample => sample.point.settings.network)].map(
      ([network, members], i) => ({
        x: members.map(sample => sample.flop_per_byte),
        y: members.map(sample => sample.tflops),
        name: pb.plain(`${roof.name}: ${network}`),
        mode: 'markers',
        marker: {
          color: roof.colour,
          size: 9,
          symbol: pb.symbols[i % pb.symbols.length],
          line: {width: 1, color: pb.colour('card')}
        },
        text: members.map(sample => pb.hover(sample.point, pb.boundKeys, model)),
        hovertemplate: '%{text}<extra></extra>'
      }));
};

/// Returns open markers for the points whose engine multiplies less than the network's layers say.
pb.executedPoints = (roof, model) => {
  const fewer = roof.points.filter(sample => sample.executed_tflops < sample.tflops);
  if (fewer.length === 0) return [];
  return [{
    x: fewer.map(sample => sample.executed_flop_per_byte),
    y: fewer.map(sample => sample.executed_tflops),
    name: pb.plain(`${roof.name}: executed by Winograd's method`),
    mode: 'markers',
    marker: {color: roof.colour, size: 9, symbol: 'circle-open', line: {width: 2}},
    text: fewer.map(sample => pb.hover(roof.file.pointOf(sample.point), pb.boundKeys, model)),
    hovertemplate: '%{text}<extra>executed</extra>'
  }];
};

pb.boundWords = {
  forward_tflops: 'TFLOP/s',
  executed_tflops: 'TFLOP/s executed',
  forward_of_matmul_percent: '% of matrix product',
  forward_of_conv_percent: '% of convolution',
  forward_of_memory_percent: '% of device copies',
  host_of_copy_percent: '% of host copies',
  h2d_of_bound_percent: '% of copies to the device',
  d2h_of_bound_percent: '% of copies from it',
  exchange_of_link_percent: '% of the link between nodes'
};
pb.boundKeys = Object.keys(pb.boundWords);

pb.roofsOf = roof => [roof.matmul, roof.conv].filter(Boolean);

/// Returns the range from half of the lowest to twice the highest intensity, the ridges included.
pb.intensityRange = roofs => {
  const xs = roofs.flatMap(
      roof =>
          [...roof.points.flatMap(sample => [sample.flop_per_byte, sample.executed_flop_per_byte]),
           ...pb.roofsOf(roof).map(each => each.ridge_flop_per_byte)]);
  return [Math.min(...xs) / 2, Math.max(...xs) * 2];
};

/// Returns a range from below the lowest to above the highest of the drawn points and roofs.
pb.rateRange = (roofs, range) => {
  const ys = roofs.flatMap(
      roof =>
          [...roof.points.flatMap(sample => [sample.tflops, sample.executed_tflops]),
           ...pb.roofsOf(roof).flatMap(each => range.map(x => pb.roofAt(each, x)))]);
  return [Math.min(...ys) / 1.5, Math.max(...ys) * 1.5];
};

pb.boundTable = roofs => {
  const points = roofs.flatMap(roof => roof.file.pointsOf(roof.points.map(sample => sample.point)));
  const keys = pb.boundKeys.filter(key => points.some(point => point.value(key) !== null));
  const table = pb.table(
      ['point', ...keys.map(key => pb.boundWords[key])],
      points.map(point => [pb.ofFile(point.file, point.label), ...keys.map(key => pb.number(point.value(key)))]),
      keys.map((key, i) => i + 1));
  if (points.length > 20) table.classList.add('tall');
  return table;
};

pb.section({
  id: 'roofline',
  title: 'Roofline',
  absent: 'roofline (the upper bounds were not measured)',
  about: [
    'The network alone against bounds that were measured in the same run, on the same ranks. Left of the bend memory is what limits, right of it arithmetic; ',
    'how far a point lies below the line is what better kernels could win. Deep layers may do better than the convolution of the bound. Winograd\'s method computes the same with fewer multiplications: ',
    'filled markers count those of the layers, open ones those that are executed.'
  ],
  find: pb.roofs,
  draw: (roofs, body, model) => {
    const range = pb.intensityRange(roofs);
    pb.chart(
        body, null, () => ({
                      traces: roofs.flatMap(
                          roof =>
                              [...pb.roofTrace(roof, roof.matmul, 'matrix product', 'solid', range),
                               ...pb.roofTrace(roof, roof.conv, '3x3 convolution', 'dash', range),
                               ...pb.roofPoints(roof, model), ...pb.executedPoints(roof, model)]),
                      layout: {
                        height: 430,
                        xaxis: pb.axis(
                            pb.isNarrow() ? 'FLOP for each byte' : 'FLOP for each byte that the layers read or write',
                            pb.logAxis(range)),
                        yaxis: pb.axis('TFLOP/s of a rank', pb.logAxis(pb.rateRange(roofs, range)))
                      }
                    }));
    body.append(pb.details('Share of each bound', pb.boundTable(roofs)));
  },
});
