// The row that an element stands in, whose text tells it from its like.

import { attr, has, localName, nextElementSibling, previousElementSibling } from './dom.js';
import { cachedText } from './element-text.js';
import { flatParent } from './flat-tree.js';
import { cachedOf } from './node-cache.js';
import { onForget } from './page.js';
import { fold } from './text.js';

const ROW_TAG = new Set(['li', 'tr', 'article', 'dd', 'dt', 'option']);
const ROW_ROLE = /^(row|listitem|article|option|treeitem)$/;
const CONTEXT_MAX = 120; // characters

// The context of el is the folded text of the row that it stands in: the nearest
// list item, row or article, or where there is none the nearest of a series of
// like siblings that says more than el itself. Values of form controls are no
// part of it. Empty where there is no row.

/** @typedef {{node: Element | null, up: number}} Place */
/** @type {Map<Element, Place>} */ let rows = new Map(); // element → the nearest row that it is or stands in,
/** @type {Map<Element, Place>} */ let series = new Map(); // and the nearest of a series; of one walk or question
let rowTexts = new Map(); // row → its text; of one walk or question
onForget(() => {
  rows = new Map();
  series = new Map();
  rowTexts = new Map();
});

export function rowOf(el, parent = flatParent(el)) {
  const row = nearest(rows, parent, isRow);
  if (row) return row;
  const one = nearest(series, parent, inSeries);
  return one && rowText(one) === textFor(el) ? rowOf(one) : one;
}

const FAR = 40; // elements around the one that is asked about

// nearest returns the nearest element, from el outwards, of which is holds; null where there
// is none, or none so near. known has what was found for the elements asked about before.
function nearest(known, el, is) {
  const path = [];
  /** @type {Place} */ let at = { node: null, up: 0 };
  for (let p = el; p; p = flatParent(p)) {
    const place = known.get(p);
    if (place !== undefined) { at = place; break; }
    const tag = localName(p);
    if (tag === 'body' || tag === 'html') break;
    if (is(p, tag)) {
      known.set(p, at = { node: p, up: 0 });
      break;
    }
    path.push(p);
  }
  while (path.length) known.set(path.pop(), at = at.node === null ? at : { node: at.node, up: at.up + 1 });
  return at.up < FAR ? at.node : null;
}

const isRow = (el, tag) => ROW_TAG.has(tag) || has(el, 'role') && ROW_ROLE.test(attr(el, 'role'));

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
  if (s === undefined) rowTexts.set(row, s = textFor(row));
  return s;
}

const textFor = (el) => fold(cachedText(cachedOf(el), CONTEXT_MAX)).slice(0, CONTEXT_MAX);
