// Questions that a walk asks about an element in its document.

import {
  attr, byId, closest, documentElementOf, firstChild, getRootNode, has, localName, matches, nextSibling, nodeType, parentNode, rectOf, rectsOf,
  TEXT, textData,
} from './dom.js';
import { flatContains, flatParent } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { activeElement, hitAt } from './overlays.js';
import { page } from './page.js';
import { authorName } from './role.js';
import { isReplacementFor } from './stand-in.js';
import { blank } from './text.js';
import { boxOf, offPage, rendered, transparent } from './visibility.js';

// descendantOf returns what the keys go to while el has the focus: the option of a list
// that el says is the active one (WAI-ARIA 1.2, aria-activedescendant).
export function descendantOf(el) {
  const id = el && has(el, 'aria-activedescendant') ? attr(el, 'aria-activedescendant') : '';
  const root = id ? getRootNode(el) : null;
  return root === page ? byId(page, id) : root instanceof ShadowRoot ? root.getElementById(id) : null;
}

// opened returns the menu, list or dialog that has the focus, null where none has.
export function opened() {
  let e = activeElement();
  while (e && !matches(e, 'dialog,[role=dialog],[role=alertdialog],[role=menu],[role=listbox]')) e = flatParent(e);
  return e;
}

// ownsDocument marks el, which holds another document, as its owner, and reports whether it
// gets a line.
export function ownsDocument(el, child) {
  const r = rectOf(el);
  child.role = 'iframe';
  child.owner = true;
  return child.tag === 'frame' || !(r.width < 8 || r.height < 8 || offPage(r, el)); // others count visitors
}

// hasLineForLabel reports whether c, which a label is for, gets a line that says its name.
// A control that a widget replaces on the screen gets none.
export function hasLineForLabel(c) {
  if (!rendered(c) || transparent(c) && styleOf(c).pointerEvents === 'none' && !isReplacementFor(c)) return false;
  return !closest(c, '[aria-hidden="true"]') || receivesClick(c);
}

const OPTIONS_SHOWN = 12; // of a closed select (PROTOCOL.md section 5)

// shownOptions returns the options, and of a whole page the groups, of a select that
// get lines. whole: also those of a long closed one.
export function shownOptions(el, role, full, whole) {
  const all = el.options;
  if (role === 'combobox' && all.length > OPTIONS_SHOWN && !full && !whole) return [];
  const out = [];
  let group = null;
  for (const o of all) {
    if (has(o, 'hidden')) continue;
    const p = parentNode(o);
    if (full && p !== group && localName(p) === 'optgroup') out.push(p);
    group = p;
    out.push(o);
  }
  return out;
}

// inProse tells whether el, of a text-level element, is one of several pieces of
// running text; standing alone, or named by its author, it is a node.
export function inProse(el, f) {
  if (has(el, 'role') || authorName(el)) return false;
  if (f.prose === undefined) {
    f.prose = false;
    for (let k = firstChild(f.el), n = 0; k && n < 200 && !f.prose; k = nextSibling(k), n++) f.prose = nodeType(k) === TEXT && !blank(textData(k));
  }
  return f.prose && firstChild(el) !== null;
}

// receivesClick tells whether a click at the middle of el reaches it.
export function receivesClick(el) {
  const r = rectsOf(el)[0];
  if (!r || r.width < 2 || r.height < 2) return false;
  const hit = hitAt(r.left + r.width / 2, r.top + r.height / 2);
  return hit !== null && flatContains(el, hit);
}

// isInertButVisible tells whether el, which is inert or aria-hidden, is a part of the page that a
// person sees: menus and lists that are open make the page behind them inert.
export function isInertButVisible(el, child) {
  if (child.hides() || child.transparent) return false;
  const r = boxOf(el);
  if (r.width < 1 || r.height < 1 || r.right <= 0 || r.bottom <= 0 || r.left >= innerWidth || r.top >= innerHeight) return false;
  const all = rectOf(documentElementOf(page)), much = Math.min(all.width * all.height, innerWidth * innerHeight) / 2;
  for (let up = child.up; up && up.el && up.tag !== 'body'; up = up.up) {
    const around = rectOf(up.el);
    if (around.width * around.height < much) return false; // a part of the page withholds one of its own
  }
  return !child.cuts();
}
