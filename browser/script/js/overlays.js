// The focused element, what is hit at a point, and what lies over the page.

import {
  activeOf, atPoint, attr, bodyOf, FOLLOWING, has, isConnected, localName, matches, nextElementSibling, position, previousElementSibling,
  queryAll, rectOf,
} from './dom.js';
import { flatContains, flatParent, shadowOf } from './flat-tree.js';
import { hiddenFromAX, inertNow } from './inert.js';
import { styleOf } from './node-cache.js';
import { page } from './page.js';
import { roleOf } from './role.js';
import { visible } from './visibility.js';

// activeElement returns the focused element, in whatever shadow root it is.
export function activeElement() {
  let a = activeOf(page);
  for (let root; a && (root = shadowOf(a)) && root.activeElement;) a = root.activeElement;
  return a;
}

// hitAt returns the innermost element at a point of the viewport, through shadow
// roots, null outside of it.
export function hitAt(x, y) {
  let hit = atPoint(page, x, y);
  for (let root; hit && (root = shadowOf(hit));) {
    const inner = root.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
}

// onTop returns what lies over the page and takes its clicks, and what its author
// says does, wherever it lies: {tops, modal, all}.
export function onTop() {
  const top = hitOnTop();
  if (!top.modal) for (const d of modals()) if (!top.tops.some((t) => flatContains(t, d))) top.tops.push(d);
  return top;
}

// Elements that have aria-modal, as they come (news): to look for them at each walk
// costs what the document has elements, 5 ms with 50,000.
export const saysModal = new Set();

// seekModals looks for them in what has come.
export function seekModals(el) {
  if (has(el, 'aria-modal')) saysModal.add(el);
  for (const e of queryAll(el, '[aria-modal]')) saysModal.add(e);
}

// modals returns the dialogs that a person can see and that aria-modal says are
// modal, the last one first: it lies over those before it.
function modals() {
  const open = [];
  for (const el of saysModal) {
    if (!isConnected(el)) saysModal.delete(el);
    else if (attr(el, 'aria-modal') === 'true' && /^(alert)?dialog$/.test(roleOf(el)) && visible(el) && !hiddenFromAX(el) && !inertNow(el)) open.push(el);
  }
  return open.sort((a, b) => (position(a, b) & FOLLOWING ? 1 : -1));
}

// hitOnTop is onTop by what five points of the viewport hit.
function hitOnTop() {
  const none = { tops: [], modal: false, all: false };
  const w = innerWidth, h = innerHeight;
  if (w < 50 || h < 50) return none;
  const counts = new Map();
  const chains = [];
  for (const [x, y] of [[0.5, 0.5], [0.12, 0.12], [0.88, 0.12], [0.12, 0.88], [0.88, 0.88]]) {
    if (chains.length === 2 && !chains.some((c) => c.some(lifted))) return none; // four of five can no longer be under one
    const chain = [];
    for (let p = hitAt(w * x, h * y); p; p = flatParent(p)) {
      if (localName(p) === 'dialog' && matches(p, ':modal')) return { tops: [p], modal: true, all: true };
      chain.push(p);
      counts.set(p, (counts.get(p) || 0) + 1);
    }
    chains.push(chain);
  }
  let over = null;
  for (const chain of chains.slice(0, 2)) { // a dialog may stand before the middle of it
    for (const p of chain) {
      if (over || p === bodyOf(page) || localName(p) === 'html') break;
      if (counts.get(p) < 4 || !lifted(p)) continue;
      const r = rectOf(p);
      if (r.width >= w * 0.7 && r.height >= h * 0.7) over = p;
    }
  }
  const dialog = chains[0].find((p) => matches(p, '[aria-modal=true],[role=dialog],[role=alertdialog],dialog[open]'));
  const tops = [];
  if (dialog && (over || attr(dialog, 'aria-modal') === 'true')) tops.push(dialog);
  if (over && !(dialog && flatContains(dialog, over))) tops.push(over);
  return { tops, modal: false, all: over !== null && styleOf(over).position === 'fixed' };
}

// lifted tells whether el is taken out of the flow to lie over what it is beside. Without
// an order of its own (z-index) it may as well be a part of the layout, which lies over nothing.
function lifted(el) {
  const s = styleOf(el);
  const position = s.position;
  return position === 'fixed' || (position === 'absolute' && (+s.zIndex > 0 || (!(s.zIndex < 0) && liesOver(el))));
}

// liesOver tells whether more than half of something beside el, which has no order of
// its own, is painted under it (CSS 2.2 appendix E).
function liesOver(el) {
  const r = rectOf(el);
  for (const [step, before] of /** @type {[(el: any) => any, boolean][]} */ ([[previousElementSibling, true], [nextElementSibling, false]])) {
    for (let b = step(el), n = 0; b && n < 20; b = step(b), n++) {
      const s = rectOf(b);
      const w = Math.min(r.right, s.right) - Math.max(r.left, s.left);
      const h = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
      if (w <= 0 || h <= 0 || w * h * 2 <= s.width * s.height) continue;
      const { position, zIndex } = styleOf(b);
      if (position === 'static' || zIndex < 0 || before && !(zIndex > 0)) return true;
    }
  }
  return false;
}
