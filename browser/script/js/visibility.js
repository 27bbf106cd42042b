// Whether a person could see an element, and where.

import {
  checkVisibility, clientHeight, clientWidth, documentElementOf, firstChild, localName, rectOf, scrollerOf, scrollHeight, scrollLeft,
  scrollTop, scrollWidth,
} from './dom.js';
import { flatParent } from './flat-tree.js';
import { imageOf } from './image-map.js';
import { styleOf } from './node-cache.js';
import { onForget, page } from './page.js';

export const VISIBLE = { visibilityProperty: true, opacityProperty: true };

// boxOf returns where el is, in viewport pixels: its own box or, where that is
// empty (display:contents, an inline around floats), that of what it contains.
export function boxOf(el) {
  const r = rectOf(el);
  return r.width >= 1 && r.height >= 1 ? r : fullBox(el, r);
}

// fullBox returns where el is, whose own box r is empty.
function fullBox(el, r) {
  if (!firstChild(el)) return r;
  const range = new Range();
  range.selectNodeContents(el);
  const c = range.getBoundingClientRect();
  return c.width >= 1 && c.height >= 1 ? c : r;
}

// transparent tells whether nothing of el is painted because of its opacity.
export function transparent(el) {
  return !checkVisibility(el, { opacityProperty: true }) && checkVisibility(el);
}

// scrolled tells whether a scroller around el has been moved, so that el may lie
// before the page's edge and still be reached.
function scrolled(el) {
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if ((scrollTop(p) || scrollLeft(p)) && p !== scrollerOf(page)) return true;
  }
  return false;
}

let view = null; // the page's extent; of one walk or question, for asking is dear
onForget(() => { view = null; });

function extent() {
  const s = scrollerOf(page) || documentElementOf(page);
  if (!s) return null;
  const wide = scrollWidth(s), left = wide > clientWidth(s) && styleOf(s).direction === 'rtl' ? clientWidth(s) - wide : 0;
  return { x: scrollX, y: scrollY, left, right: left + wide, bottom: scrollHeight(s) };
}

// inScroller tells whether a scroller around el that is no more than its own
// box on the page can be moved further down or to the right.
function inScroller(el) {
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if (p === scrollerOf(page) || localName(p) === 'body') return false;
    if (scrollHeight(p) <= clientHeight(p) && scrollWidth(p) <= clientWidth(p)) continue;
    const s = styleOf(p);
    if (/auto|scroll/.test(s.overflowY + s.overflowX)) return true;
  }
  return false;
}

// offPage tells whether a box lies where no scrolling brings it.
export const offPage = (r, el) => outside(r.left, r.top, r.width, r.height, el);

// outside is offPage by the numbers of the box: to read one costs as much as to ask
// an element for its tag.
export function outside(x, y, width, height, el) {
  if (!view) view = extent();
  if (!view) return false;
  const left = x + view.x, top = y + view.y;
  if (left + width <= view.left || top + height <= 0) return !scrolled(el);
  return (left >= view.right || top >= view.bottom) && !inScroller(el) && !scrolled(el);
}

const NO_INSET = /^inset\((100|50)%|^(circle|ellipse)\(0/;

// cutAway tells whether el itself, by its own style, shows nothing of what it
// contains: the ways in which text is kept for screen readers only. All of them
// take it out of the flow or hide its overflow.
export function cutAway(el, s, display = s.display) {
  const shown = s.overflowX === 'visible';
  if (display === 'inline') return !shown && NO_INSET.test(s.clipPath); // never out of the flow
  const position = s.position;
  const out = position === 'absolute' || position === 'fixed';
  if (shown && !out) return false;
  if (out && s.clip !== 'auto') {
    const n = s.clip.match(/-?[\d.]+/g);
    if (n && n.length === 4 && (n[1] - n[3] <= 1 || n[2] - n[0] <= 1)) return true;
  }
  if (NO_INSET.test(s.clipPath)) return true;
  if (shown || display === 'contents') return false;
  const r = rectOf(el);
  return r.width <= 1 || r.height <= 1;
}

let clips = new Map(); // element → whether it or something around it cuts it away; of one walk or question
onForget(() => { clips = new Map(); });

// clipped tells whether el is cut away by its own style or by what is around it.
export function clipped(el) {
  const path = [];
  let known = false;
  for (let p = el; p; p = flatParent(p)) {
    const c = clips.get(p);
    if (c !== undefined) { known = c; break; }
    path.push(p);
  }
  while (path.length) {
    const p = path.pop();
    if (!known) {
      const tag = localName(p);
      known = tag !== 'html' && tag !== 'body' && cutAway(p, styleOf(p));
    }
    clips.set(p, known);
  }
  return known;
}

// rendered tells whether el has a box or, with display:contents, shows its
// children, and is not visibility:hidden.
export function rendered(el) {
  if (checkVisibility(el, { visibilityProperty: true })) return true;
  const s = styleOf(el), image = imageOf(el);
  if (image) return rendered(image);
  if (s.display !== 'contents' || s.visibility !== 'visible') return false;
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if (checkVisibility(p)) return true;
    if (styleOf(p).display !== 'contents') return false;
  }
  return true;
}

// unseen tells whether a person could not see el although it is rendered:
// transparent, without size, cut away, or where scrolling does not reach.
export function unseen(el) {
  el = imageOf(el) || el;
  return (!checkVisibility(el, VISIBLE) && transparent(el)) || outOfSight(el);
}

// outOfSight is unseen without transparency.
function outOfSight(el) {
  const out = outOfPlace(el);
  return out === null ? clipped(el) : out;
}

// outOfPlace is outOfSight as far as the box of el tells; null where it is to be
// seen unless it is cut away.
export function outOfPlace(el) {
  const own = rectOf(el), width = own.width, height = own.height;
  if (width >= 1 && height >= 1) return outside(own.left, own.top, width, height, el) || null;
  const r = fullBox(el, own);
  if (r.width < 1 || r.height < 1) return styleOf(el).display !== 'contents';
  return offPage(r, el) || null;
}

// visible tells whether a person could see el, now or after scrolling.
export function visible(el) {
  return rendered(el) && !unseen(el);
}
