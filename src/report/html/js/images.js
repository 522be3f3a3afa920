// Pictures: before, noisy and after behind a slider, and where the seams of the patches show.
'use strict';

/// {noisy, denoised, clean} as data URIs; null when the point has no preview or its files were not there.
pb.previewOf = (point, model) => {
  const files = point.raw.preview;
  if (!files) return null;
  const uri = name => files[name] ? model.images[`${point.file.id}/${files[name]}`] ?? null : null;
  const images = {noisy: uri('noisy_file'), denoised: uri('denoised_file'), clean: uri('clean_file')};
  return images.noisy && images.denoised ? {...images, files} : null;
};

pb.sliderOf = images => {
  const top = pb.el('img', {src: images.noisy, alt: 'noisy', class: 'over'});
  const stage = pb.el(
      'div', {class: 'compare'}, pb.el('img', {src: images.denoised, alt: 'denoised'}), top,
      pb.el('span', {class: 'tag left'}, 'noisy'), pb.el('span', {class: 'tag right'}, 'denoised'));
  const slide = event => stage.style.setProperty('--cut', `${event.target.value}%`);
  stage.style.setProperty('--cut', '50%');
  const range = pb.el('input', {
    type: 'range',
    min: 0,
    max: 100,
    value: 50,
    'aria-label': 'Boundary between noisy and denoised',
    on: {input: slide}
  });
  return pb.el('div', {class: 'comparison'}, stage, range);
};

pb.section({
  id: 'images',
  title: 'Before and after',
  absent: 'before and after (no previews beside the results)',
  find: model => {
    const points = model.points.filter(point => pb.previewOf(point, model));
    return points.length > 0 ? points : null;
  },
  draw: (points, body, model) => {
    const start = pb.recommended(points) ?? points[0];
    const holder = pb.el('div', {class: 'previews'});
    const show = point => {
      const images = pb.previewOf(point, model);
      const psnr = [point.value('psnr_noisy_db'), point.value('psnr_denoised_db')];
      const seeded = (point.settings.weights ?? '').startsWith('seed:');
      const {height, width} = images.files;
      holder.replaceChildren(
          pb.el(
              'figure', {}, pb.sliderOf(images),
              pb.el('figcaption', {}, `noisy and denoised: move the slider (${width} × ${height} px of the image)`)),
          ...images.clean ? [pb.el(
                                'figure', {}, pb.el('img', {src: images.clean, alt: 'original'}),
                                pb.el('figcaption', {}, 'original'))] :
                            [],
          pb.el('p', {class: 'quiet'}, [
            psnr[1] === null ? null : `PSNR ${psnr[0].toFixed(2)} → ${psnr[1].toFixed(2)} dB over the whole image`,
            seeded ? 'the weights are seeded, not trained: this picture is no denoised image' : null
          ].filter(Boolean).join('; ')));
    };
    body.append(pb.chooser('Point', points, start, show), holder);
    show(start);
  },
});

/// Points with a map of differences: verification.seam_map = {rows, columns, cell_px, values: [..] row by row}.
pb.seamMapOf = point => {
  const map = point.raw.verification?.seam_map;
  return map && map.values.some(pb.isNumber) ? map : null;
};

pb.seamChart = point => {
  const map = pb.seamMapOf(point);
  const row = r => map.values.slice(r * map.columns, (r + 1) * map.columns);
  const centre = i => (i + 0.5) * map.cell_px;
  const cells = Array.from({length: map.rows}, (unused, r) => row(r));
  return {
    traces: [{
      type: 'heatmap',
      z: cells,
      x: cells[0].map((unused, c) => centre(c)),
      y: cells.map((unused, r) => centre(r)),
      colorscale: [[0, pb.colour('map-low')], [0.5, pb.colour('map-middle')], [1, pb.colour('map-high')]],
      zmin: 0,
      hoverongaps: false,
      colorbar: {thickness: 12, outlinewidth: 0, title: {text: 'difference', side: 'right'}},
      hovertemplate: 'row %{y:.0f} px, column %{x:.0f} px<br>largest difference %{z:.3g} of 1<extra></extra>'
    }],
    layout: {
      height: 420,
      xaxis: pb.axis('column, px', {constrain: 'domain'}),
      yaxis: pb.axis('row, px', {autorange: 'reversed', scaleanchor: 'x', constrain: 'domain'}),
      showlegend: false
    }
  };
};

pb.section({
  id: 'seams',
  title: 'Seam error',
  absent: 'seam-error map (no point was compared with the image run whole, or none recorded the map)',
  find: model => {
    const points = model.points.filter(pb.seamMapOf);
    return points.length > 0 ? points : null;
  },
  draw: (points, body) => {
    let chosen = points.reduce(
        (worst, point) => (point.value('seam_error') ?? 0) > (worst.value('seam_error') ?? 0) ? point : worst);
    body.append(
        pb.el(
            'p', {},
            'Largest difference, in each cell, between the image put together from patches and the same image with full context. ',
            'A lattice at the borders of the patches means that the halo is too small; nothing there means no seams. Cells without colour were not compared.'),
        pb.chooser('Point', points, chosen, point => {
          chosen = point;
          pb.redraw(plot);
          say();
        }));
    const words = body.appendChild(pb.el('p', {class: 'quiet'}));
    const say = () => {
      const error = chosen.value('seam_error');
      words.textContent = error === null ?
          '' :
          error === 0 ?
          'No difference at all: the halo is sufficient.' :
          `Largest difference ${pb.number(error)} of 1, which is ${pb.number(error * 255)} grey levels of 255.`;
    };
    say();
    const plot = pb.chart(body, null, () => pb.seamChart(chosen));
  },
});
