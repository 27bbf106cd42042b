// The focused element, what is hit at a point, and what lies over the page.

import {
  activeOf, animationsOf, atPoint, attr, bodyOf, firstElementChild, FOLLOWING, has, isConnected, localName, matches, nextElementSibling, position,
  previousElementSibling, queryAll, rectOf, viewHeight, viewWidth,
} from './dom.js';
import { listens, operablesIn } from './clickable.js';
import { someText } from './element-text.js';
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

export const NOTHING_ON_TOP = Object.freeze({ tops: [], modal: false, all: false, loading: null });

// onTop returns what lies over the page and takes its clicks, and what its author
// says does, wherever it lies: {tops, modal, all, loading}. loading is a screen over the
// whole page without anything to click.
export function onTop() {
  const top = hitOnTop();
  if (top.modal) return top;
  const more = modals().filter((d) => !top.tops.some((t) => flatContains(t, d)));
  return more.length ? { ...top, tops: [...top.tops, ...more] } : top;
}

// Elements with aria-modal, collected as they are added: searching for them on each walk
// takes 5 ms with 50,000 elements.
export const declaresModal = new Set();

// seekModals looks for them in what has come.
export function seekModals(el) {
  if (has(el, 'aria-modal')) declaresModal.add(el);
  for (const e of queryAll(el, '[aria-modal]')) declaresModal.add(e);
}

// modals returns the dialogs that a person can see and that aria-modal says are
// modal, the last one first: it lies over those before it.
function modals() {
  const open = [];
  for (const el of declaresModal) {
    if (!isConnected(el)) declaresModal.delete(el);
    else if (attr(el, 'aria-modal') === 'true' && /^(alert)?dialog$/.test(roleOf(el)) && visible(el) && !hiddenFromAX(el) && !inertNow(el)) open.push(el);
  }
  return open.sort((a, b) => (position(a, b) & FOLLOWING ? 1 : -1));
}

// hitOnTop is onTop by what five points of the viewport hit.
function hitOnTop() {
  const w = viewWidth(), h = viewHeight();
  if (w < 50 || h < 50) return NOTHING_ON_TOP;
  const counts = new Map(); // element → how many points hit it
  const chains = [];
  for (const [x, y] of [[0.5, 0.5], [0.12, 0.12], [0.88, 0.12], [0.12, 0.88], [0.88, 0.88]]) {
    if (chains.length === 2 && ![...counts.keys()].some(isOutOfFlowOverlay)) return NOTHING_ON_TOP; // four of five can no longer be under one
    const chain = [];
    for (let p = hitAt(w * x, h * y); p; p = flatParent(p)) {
      if (localName(p) === 'dialog' && matches(p, ':modal')) return { tops: [p], modal: true, all: true, loading: null };
      chain.push(p);
      counts.set(p, (counts.get(p) || 0) + 1);
    }
    chains.push(chain);
  }
  let over = null;
  for (const chain of chains.slice(0, 2)) { // a dialog may stand before the middle of it
    for (const p of chain) {
      if (over || p === bodyOf(page) || localName(p) === 'html') break;
      if (counts.get(p) < 4 || !isOutOfFlowOverlay(p)) continue;
      const r = rectOf(p);
      if (r.width >= w * 0.7 && r.height >= h * 0.7) over = p;
    }
  }
  const dialog = chains[0].find((p) => matches(p, '[aria-modal=true],[role=dialog],[role=alertdialog],dialog[open]'));
  const tops = [];
  if (dialog && (over || attr(dialog, 'aria-modal') === 'true')) tops.push(dialog);
  if (over) for (const el of besideOf(over)) if (!tops.some((t) => flatContains(t, el) || flatContains(el, t))) tops.push(el);
  const loading = over !== null && !tops.length && isLoading(over) ? over : null;
  if (over && !(dialog && flatContains(dialog, over))) tops.push(over);
  return { tops, modal: false, all: over !== null && styleOf(over).position === 'fixed', loading };
}

// isLoading tells whether el, which lies over the page, shows something (words, a picture, what
// turns for ever) and nothing to click.
function isLoading(el) {
  if (operablesIn(el) || listens(el)) return false;
  return firstElementChild(el) !== null || someText(el, 1) !== '' ||
    animationsOf(el, { subtree: true }).some((a) => a.effect.getTiming().iterations === Infinity);
}

const BESIDE = 30; // elements on each side of an overlay that may lie over it

// besideOf returns what stands beside el, or beside what is around it, and lies over it: the
// box of a guided tour, whose veil el is.
function besideOf(el) {
  const found = [];
  for (let p = el; p && p !== bodyOf(page); p = flatParent(p)) {
    for (const step of [previousElementSibling, nextElementSibling]) {
      for (let b = step(p), n = 0; b && n < BESIDE; b = step(b), n++) if (isOutOfFlowOverlay(b) && visible(b) && isHit(b)) found.push(b);
    }
  }
  return found;
}

// isHit tells whether el takes the click in its middle.
export function isHit(el) {
  const r = rectOf(el);
  const hit = r.width >= 8 && r.height >= 8 && hitAt(r.left + r.width / 2, r.top + r.height / 2);
  return !!hit && flatContains(el, hit);
}

// isOutOfFlowOverlay tells whether el is taken out of the flow to lie over what it is beside. Without
// an order of its own (z-index) it may as well be a part of the layout, which lies over nothing.
export function isOutOfFlowOverlay(el) {
  const s = styleOf(el);
  const position = s.position;
  return position === 'fixed' || (position === 'absolute' && (+s.zIndex > 0 || (!(s.zIndex < 0) && overlapsSibling(el))));
}

// overlapsSibling tells whether more than half of something beside el, which has no order of
// its own, is painted under it (CSS 2.2 appendix E).
function overlapsSibling(el) {
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
