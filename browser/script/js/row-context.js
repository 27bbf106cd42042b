// The row that an element stands in, whose text tells it from its like.

import { attr, has, localName, nextElementSibling, previousElementSibling } from './dom.js';
import { someText } from './element-text.js';
import { flatParent } from './flat-tree.js';
import { onForget } from './page.js';
import { fold } from './text.js';

const ROW_TAG = new Set(['li', 'tr', 'article', 'dd', 'dt', 'option']);
const ROW_ROLE = /^(row|listitem|article|option|treeitem)$/;
const CONTEXT_MAX = 120; // characters

// The context of el is the folded text of the row that it stands in: the nearest
// list item, row or article, or where there is none the nearest of a series of
// like siblings that says more than el itself. Values of form controls are no
// part of it. Empty where there is no row.

let rows = new Map(); // parent → the row of its children; of one walk or question
let rowTexts = new Map(); // row → its text; of one walk or question
onForget(() => {
  rows = new Map();
  rowTexts = new Map();
});

export function rowOf(el, parent = flatParent(el)) {
  if (!parent) return null;
  let row = rows.get(parent);
  if (row === undefined) rows.set(parent, row = rowAround(parent));
  if (row && row.series && row.text === fold(someText(el, CONTEXT_MAX)).slice(0, CONTEXT_MAX)) return rowOf(row.node);
  return row && row.node;
}

// rowAround returns the row that p is or stands in.
function rowAround(p) {
  let series = null;
  for (let up = 0; p && up < 40; p = flatParent(p), up++) {
    const tag = localName(p);
    if (tag === 'body' || tag === 'html') break;
    if (ROW_TAG.has(tag) || (has(p, 'role') && ROW_ROLE.test(attr(p, 'role')))) return { node: p, series: false, text: '' };
    if (!series && inSeries(p, tag)) series = p;
  }
  return series && { node: series, series: true, text: rowText(series) };
}

// inSeries tells whether a sibling right beside p has the same tag and classes.
function inSeries(p, tag) {
  const cls = attr(p, 'class');
  for (const s of [nextElementSibling(p), previousElementSibling(p)]) {
    if (s && localName(s) === tag && attr(s, 'class') === cls) return true;
  }
  return false;
}

export function rowText(row) {
  let s = rowTexts.get(row);
  if (s !== undefined) return s;
  s = fold(someText(row, CONTEXT_MAX)).slice(0, CONTEXT_MAX);
  rowTexts.set(row, s);
  return s;
}
