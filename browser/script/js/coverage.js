// Which controls something else covers, so that it takes their clicks.

import { aim, coverOf } from './actionable.js';
import { clientHeight, documentElementOf, isConnected, rectOf, rectsOf, scrollHeight, viewHeight, viewWidth } from './dom.js';
import { flatContains, flatParent } from './flat-tree.js';
import { imageOf } from './image-map.js';
import { styleOf } from './node-cache.js';
import { hitAt, isHit, isOutOfFlowOverlay } from './overlays.js';
import { page } from './page.js';
import { replacementOf } from './stand-in.js';
import { measure, visible } from './visibility.js';

// covers are the elements that cover a control, as far as the last walk from the start and
// those that continue it (o.after) have found them.
let covers = new WeakSet();

// isCover tells whether el was found to cover a control.
export const isCover = (el) => covers.has(el);

// layers are what the walk before has found to lie over parts of the page, to be walked first.
/** @type {Layer[]} */
let layers = [];

/** @typedef {{el: any, cover: any, controls: number}} Layer cover is what to call el; it covers so many controls */

const PART = 3; // controls that a layer covers, for it to be walked first

// Coverage is what one walk has found out about what lies on top.
export class Coverage {
  // fresh: the walk begins at the start of the document.
  constructor(fresh) {
    if (fresh) covers = new WeakSet();
    this.loading = null; // a loading screen over the whole page
    this.tops = []; // what lies on top of the page and has been walked
    /** @type {Map<any, Layer>} */
    this.over = new Map(); // the layers over parts of the page that the walk has found
    this.all = false; // it covers whatever is scrolled into the viewport
    this.width = viewWidth(); // of the viewport: each question costs Blink a look at the layout
    this.height = viewHeight();
    this.counts = { covered: 0, free: 0 }; // of the controls in the viewport, but for those in tops
  }

  // begin takes over what is on top of the page, and returns the layers over parts of it that
  // are to be walked first.
  begin(top) {
    this.all = top.all;
    this.loading = top.loading;
    if (top.loading) covers.add(top.loading);
    layers = layers.filter(({ el }) => isConnected(el) && visible(el) && !top.tops.some((t) => flatContains(t, el)));
    for (const l of layers) covers.add(l.cover);
    return layers.map((l) => l.el);
  }

  // takesClick tells whether something that lies over el takes the click on el. f is its
  // frame in the walk.
  takesClick(el, f) {
    const image = f.tag === 'area' ? imageOf(el) : null;
    if (!this.tops.length) return image ? this.isCovered(image, measure(image)) : this.isCovered(el, f.box());
    el = image || el;
    const r = rectsOf(replacementOf(el) || el)[0] || rectOf(el);
    const x = r.left + r.width / 2, y = r.top + r.height / 2;
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return this.all && this.counts.covered > 0 && this.counts.free === 0;
    const hit = hitAt(x, y);
    const covered = !!hit && !flatContains(el, hit) && this.tops.some((t) => !flatContains(t, el) && flatContains(t, hit));
    if (!this.tops.some((t) => flatContains(t, el))) this.counts[covered ? 'covered' : 'free']++;
    return covered || this.isCovered(el, measure(el));
  }

  // layersChanged tells whether other layers are to be walked first than were, and keeps them
  // for the next walk. Of a walk that was cut nobody knows what else they cover.
  layersChanged(cut) {
    const found = layers.filter(({ el }) => cut && isHit(el) && !this.over.has(el));
    for (const l of this.over.values()) if (l.controls >= PART) found.push(l);
    const same = found.length === layers.length && found.every((l) => layers.some((k) => k.el === l.el));
    layers = found;
    return !same;
  }

  // isCovered reports whether another element, which is not on top of the whole page, receives
  // the clicks meant for el wherever it is clicked: a partial overlay, a loading mask. r is its box.
  isCovered(el, r) {
    const x = r.left + r.width / 2, y = r.top + r.height / 2;
    if (r.width < 2 || r.height < 2 || x < 0 || y < 0 || x >= this.width || y >= this.height) return false;
    const at = hitAt(x, y);
    if (!at || flatContains(el, at)) return false;
    const hit = imageOf(at) || at;
    if (flatContains(el, hit) || flatContains(hit, el) || !coversFor(el, hit, x, y)) return false;
    const cover = coverOf(hit), layer = layerOf(hit, el);
    covers.add(cover);
    if (layer) this.over.set(layer, { el: layer, cover, controls: (this.over.get(layer)?.controls || 0) + 1 });
    return true;
  }
}

// layerOf returns the outermost element around hit that is lifted over el, which it is not
// around; null where none is.
function layerOf(hit, el) {
  let layer = null;
  for (let p = hit; p && !flatContains(p, el); p = flatParent(p)) if (isOutOfFlowOverlay(p)) layer = p;
  return layer;
}

// coversFor tells whether hit, which is at the point in the place of el, keeps clicks from
// el: at every point of it, and however it is scrolled.
function coversFor(el, hit, x, y) {
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
