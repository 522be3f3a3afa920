// The network's speed against what was measured as possible on the same ranks: matrix product, 3x3 convolution, copies.
'use strict';

/// FLOP for each byte that the layers must read and write; from the share of the memory bound that they reach.
pb.intensityOf = point => {
  const rate = point.value('forward_tflops'), share = point.value('forward_of_memory_percent');
  const copy = point.value('device_copy_gb_per_s');
  return rate > 0 && share > 0 && copy > 0 ? rate * 1e3 / (share / 100 * copy) : null;
};

/// Points under one roof: of one file, device and precision.
pb.roofs = model => {
  const points = model.points.filter(point => point.isMeasured && pb.intensityOf(point) !== null);
  const groups =
      pb.groupBy(points, point => JSON.stringify([point.file.id, point.settings.device, point.settings.dtype]));
  return [...groups.values()].map((members, i) => {
    const {file, settings} = members[0];
    const least = key => {
      const values = members.map(point => point.value(key)).filter(value => value !== null);
      return values.length > 0 ? Math.max(...values) : null;
    };
    return {
      points: members,
      name: `${file.isOnly ? '' : `${file.name}: `}${settings.device}, ${settings.dtype}`,
      colour: pb.palette[i % pb.palette.length],
      matmul: least('matmul_tflops'),
      conv: least('conv_tflops'),
      copy: least('device_copy_gb_per_s')
    };
  });
};

/// A roof: the slope of the copies up to where it meets the rate, then flat.
pb.roofTrace = (roof, tflops, words, dash, [low, high]) => {
  if (tflops === null) return [];
  const ridge = tflops * 1e3 / roof.copy;
  const xs = [low, ridge, high].filter(x => x >= low && x <= high);
  return [{
    x: xs,
    y: xs.map(x => Math.min(tflops, x * roof.copy / 1e3)),
    name: pb.plain(`${roof.name}: ${words}`),
    mode: 'lines',
    line: {color: roof.colour, width: 2, dash},
    hovertemplate: `${pb.plain(roof.name)}<br>${words}: ${pb.number(tflops)} TFLOP/s, copies: ${
        pb.number(roof.copy)} GB/s<extra></extra>`
  }];
};

pb.roofPoints = (roof, model) => [...pb.groupBy(roof.points, point => point.settings.network)].map(
    ([network, members], i) => ({
      x: members.map(pb.intensityOf),
      y: members.map(point => point.value('forward_tflops')),
      name: pb.plain(`${roof.name}: ${network}`),
      mode: 'markers',
      marker: {
        color: roof.colour,
        size: 9,
        symbol: pb.symbols[i % pb.symbols.length],
        line: {width: 1, color: pb.colour('card')}
      },
      text: members.map(point => pb.hover(point, pb.boundKeys, model)),
      hovertemplate: '%{text}<extra></extra>'
    }));

pb.boundKeys = [
  'forward_tflops', 'forward_of_matmul_percent', 'forward_of_conv_percent', 'forward_of_memory_percent',
  'host_of_copy_percent', 'h2d_of_bound_percent', 'd2h_of_bound_percent', 'exchange_of_link_percent'
];
pb.boundWords = {
  forward_tflops: 'TFLOP/s',
  forward_of_matmul_percent: '% of matrix product',
  forward_of_conv_percent: '% of convolution',
  forward_of_memory_percent: '% of device copies',
  host_of_copy_percent: '% of host copies',
  h2d_of_bound_percent: '% of copies to the device',
  d2h_of_bound_percent: '% of copies from it',
  exchange_of_link_percent: '% of the link between nodes'
};

/// From half of the lowest to twice the highest intensity, the ridges included.
pb.intensityRange = roofs => {
  const xs = roofs.flatMap(
      roof => [...roof.points.map(pb.intensityOf), ...[roof.matmul, roof.conv].map(rate => rate * 1e3 / roof.copy)]);
  const known = xs.filter(x => x > 0);
  return [Math.min(...known) / 2, Math.max(...known) * 2];
};

/// From below the lowest point or roof that is drawn to above the highest.
pb.rateRange = (roofs, [low, high]) => {
  const ys = roofs.flatMap(
      roof =>
          [...roof.points.map(point => point.value('forward_tflops')),
           ...[roof.matmul, roof.conv]
               .filter(pb.isNumber)
               .flatMap(rate => [low, high].map(x => Math.min(rate, x * roof.copy / 1e3)))]);
  return [Math.min(...ys) / 1.5, Math.max(...ys) * 1.5];
};

pb.boundTable = roofs => {
  const points = roofs.flatMap(roof => roof.points);
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
  find: model => {
    const roofs = pb.roofs(model);
    return roofs.length > 0 ? roofs : null;
  },
  draw: (roofs, body, model) => {
    body.append(pb.el(
        'p', {},
        'The network alone against bounds that were measured in the same run, on the same ranks. Left of the bend memory is what limits, right of it arithmetic; ',
        'how far a point lies below the line is what better kernels could win. Deep layers may do better than the convolution of the bound.'));
    const range = pb.intensityRange(roofs);
    pb.chart(
        body, null,
        () => ({
          traces: roofs.flatMap(
              roof =>
                  [...pb.roofTrace(roof, roof.matmul, 'matrix product', 'solid', range),
                   ...pb.roofTrace(roof, roof.conv, '3x3 convolution', 'dash', range), ...pb.roofPoints(roof, model)]),
          layout: {
            height: 430,
            xaxis: pb.axis(
                pb.isNarrow() ? 'FLOP for each byte' : 'FLOP for each byte that the layers read or write',
                pb.logAxis(range)),
            yaxis: pb.axis('TFLOP/s of a rank', pb.logAxis(pb.rateRange(roofs, range)))
          }
        }));
    body.append(pb.el('details', {}, pb.el('summary', {}, 'Share of each bound'), pb.boundTable(roofs)));
  },
});
