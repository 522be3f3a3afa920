// The namespace of the viewer, and functions that make elements and format numbers. Data become text nodes, never
// markup: no file of the viewer uses innerHTML.
'use strict';
const pb = {};

/// Makes the element `tag` with attributes and children. Strings and numbers among the children become text.
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

/// Makes content that is folded below the line `summary`.
pb.details = (summary, ...content) => pb.el('details', {}, pb.el('summary', {}, summary), ...content);

/// Escapes text for Plotly, which interprets some HTML in labels and %{..} in templates. Both are shown as written.
pb.plain = text =>
    String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('%{', '%\u200b{');

pb.isNumber = value => typeof value === 'number' && Number.isFinite(value);

/// Formats a number with 3 significant digits by default; whole numbers are grouped by thousands.
pb.number = (value, digits = 3) => {
  if (!pb.isNumber(value)) return '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 10 ** digits) return Math.round(value).toLocaleString('en-US');
  if (size < 1e-3 || size >= 1e9) return value.toExponential(digits - 1).replace('e+', 'e');
  return String(Number(value.toPrecision(digits)));
};

/// Formats a PSNR. An image without noise has an infinite one, which JSON holds as null.
pb.decibels = (value, digits = 2) => value === null ? '∞' : value.toFixed(digits);

/// Formats seconds in the unit that is easiest to read.
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

/// Joins words: "a, b and c".
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

/// Makes a table with a row of headings (no row for no headings). Cells are texts or nodes. `numeric` holds the columns
/// that are right-aligned.
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

/// Registers a section of the page. `find(model)` returns what the section shows; where that is null or an empty list,
/// `absent` says what is missing and why. The body begins with a paragraph of `about`, a text or a list of texts, if
/// there is one, and `draw(found, body, model)` fills the rest.
pb.section = section => {
  pb.sections.set(section.id, section);
};
