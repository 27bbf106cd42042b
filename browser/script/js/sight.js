// What is painted of an element and of its text, by its own style and those around it.
//
// A person cannot see text that is cut away, all but transparent, or of the colour of
// what it stands on; a page that hides it so may want a model to read it all the same.
// Whether it is cut off by a scroller or covered by something else is not asked: a
// scroller can be moved, and what covers comes first in a snapshot.

import { allOf, attr, byId, contains, documentElementOf, firstElementChild, localName, rectOf } from './dom.js';
import { flatParent } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { onForget, page } from './page.js';
import { wordSet } from './word-set.js';

export const FAINT = 0.05; // what is painted with less of its colour is not seen
const ALIKE = 8; // of 255, by which two colours may differ in each part and be one to the eye

/** @typedef {{color: string, under: Ground | null, el: Element, rgb: number[] | null | undefined}} Ground */
// Sight is how what is in an element is painted. gone: not at all; ground: what it stands
// on, null for the canvas; clip: the nearest element that hides what overflows it.
/** @typedef {{gone: boolean, opacity: number, ground: Ground | null, clip: Element | null}} Sight */
/** @type {Sight} */ export const PLAIN = { gone: false, opacity: 1, ground: null, clip: null };
/** @type {Sight} */ const GONE = { gone: true, opacity: 0, ground: null, clip: null };

// sightIn returns the sight of el, whose style is s, in something with the sight up.
export function sightIn(up, el, s, display, tag) {
  if (up.gone) return up;
  const whole = tag === 'html' || tag === 'body', overflow = s.overflowX;
  if (!whole && (s.clipPath !== 'none' && emptyClip(el, s.clipPath) || cutAway(el, s, display))) return GONE;
  let opacity = up.opacity;
  const own = s.opacity, filter = s.filter, color = s.backgroundColor;
  if (own !== '1') opacity *= parseFloat(own);
  if (filter !== 'none') opacity *= filterOpacity(filter);
  if (opacity < FAINT) return GONE;
  const hides = (overflow === 'hidden' || overflow === 'clip') && !whole && display !== 'inline';
  if (opacity === up.opacity && color === NONE && !hides) return up;
  return { gone: false, opacity, ground: color === NONE ? up.ground : { color, under: up.ground, el, rgb: undefined }, clip: hides ? el : up.clip };
}

const NONE = 'rgba(0, 0, 0, 0)';

// filterOpacity returns what the functions opacity() of a filter leave.
function filterOpacity(filter) {
  let left = 1;
  for (const [, n, percent] of filter.matchAll(/opacity\(([\d.e+-]+)(%?)\)/g)) left *= Math.min(1, +n / (percent ? 100 : 1));
  return left;
}

let sights = new Map(); // element → its sight; of one walk or question
/** @type {number[][] | null} */ let painted = null; // of one walk or question
onForget(() => {
  sights = new Map();
  painted = null;
});

// sightOf returns the sight of el for who has not come from what is around it.
export function sightOf(el) {
  const path = [];
  let sight = PLAIN;
  for (let p = el; p; p = flatParent(p)) {
    const known = sights.get(p);
    if (known !== undefined) { sight = known; break; }
    path.push(p);
  }
  while (path.length) {
    const p = path.pop(), s = styleOf(p);
    sights.set(p, sight = sightIn(sight, p, s, s.display, localName(p)));
  }
  return sight;
}

// cutAway tells whether el itself, by its own style, shows nothing of what it contains:
// the ways in which text is kept for screen readers only. All of them take it out of the
// flow or hide its overflow.
export function cutAway(el, s, display) {
  const shown = s.overflowX === 'visible';
  if (display === 'inline') return !shown && s.clipPath !== 'none' && emptyClip(el, s.clipPath); // never out of the flow
  const position = s.position, out = position === 'absolute' || position === 'fixed';
  if (shown && !out) return false;
  if (out && s.clip !== 'auto') {
    const n = s.clip.match(/-?[\d.]+/g);
    if (n && n.length === 4 && (n[1] - n[3] <= 1 || n[2] - n[0] <= 1)) return true;
  }
  if (s.clipPath !== 'none' && emptyClip(el, s.clipPath)) return true;
  if (shown || display === 'contents') return false;
  const r = rectOf(el);
  return r.width <= 1 || r.height <= 1;
}

