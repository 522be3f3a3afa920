// Sets the order of the page. A section without data is left out, and one line at the end names it.
'use strict';

pb.order = [
  'shape', 'throughput', 'memory', 'fit', 'precision', 'devices', 'engines', 'scaling', 'roofline', 'timeline',
  'stages', 'layers', 'seams', 'images', 'telemetry', 'environment', 'glossary', 'points'
];

pb.drawSection = (section, model, parent, nav) => {
  const found = section.find(model);
  if (!found || found.length === 0) return section.absent;
  const body = pb.el('div', {}, section.about ? pb.el('p', {}, section.about) : null);
  parent.append(pb.el('section', {id: section.id}, pb.el('h2', {}, section.title), body));
  nav.append(pb.el('a', {href: `#${section.id}`}, section.title));
  section.draw(found, body, model);
  return null;
};

pb.drawPage = () => {
  const model = pb.loadModel();
  const main = document.getElementById('main');
  const nav = document.getElementById('nav');
  pb.drawSummary(model, main);
  const sections = [...pb.sections.values()].sort((a, b) => pb.order.indexOf(a.id) - pb.order.indexOf(b.id));
  const absent = sections.map(section => pb.drawSection(section, model, main, nav)).filter(Boolean);
  if (absent.length > 0)
    main.append(
        pb.el('p', {class: 'quiet absent'}, `Not shown, because this study has no data for it: ${absent.join('; ')}.`));
  pb.theme.start();
};

pb.drawPage();
