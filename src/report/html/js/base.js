// The namespace of the viewer, elements and numbers as text. What comes from the data becomes a text node, never
// markup: no file of the viewer uses innerHTML.
'use strict';
const pb = {};

/// Element `tag` with attributes and children; strings and numbers among the children are text.
pb.el = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on')
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else
      element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
};

/// Text for Plotly, which reads a little HTML in labels and %{..} in templates: both are shown as they are written.
pb.plain = text =>
    String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('%{', '%\u200b{');

pb.isNumber = value => typeof value === 'number' && Number.isFinite(value);

/// A number with as many digits as matter: 3 significant ones, whole numbers grouped by thousands.
pb.number = (value, digits = 3) => {
  if (!pb.isNumber(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 10 ** digits) return Math.round(value).toLocaleString('en-US');
  if (size < 1e-3 || size >= 1e9) return value.toExponential(digits - 1).replace('e+', 'e');
  return String(Number(value.toPrecision(digits)));
};

/// Seconds in the unit in which they are easy to read.
pb.seconds = value => {
  if (!pb.isNumber(value)) return '–';
  if (value >= 120) return `${pb.number(value / 60)} min`;
  if (value >= 1 || value === 0) return `${pb.number(value)} s`;
  return value >= 1e-3 ? `${pb.number(value * 1e3)} ms` : `${pb.number(value * 1e6)} µs`;
};

pb.withUnit = (value, unit) => {
  if (!pb.isNumber(value)) return '–';
  if (unit === 's') return pb.seconds(value);
  const bare = ['', 'count', 'ratio', '[0,1]'].includes(unit);
  return bare ? pb.number(value) : `${pb.number(value)}${unit === '%' ? ' %' : ` ${unit}`}`;
};

pb.count = (n, one, many = `${one}s`) => `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;

pb.distinct = values => [...new Set(values)];

/// "a, b and c".
pb.list = words => words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

pb.groupBy = (items, keyOf) => {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
};

/// A table with a line of headings (none: no such line); cells are texts or nodes, `numeric` says which columns are
/// right-aligned.
pb.table = (headings, rows, numeric = []) => {
  const cell = (tag, content, column) => pb.el(tag, {class: numeric.includes(column) ? 'number' : null}, content);
  const head = pb.el('thead', {}, pb.el('tr', {}, headings.map((heading, i) => cell('th', heading, i))));
  return pb.el(
      'div', {class: 'scroll'},
      pb.el(
          'table', {}, headings.length > 0 ? head : null,
          pb.el('tbody', {}, rows.map(row => pb.el('tr', {}, row.map((content, i) => cell('td', content, i)))))));
};

pb.sections = new Map();

/// A part of the page: `find(model)` gives what it shows, or null, in which case `absent` says what is missing and why;
/// `draw(found, body, model)` fills its body.
pb.section = section => {
  pb.sections.set(section.id, section);
};