// emptyClip tells whether a clip path leaves nothing of the box of el.
function emptyClip(el, path) {
  const r = rectOf(el), w = r.width, h = r.height;
  const reference = /^url\("#(.*)"\)/.exec(path);
  if (reference) {
    const clip = byId(page, reference[1]);
    if (!clip || localName(clip) !== 'clipPath') return false;
    const first = firstElementChild(clip);
    if (!first) return true;
    if (attr(clip, 'clipPathUnits') === 'objectBoundingBox') return false;
    const b = /** @type {any} */ (first).getBBox ? /** @type {any} */ (first).getBBox() : null;
    return b !== null && (b.width < 1 || b.height < 1);
  }
  const box = shapeBox(path, w, h);
  if (box === null) return false;
  return Math.min(box[2], w) - Math.max(box[0], 0) < 2 || Math.min(box[3], h) - Math.max(box[1], 0) < 2;
}

// shapeBox returns the box [left, top, right, bottom] around a basic shape (CSS Shapes,
// 3.1) in a box of w by h, null where it is another.
function shapeBox(path, w, h) {
  const shape = /^([a-z]+)\((.*)\)/.exec(path);
  if (!shape) return null;
  const [, kind, args] = shape;
  const length = (v, of) => {
    const n = /^(-?[\d.e+-]+)(px|%)?$/.exec(v);
    return n ? +n[1] * (n[2] === '%' ? of / 100 : 1) : NaN;
  };
  switch (kind) {
    case 'inset': {
      const v = args.split(' round ')[0].trim().split(/\s+/), at = (i, j, k) => v[i] ?? v[j] ?? v[k];
      const box = [length(at(3, 1, 0), w), length(v[0], h), w - length(at(1, 0, 0), w), h - length(at(2, 0, 0), h)];
      return box.some(isNaN) ? null : box;
    }
    case 'circle': case 'ellipse': {
      const [radii, at = '50% 50%'] = args.split(/(?:^| )at /), size = radii.trim().split(/\s+/), [x, y] = at.split(/\s+/);
      const both = kind === 'circle' ? Math.hypot(w, h) / Math.SQRT2 : 0;
      const cx = length(x, w), cy = length(y, h), rx = length(size[0], both || w), ry = kind === 'circle' ? rx : length(size[1] || size[0], h);
      return isNaN(cx + cy + rx + ry) ? null : [cx - rx, cy - ry, cx + rx, cy + ry];
    }
    case 'polygon': {
      const points = args.replace(/^(evenodd|nonzero),/, '').split(',').map((p) => { const [x, y] = p.trim().split(/\s+/); return [length(x, w), length(y, h)]; });
      if (points.some(([x, y]) => isNaN(x + y))) return null;
      const area = points.reduce((sum, [x, y], i) => { const [u, v] = points[(i + 1) % points.length]; return sum + x * v - u * y; }, 0);
      return Math.abs(area) < 8 ? [0, 0, 0, 0] : around(points);
    }
    case 'path': {
      const n = (args.match(/-?[\d.]+/g) || []).map(Number);
      return /[a-z]/.test(args.slice(args.indexOf('"')).replace(/z/g, '')) ? null : n.length < 6 ? [0, 0, 0, 0] : null; // fewer than three points
    }
  }
  return null;
}

const around = (points) => [
  Math.min(...points.map((p) => p[0])), Math.min(...points.map((p) => p[1])), Math.max(...points.map((p) => p[0])), Math.max(...points.map((p) => p[1])),
];

// ---- ink

const colors = new Map(); // as computed style writes them → [red, green, blue, alpha], of which those that are not known are NaN
const MAX_COLORS = 500;

// colorOf reads a computed colour. Of those that are not of sRGB only the alpha is read.
function colorOf(text) {
  let c = colors.get(text);
  if (c === undefined) {
    const n = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.e-]+))?\)$/.exec(text);
    const srgb = n ? null : /^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)/.exec(text);
    const alpha = n ? n[4] : (/\/ ([\d.e-]+)\)$/.exec(text) || [])[1];
    c = [...(n ? [+n[1], +n[2], +n[3]] : srgb ? [+srgb[1] * 255, +srgb[2] * 255, +srgb[3] * 255] : [NaN, NaN, NaN]), alpha === undefined ? 1 : +alpha];
    if (colors.size >= MAX_COLORS) colors.clear();
    colors.set(text, c);
  }
  return c;
}

const alike = (a, b) => Math.abs(a[0] - b[0]) <= ALIKE && Math.abs(a[1] - b[1]) <= ALIKE && Math.abs(a[2] - b[2]) <= ALIKE;

