// Questions that a walk asks about an element in its document.

import { aim } from './actionable.js';
import {
  attr, byId, clientHeight, closest, documentElementOf, firstChild, getRootNode, has, localName, matches, nextSibling, nodeType, parentNode,
  rectOf, rectsOf, scrollHeight, TEXT, textData,
} from './dom.js';
import { flatContains, flatParent } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { activeElement, hitAt } from './overlays.js';
import { page } from './page.js';
import { authorName } from './role.js';
import { standsFor } from './stand-in.js';
import { blank } from './text.js';
import { offPage, rendered, transparent } from './visibility.js';

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

// owner decides on the element that holds another document.
export function ownsDocument(el, child) {
  const r = rectOf(el);
  child.role = 'iframe';
  child.owner = true;
  return child.tag === 'frame' || !(r.width < 8 || r.height < 8 || offPage(r, el)); // others count visitors
}

// linesLabel tells whether c, which a label is for, gets a line that says its name.
// What a widget unchanged in front of gets none.
export function linesLabel(c) {
  if (!rendered(c) || transparent(c) && styleOf(c).pointerEvents === 'none' && !standsFor(c)) return false;
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

// coversFor tells whether hit, which is at the point in the place of el, keeps clicks from
// el: at every point of it, and however it is scrolled.
export function coversFor(el, hit, x, y) {
  if (aim(el).hit) return false;
  for (let p = flatParent(el); p && p !== documentElementOf(page); p = flatParent(p)) { // it is scrolled out of sight
    const s = styleOf(p);
    if (s.overflowX === 'visible' && s.overflowY === 'visible') continue;
    const r = rectOf(p);
    if (x < r.left || y < r.top || x >= r.right || y >= r.bottom) return false;
  }
  for (let p = hit; p && !flatContains(p, el); p = flatParent(p)) {
    const position = styleOf(p).position; // what stays where it is while el is scrolled away from it
    if (position === 'sticky' || position === 'fixed') return !scrolls(el);
  }
  return true;
}

// scrolls tells whether something around el can be scrolled.
function scrolls(el) {
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if (styleOf(p).position === 'fixed') return false;
    if (scrollHeight(p) > clientHeight(p) + 1 && (p === documentElementOf(page) || /auto|scroll/.test(styleOf(p).overflowY))) return true;
  }
  return false;
}

// receivesClick tells whether a click at the middle of el reaches it.
export function receivesClick(el) {
  const r = rectsOf(el)[0];
  if (!r || r.width < 2 || r.height < 2) return false;
  const hit = hitAt(r.left + r.width / 2, r.top + r.height / 2);
  return hit !== null && flatContains(el, hit);
}
