// Whether a person could see an element, and where.

import {
  bodyOf, checkVisibility, clientHeight, clientWidth, documentElementOf, ELEMENT, firstChild, localName, nodeType, rectOf, scrolledX, scrolledY, scrollerOf,
  scrollHeight, scrollLeft, scrollTop, scrollWidth, TEXT, textData,
} from './dom.js';
import { flatChildren, flatParent } from './flat-tree.js';
import { imageOf } from './image-map.js';
import { styleOf } from './node-cache.js';
import { onForget, page } from './page.js';
import { isLegible, DRAWN_TAGS, sightOf } from './sight.js';
import { blank } from './text.js';

// measure returns the box of el in viewport pixels, as numbers: to read one of a DOMRect
// costs as much as to ask an element for its tag.
/** @param {Element} el @returns {Box} */
export function measure(el) {
  const r = rectOf(el);
  return { left: r.left, top: r.top, width: r.width, height: r.height };
}
/** @typedef {{left: number, top: number, width: number, height: number}} Box */

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
  const width = scrollWidth(s), left = width > clientWidth(s) && styleOf(s).direction === 'rtl' ? clientWidth(s) - width : 0;
  const right = left + (heldAcross() ? Math.max(clientWidth(s), scrolledX() + clientWidth(s)) : width);
  return { x: scrolledX(), y: scrolledY(), left, right, bottom: scrollHeight(s) };
}

// heldAcross tells whether nobody can scroll the page to the right (CSS Overflow, 3.3).
function heldAcross() {
  const html = styleOf(documentElementOf(page)).overflowX, body = bodyOf(page);
  return /hidden|clip/.test(html === 'visible' && body ? styleOf(body).overflowX : html);
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

// outside is offPage by the numbers of the box.
export function outside(x, y, width, height, el) {
  if (!view) view = extent();
  if (!view) return false;
  const left = x + view.x, top = y + view.y;
  if (left + width <= view.left || top + height <= 0) return !scrolled(el);
  return (left >= view.right || top >= view.bottom) && !inScroller(el) && !scrolled(el);
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
  return out === null ? sightOf(el).gone : out;
}

// outOfPlace is outOfSight as far as the box of el tells; null where it is to be
// seen unless it is cut away.
export function outOfPlace(el, own = measure(el)) {
  if (own.width >= 1 && own.height >= 1) return outside(own.left, own.top, own.width, own.height, el) || null;
  const r = fullBox(el, own);
  if (r.width < 1 || r.height < 1) return styleOf(el).display !== 'contents';
  return offPage(r, el) || null;
}

// visible tells whether a person could see el, now or after scrolling.
export function visible(el) {
  return rendered(el) && !unseen(el);
}

// textSeen tells whether a person could see the text n right in el, whose style is s.
export function textSeen(el, n, s, sight) {
  return isLegible(el, s, sight) && textShows(el, n, s, sight);
}

// textShows tells whether the text n right in el lies where a person could see it.
export function textShows(el, n, s, sight, box = measure(el)) {
  const { left, top, width, height } = box, plain = s.textIndent === '0px';
  if (plain && width >= 2 && height >= 2 && !outside(left, top, width, height, el) && left + /** @type {any} */ (view).x >= 0) return true;
  const range = new Range(); // the box says nothing: ask for the text's own
  range.selectNodeContents(n);
  const t = range.getBoundingClientRect();
  if (t.width < 2 || t.height < 2 || offPage(t, el)) return false;
  if (plain || sight === null || sight.clip === null) return true;
  const c = rectOf(sight.clip);
  return t.left < c.right - 1 && t.right > c.left + 1;
}

// saysUnseen tells whether el says something by its text and pictures, and a person could
// see none of it.
export function saysUnseen(el) {
  let says = false, left = 50;
  const seen = (e) => {
    for (const n of flatChildren(e)) {
      if (nodeType(n) === TEXT) {
        if (blank(textData(n))) continue;
        if (rendered(e) && showsText(e, n)) return true;
        says = true;
      } else if (nodeType(n) === ELEMENT) {
        if (left-- <= 0 || DRAWN_TAGS.has(localName(n)) && visible(n) || seen(n)) return true;
      }
    }
    return false;
  };
  return !seen(el) && says && styleOf(el).backgroundImage === 'none';
}

let showing = new Map(); // element → whether the text right in it is seen; of one question
onForget(() => { showing = new Map(); });

// showsText is textSeen for who has not come from what is around el.
export function showsText(el, n) {
  let seen = showing.get(el);
  if (seen === undefined) {
    const s = styleOf(el);
    showing.set(el, seen = s.contentVisibility !== 'hidden' && textSeen(el, n, s, sightOf(el)));
  }
  return seen;
}
