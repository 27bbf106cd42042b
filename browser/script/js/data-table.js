// Whether a table holds data or only places things, by Blink's rules
// (AXNodeObject::IsDataTable), so that a layout table is no table for a reader either.

import { attr, clientHeight, clientLeft, clientTop, clientWidth, firstElementChild, has, isContentEditable, localName, nextElementSibling, rectOf } from './dom.js';
import { styleOf } from './node-cache.js';
import { authorName } from './role.js';

const DATA_ROWS = 20; // of so many rows a table is one of data
const SURE_CELLS = 10; // with a border, or a background of their own, are enough
const STRIPED_ROWS = 5; // rows whose background is compared

/** @typedef {{bordered: number, top: number, bottom: number, left: number, right: number, coloured: number, all: number, stripes: string[]}} Cells */

// holdsData reports whether t, a <table> without a role of its author's, is one of data: it is
// marked up as one, has many rows, or most of its cells have a border or stand out by their colour.
export function holdsData(t) {
  if (authorName(t) || has(t, 'summary') || has(t, 'rules') || t.caption || t.tHead || t.tFoot || isContentEditable(t)) return true;
  for (let c = firstElementChild(t); c; c = nextElementSibling(c)) if (localName(c) === 'col' || localName(c) === 'colgroup') return true;
  const rows = t.rows, s = styleOf(t);
  if (rows.length >= DATA_ROWS || s.display === 'none') return true;
  for (const row of rows) for (const cell of row.cells) if (localName(cell) === 'th') return true;
  if (rows.length === 0 || rows.length === 1 && rows[0].cells.length === 1) return false;
  /** @type {Cells} */
  const cells = { bordered: 0, top: 0, bottom: 0, left: 0, right: 0, coloured: 0, all: 0, stripes: [] };
  const ground = /^0px|\b0px$/.test(s.borderSpacing) ? null : s.backgroundColor;
  for (let i = 0; i < rows.length; i++) {
    for (const cell of rows[i].cells) if (isDataCell(cell, rows[i], i, ground, cells)) return true;
  }
  const { all, stripes } = cells, half = Math.floor(all / 2);
  if (all <= 1) return false;
  if ([cells.bordered, cells.top, cells.bottom, cells.left, cells.right, cells.coloured].some((n) => n >= half)) return true;
  return stripes.length > 2 && stripes.every((color, i) => (color === stripes[0]) === (i % 2 === 0));
}

// isDataCell counts a cell, and reports whether it settles that its table is one of data. ground is the
// table's background where there is space between the cells, null where there is none.
function isDataCell(cell, row, at, ground, cells) {
  if (attr(cell, 'headers') || attr(cell, 'abbr') || attr(cell, 'axis') || attr(cell, 'scope')) return true;
  const s = styleOf(cell), box = rectOf(cell);
  if (s.display === 'none' || box.width < 1 || box.height < 1) return false;
  cells.all++;
  if (s.emptyCells === 'hide') return true;
  // As they are laid out: of collapsed borders a cell has those that its neighbours have set.
  const left = clientLeft(cell), top = clientTop(cell), right = cell.offsetWidth - clientWidth(cell) - left, bottom = cell.offsetHeight - clientHeight(cell) - top;
  if (top > 0) cells.top++;
  if (bottom > 0) cells.bottom++;
  if (left > 0) cells.left++;
  if (right > 0) cells.right++;
  if (top > 0 && bottom > 0 || left > 0 && right > 0) cells.bordered++;
  const color = s.backgroundColor;
  if (ground !== null && color !== ground && color !== CLEAR) cells.coloured++;
  if (cells.stripes.length === at && at < STRIPED_ROWS) cells.stripes.push(styleOf(row).backgroundColor);
  return cells.bordered >= SURE_CELLS || cells.coloured >= SURE_CELLS;
}

const CLEAR = 'rgba(0, 0, 0, 0)';