const WHITE = [255, 255, 255], DARK = [18, 18, 18]; // Chromium's canvas

// canvas returns the colour of the canvas, null where it is another document's.
function canvas() {
  if (window !== window.top) return null;
  const scheme = styleOf(documentElementOf(page)).colorScheme;
  return scheme === 'normal' || /light/.test(scheme) && !matchMedia('(prefers-color-scheme: dark)').matches ? WHITE : /dark/.test(scheme) ? DARK : WHITE;
}

// rgbOf returns the colour of a ground, blended with what is under it; null where nobody
// knows it.
function rgbOf(ground) {
  if (ground === null) return canvas();
  if (ground.rgb === undefined) {
    const [r, g, b, a] = colorOf(ground.color), under = a < 1 ? rgbOf(ground.under) : WHITE;
    ground.rgb = under === null || isNaN(r) ? null : [r, g, b].map((v, i) => v * a + under[i] * (1 - a));
  }
  return ground.rgb;
}

// inked tells whether text of the style s, right in el, is painted so that it can be read.
export function inked(el, s, sight) {
  if (sight.gone || s.webkitTextSecurity !== 'none') return false;
  const ink = colorOf(s.webkitTextFillColor);
  if (ink[3] * sight.opacity < FAINT && !(ink[3] < FAINT && s.backgroundClip.includes('text')) || parseFloat(s.fontSize) < 2) return false;
  const ground = sight.ground !== null && sight.ground.rgb !== undefined ? sight.ground.rgb : rgbOf(sight.ground);
  return ground === null || !alike(ink, ground) || outlined(s, ground) || onPicture(el, sight.ground);
}

// drawn is inked as far as it is asked in every walk, of what has been inked before.
export function drawn(s) {
  const fill = s.webkitTextFillColor;
  if (fill.endsWith(', 0)') && fill.startsWith('rgba') && !s.backgroundClip.includes('text')) return false;
  return parseFloat(s.fontSize) >= 2;
}

// outlined tells whether a shadow or a stroke sets text apart from the ground.
function outlined(s, ground) {
  const apart = (text) => { const c = colorOf(text); return c[3] >= FAINT && !alike(c, ground); };
  if (s.webkitTextStrokeWidth !== '0px' && apart(s.webkitTextStrokeColor)) return true;
  return s.textShadow !== 'none' && (s.textShadow.match(/[a-z]+\([^)]*\)/g) || []).some(apart);
}

export const DRAWN_TAGS = wordSet('img video canvas svg iframe frame object embed picture');

// onPicture tells whether something else than the ground may lie behind the text in el: a
// background image, what a style sheet puts before or after something around it, or an
// element that lies there.
function onPicture(el, ground) {
  for (let p = el; p; p = flatParent(p)) {
    const s = styleOf(p);
    if (s.backgroundImage !== 'none' || s.mixBlendMode !== 'normal' || s.backdropFilter !== 'none') return true;
    for (const which of ['::before', '::after']) {
      const g = styleOf(p, which);
      if (g.content !== 'none' && g.content !== 'normal' && (g.backgroundColor !== NONE || g.backgroundImage !== 'none')) return true;
    }
    if (ground !== null && p === ground.el) break;
  }
  const r = rectOf(el);
  return paintedBoxes().some(([left, top, right, bottom, i]) => left < r.right && right > r.left && top < r.bottom && bottom > r.top && !family(el, i));
}

/** @type {Element[]} */ let painters = [];
const family = (el, i) => contains(painters[i], el) || contains(el, painters[i]);
const MAX_LOOKED = 20000; // elements

// paintedBoxes returns the boxes of the elements that paint something behind what they
// contain, each with its number among painters.
function paintedBoxes() {
  if (painted !== null) return painted;
  painted = [];
  painters = [];
  const all = allOf(page, '*');
  for (let i = 0; i < all.length && i < MAX_LOOKED; i++) {
    const el = all[i], tag = localName(el);
    if (tag === 'html' || tag === 'body') continue;
    if (!DRAWN_TAGS.has(tag)) {
      const s = styleOf(el);
      if (s.backgroundColor === NONE && s.backgroundImage === 'none') continue;
    }
    const r = rectOf(el);
    if (r.width < 2 || r.height < 2) continue;
    painted.push([r.left, r.top, r.right, r.bottom, painters.length]);
    painters.push(el);
  }
  return painted;
}
