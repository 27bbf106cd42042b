// The attributes that a line shows.

import { ARIA, BITS, HANDLER, LABEL, LABELLEDBY, ROLE, HAS_ATTRIBUTES, TABINDEX } from './attributes.js';
import { operablesIn } from './clickable.js';
import { attr, has } from './dom.js';
import { FIELD_TAGS } from './labels.js';
import { NAME_MAX } from './name.js';
import { headingLevel } from './role.js';
import { fold, headOf } from './text.js';
import { wordSet } from './word-set.js';

// Input types that the role says already.
const SAID_TYPE = wordSet('text checkbox radio range number search submit button');

// wantedOf returns a list of attributes for attrsOf: of each its name and the bit that says
// whether an element may have it; `any` has the bits of all.
export function wantedOf(list) {
  const wanted = { list: /** @type {{name: string, bit: number, own: boolean}[]} */ ([]), any: 0, src: list.includes('src') };
  for (const name of list) {
    if (name === 'value') continue; // valueOf says it
    const bit = BITS.get(name), own = bit !== undefined && bit !== HANDLER;
    wanted.list.push({ name, bit: own ? bit : HAS_ATTRIBUTES, own });
    wanted.any |= own ? bit : HAS_ATTRIBUTES;
  }
  return wanted;
}

// attrsOf returns the attributes to be shown, of those wanted, as key, value,
// key, value; a number stands for a bare value.
export function attrsOf(el, role, name, wanted, bits, tag) {
  const out = [];
  if (role === 'heading') out.push('level', headingLevel(el));
  if (bits & wanted.any) {
    for (const w of wanted.list) if (bits & w.bit && (w.own || has(el, w.name))) attribute(el, w.name, role, name, tag, out);
  }
  if ((tag === 'iframe' || tag === 'frame') && has(el, 'src') && !wanted.src) out.push('src', headOf(attr(el, 'src'), NAME_MAX));
  if (tag === 'select') out.push('options', el.options.length);
  const rows = bits & ARIA ? rowsSaid(el, role) : 0;
  if (rows) out.push('rows', rows);
  if (bits & ARIA && sorted(el, role)) out.push('sort', attr(el, 'aria-sort').toLowerCase());
  if (role === 'slider' || role === 'spinbutton') {
    number(out, 'min', tag === 'input' ? attr(el, 'min') : attr(el, 'aria-valuemin'));
    number(out, 'max', tag === 'input' ? attr(el, 'max') : attr(el, 'aria-valuemax'));
  }
  return out;
}

// rowsSaid returns how many rows a table says that it has, of which a part may be there; 0
// where it does not say.
export const rowsSaid = (el, role) => ((role === 'grid' || role === 'treegrid' || role === 'table') && /^[1-9]\d{0,8}$/.test(attr(el, 'aria-rowcount')) ? +attr(el, 'aria-rowcount') : 0);

// sorted reports whether el is the header by which its table is sorted.
export const sorted = (el, role) => (role === 'columnheader' || role === 'rowheader') && /^(ascending|descending|other)$/i.test(attr(el, 'aria-sort'));

// ofItsOwn reports whether a cell of a grid is something by itself: its author names it, as
// the days of a calendar, or has it take the focus, as what is edited in place.
export const ofItsOwn = (el, role, bits) => role === 'gridcell' && (bits & ROLE) !== 0 &&
  ((bits & (LABEL | LABELLEDBY)) !== 0 || (bits & TABINDEX) !== 0 && !operablesIn(el));

// attribute adds the attribute a of el to out, unless something else says it.
function attribute(el, a, role, name, tag, out) {
  if (a === 'name' && (tag === 'button' || !FIELD_TAGS.has(tag)) || a === 'type' && !FIELD_TAGS.has(tag)) return;
  let v = attr(el, a);
  switch (a) {
    case 'type': v = v.toLowerCase(); if (SAID_TYPE.has(v) || v === '') return; break;
    case 'placeholder': case 'aria-label': if (fold(v) === name) return; break;
    case 'role': if (v.trim().toLowerCase() === role || /^\s*(none|presentation)\s*$/i.test(v) || (role === 'img' && /^(img|image)$/.test(v.trim()))) return; break;
    case 'href': v = v.trim(); if (/^(javascript|data):/i.test(v)) v = v.slice(0, v.indexOf(':') + 1); break;
  }
  out.push(a, headOf(v, NAME_MAX));
}

function number(out, key, v) {
  if (v !== null && v.trim() !== '' && isFinite(+v)) out.push(key, +v);
}
