// Shows the pictures: original, noisy and denoised, two of them behind a slider.
'use strict';

/// Returns {noisy, denoised, clean} as data URIs; null when the point has no preview or its files are missing.
pb.previewOf = (point, model) => {
  const files = point.raw.preview;
  if (!files) return null;
  const uri = name => files[name] ? model.images[`${point.file.id}/${files[name]}`] ?? null : null;
  const images = {noisy: uri('noisy_file'), denoised: uri('denoised_file'), clean: uri('clean_file')};
  return images.noisy && images.denoised ? {...images, files} : null;
};

pb.pictureNames = {
  noisy: 'noisy',
  denoised: 'denoised',
  clean: 'original'
};

/// Shows two of the pictures, one on top of the other up to the slider.
pb.sliderOf = (images, [left, right]) => {
  const picture = (key, over) =>
      pb.el('img', {src: images[key], alt: pb.pictureNames[key], class: over ? 'over' : null, draggable: 'false'});
  const stage = pb.el(
      'div', {class: 'compare'}, picture(right, false), picture(left, true),
      pb.el('span', {class: 'tag left'}, pb.pictureNames[left]),
      pb.el('span', {class: 'tag right'}, pb.pictureNames[right]));
  const slide = event => stage.style.setProperty('--cut', `${event.target.value}%`);
  stage.style.setProperty('--cut', '50%');
  const range = pb.el('input', {
    type: 'range',
    min: 0,
    max: 100,
    step: 0.1,
    value: 50,
    'aria-label': `Boundary between ${pb.pictureNames[left]} and ${pb.pictureNames[right]}`,
    on: {input: slide}
  });
  return pb.el('div', {class: 'comparison'}, pb.el('div', {class: 'frame'}, stage, range));
};

pb.picturePairs = images => [['noisy', 'denoised'], ['clean', 'denoised'], ['clean', 'noisy']].filter(
    pair => pair.every(key => images[key]));

/// Shows the slider with a button for each pair of pictures.
pb.comparisonOf = images => {
  const pairs = pb.picturePairs(images);
  const holder = pb.el('div');
  const buttons = pairs.map(
      pair => pb.el(
          'button', {type: 'button', on: {click: () => show(pair)}},
          pair.map(key => pb.pictureNames[key]).join(' | ')));
  const show = chosen => {
    pairs.forEach((pair, i) => buttons[i].setAttribute('aria-pressed', String(pair === chosen)));
    holder.replaceChildren(pb.sliderOf(images, chosen));
  };
  show(pairs[0]);
  return pb.el('div', {}, pairs.length > 1 ? pb.el('div', {class: 'switch'}, buttons) : null, holder);
};

pb.section({
  id: 'images',
  title: 'Before and after',
  absent: 'before and after (no previews beside the results)',
  find: model => model.points.filter(point => pb.previewOf(point, model)),
  draw: (points, body, model) => {
    const start = pb.recommended(points) ?? points[0];
    const holder = pb.el('div', {class: 'previews'});
    const show = point => {
      const images = pb.previewOf(point, model);
      const psnr = [point.value('psnr_noisy_db'), point.value('psnr_denoised_db')];
      const seeded = (point.settings.weights ?? '').startsWith('seed:');
      const {height, width} = images.files;
      const words = [
        `${width} × ${height} px of the image, pixel by pixel`,
        psnr[1] === null ? null : `PSNR of the whole image ${pb.decibels(psnr[0])} → ${pb.decibels(psnr[1])} dB`,
        seeded ? 'the weights are seeded, not trained: what comes out is no denoised image' : null
      ];
      holder.replaceChildren(
          pb.comparisonOf(images), pb.el('p', {class: 'quiet'}, `${words.filter(Boolean).join('; ')}.`));
    };
    body.append(pb.chooser('Point', points, start, show), holder);
    show(start);
  },
});
