// What is painted of an element and of its text, by its own style and those around it.
//
// A person cannot see text that is cut away, all but transparent, or of the colour of
// what it stands on; a page that hides it so may want a model to read it all the same.
// Whether it is cut off by a scroller or covered by something else is not asked: a
// scroller can be moved, and what covers comes first in a snapshot.

import { allOf, attr, byId, contains, documentElementOf, firstElementChild, localName, namespaceURI, rectOf, SVG } from './dom.js';
import { flatParent } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { onForget, page } from './page.js';
import { wordSet } from './word-set.js';

export const FAINT = 0.05; // what is painted with less of its colour is not seen
const ALIKE = 8; // of 255, by which two colours may differ in each part and be one to the eye

/** @typedef {{color: string, under: Ground | null, el: Element, rgb: number[] | null | undefined}} Ground */
// Sight is how what is in an element is painted. gone: not at all; ground: what it stands
// on, null for the canvas; filter: what changes its colours and not those of the ground;
// clip: the nearest element that hides what overflows it; ink: a text colour that was told from the ground.
/** @typedef {{gone: boolean, opacity: number, ground: Ground | null, filter: string, clip: Element | null, ink: string}} Sight */
/** @type {Sight} */ export const PLAIN = { gone: false, opacity: 1, ground: null, filter: '', clip: null, ink: '' };
/** @type {Sight} */ const GONE = { gone: true, opacity: 0, ground: null, filter: '', clip: null, ink: '' };

// sightIn returns the sight of el, whose style is s, in something with the sight up. f is its frame in a walk, which
// has some of its style and its box, null for none.
/** @param {{opacity: () => string, box: () => {width: number, height: number}} | null} f */
export function sightIn(up, el, s, display, tag, f = null) {
  if (up.gone) return up;
  const whole = tag === 'html' || tag === 'body', inline = display === 'inline';
  const overflow = inline && tag !== 'svg' ? 'visible' : s.overflowX; // what is inline hides nothing
  if (!whole) {
    const path = s.clipPath;
    if (path !== 'none' && emptyClip(el, path) || !inline && (clippedTo(s) || overflow !== 'visible' && display !== 'contents' && isThin(f === null ? rectOf(el) : f.box()))) return GONE;
  }
  if (unpainted(el, tag, overflow)) return GONE;
  let opacity = up.opacity;
  const own = f === null ? s.opacity : f.opacity(), filter = s.filter, color = s.backgroundColor;
  if (own !== '1') opacity *= parseFloat(own);
  if (filter !== 'none') opacity *= filterOpacity(filter);
  if (opacity < FAINT) return GONE;
  const hides = (overflow === 'hidden' || overflow === 'clip') && !whole && !inline;
  const recolors = filter !== 'none' && RECOLORS.test(filter);
  if (opacity === up.opacity && color === NONE && !hides && !recolors) return up;
  if (color !== NONE) return { gone: false, opacity, ground: { color, under: up.ground, el, rgb: undefined }, filter: '', clip: hides ? el : up.clip, ink: '' };
  return { gone: false, opacity, ground: up.ground, filter: recolors ? (filter + ' ' + up.filter).trim() : up.filter, clip: hides ? el : up.clip, ink: '' };
}

const NONE = 'rgba(0, 0, 0, 0)';
const DEFINITIONS = wordSet('defs symbol clipPath mask marker pattern');

// unpainted tells whether el is a part of a drawing that is only referred to, or a drawing
// without a size.
function unpainted(el, tag, overflow) {
  if (tag === 'svg') { const r = rectOf(el); return overflow !== 'visible' && (r.width < 1 || r.height < 1); }
  return DEFINITIONS.has(tag) && namespaceURI(el) === SVG;
}

const RECOLORS = /^(?!.*url\().*(invert|brightness|contrast|grayscale|saturate|sepia|hue-rotate)\(/;

// filterOpacity returns what the functions opacity() of a filter leave.
function filterOpacity(filter) {
  let left = 1;
  for (const [, n, percent] of filter.matchAll(/opacity\(([\d.e+-]+)(%?)\)/g)) left *= Math.min(1, +n / (percent ? 100 : 1));
  return left;
}

let sights = new Map(); // element → its sight; of one walk or question
/** @type {number[][] | null} */ let painted = null; // of one walk or question
/** @type {number[] | null | undefined} */ let blank; // the colour of the canvas; of one walk or question
onForget(() => {
  sights = new Map();
  painted = null;
  painters = [];
  blank = undefined;
  PLAIN.ink = '';
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

// isClippedOut tells whether el itself, by its own style, shows nothing of what it contains:
// the ways in which text is kept for screen readers only. All of them take it out of the
// flow or hide its overflow.
export function isClippedOut(el, s, display) {
  const shown = s.overflowX === 'visible';
  if (display === 'inline') return !shown && s.clipPath !== 'none' && emptyClip(el, s.clipPath); // never out of the flow
  if (shown && !isOutOfFlow(s)) return false;
  return clippedTo(s) || s.clipPath !== 'none' && emptyClip(el, s.clipPath) || !shown && display !== 'contents' && isThin(rectOf(el));
}

const isThin = (r) => r.width <= 1 || r.height <= 1;

function isOutOfFlow(s) {
  const position = s.position;
  return position === 'absolute' || position === 'fixed';
}

// clippedTo tells whether the property clip, which holds out of the flow only, leaves nothing.
function clippedTo(s) {
  const clip = s.clip;
  if (clip === 'auto' || !isOutOfFlow(s)) return false;
  const n = clip.match(/-?[\d.]+/g);
  return n !== null && n.length === 4 && (n[1] - n[3] <= 1 || n[2] - n[0] <= 1);
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
  // A length, or a sum as calc() computes to.
  const length = (v, of) => {
    const sum = /^calc\((.*)\)$/.exec(v);
    const n = (sum ? sum[1] : v).replace(/ ([+-]) /g, ' $1').split(' ').map((part) => /^([+-]?[\d.e+-]+)(px|%)?$/.exec(part));
    return n.reduce((all, one) => all + (one ? +one[1] * (one[2] === '%' ? of / 100 : 1) : NaN), 0);
  };
  const words = (v) => v.trim().match(/calc\([^)]*\)|[^\s]+/g) || [];
  switch (kind) {
    case 'inset': {
      const v = words(args.split(' round ')[0]), at = (i, j, k) => v[i] ?? v[j] ?? v[k];
      const box = [length(at(3, 1, 0), w), length(v[0], h), w - length(at(1, 0, 0), w), h - length(at(2, 0, 0), h)];
      return box.some(isNaN) ? null : box;
    }
    case 'circle': case 'ellipse': {
      const [radii, at = '50% 50%'] = args.split(/(?:^| )at /), size = words(radii), [x, y] = words(at);
      const cx = length(x, w), cy = length(y, h), circle = kind === 'circle', both = Math.hypot(w, h) / Math.SQRT2;
      const near = [Math.min(Math.abs(cx), Math.abs(w - cx)), Math.min(Math.abs(cy), Math.abs(h - cy))];
      const radius = (v = 'closest-side', i, of) => v === 'closest-side' ? circle ? Math.min(...near) : near[i] : length(v, of);
      const rx = radius(size[0], 0, circle ? both : w), ry = circle ? rx : radius(size[1] || size[0], 1, h);
      return isNaN(cx + cy + rx + ry) ? null : [cx - rx, cy - ry, cx + rx, cy + ry];
    }
    case 'polygon':
      return polygonBox(args.replace(/^(evenodd|nonzero),/, '').split(',').map((p) => { const [x, y] = words(p); return [length(x, w), length(y, h)]; }));
    case 'path': {
      const d = args.slice(args.indexOf('"')), n = (d.match(/-?[\d.]+/g) || []).map(Number);
      if (/[a-z]/.test(d.replace(/z/g, ''))) return null;
      if (n.length < 6) return [0, 0, 0, 0]; // fewer than three points
      return /[^MLZz\s\d.,"-]/.test(d) || (d.match(/M/g) || []).length > 1 ? null : polygonBox(n.flatMap((v, i) => i % 2 ? [[n[i - 1], v]] : []));
    }
  }
  return null;
}

// polygonBox is the box around points, without size where they enclose nothing, null where
// one is not known.
function polygonBox(points) {
  if (points.some(([x, y]) => isNaN(x + y))) return null;
  const area = points.reduce((sum, [x, y], i) => { const [u, v] = points[(i + 1) % points.length]; return sum + x * v - u * y; }, 0);
  return Math.abs(area) < 8 ? [0, 0, 0, 0] : around(points);
}

const around = (points) => [
  Math.min(...points.map((p) => p[0])), Math.min(...points.map((p) => p[1])), Math.max(...points.map((p) => p[0])), Math.max(...points.map((p) => p[1])),
];

// ---- ink

const colors = new Map(); // as computed style writes them → [red, green, blue, alpha], of which those that are not known are NaN
const MAX_COLORS = 500;
const COLORS = /(?:rgba?|color|lab|lch|oklab|oklch)\([^()]*\)/g;

// colorOf reads a computed colour: Chromium itself says what those of other spaces are.
function colorOf(text) {
  let c = colors.get(text);
  if (c === undefined) {
    const n = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.e-]+))?\)$/.exec(text);
    const alpha = n ? n[4] : (/\/ ([\d.e-]+)\)$/.exec(text) || [])[1];
    c = [...(n ? [+n[1], +n[2], +n[3]] : paint([text.replace(/ \/ [^)]*/, '')])), alpha === undefined ? 1 : +alpha];
    if (colors.size >= MAX_COLORS) colors.clear();
    colors.set(text, c);
  }
  return c;
}

/** @type {OffscreenCanvasRenderingContext2D | null | undefined} */ let pixel;

// paint returns the colour [red, green, blue] of the colours over one another, each opaque:
// the last through the filter, and with the operation of mix-blend-mode. NaN: not known.
function paint(list, filter = 'none', blend = 'normal') {
  if (pixel === undefined) pixel = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const on = pixel;
  if (!on) return [NaN, NaN, NaN];
  on.clearRect(0, 0, 1, 1);
  list.forEach((c, i) => {
    const last = i === list.length - 1;
    on.globalCompositeOperation = /** @type {any} */ (last && blend !== 'normal' ? blend : 'source-over');
    on.filter = last ? filter : 'none';
    on.fillStyle = typeof c === 'string' ? c : `rgb(${c[0]},${c[1]},${c[2]})`;
    on.fillRect(0, 0, 1, 1);
  });
  return [...on.getImageData(0, 0, 1, 1).data.slice(0, 3)];
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
  if (ground === null) return blank === undefined ? blank = canvas() : blank;
  if (ground.rgb === undefined) {
    const [r, g, b, a] = colorOf(ground.color), under = a < 1 ? rgbOf(ground.under) : WHITE;
    ground.rgb = under === null || isNaN(r) ? null : [r, g, b].map((v, i) => v * a + under[i] * (1 - a));
  }
  return ground.rgb;
}

const GAUGES = wordSet('progress meter'); // whose own text stands for them where they are not known

// isLegible tells whether text of the style s, right in el, is painted so that it can be read.
export function isLegible(el, s, sight, tag = localName(el)) {
  if (sight.gone || s.webkitTextSecurity !== 'none' || GAUGES.has(tag)) return false;
  const size = parseFloat(s.fontSize), spacing = s.letterSpacing, fill = s.webkitTextFillColor;
  if (size < 2 || spacing !== 'normal' && parseFloat(spacing) < -size / 2) return false;
  if (fill === sight.ink) return true;
  let ink = colorOf(fill);
  const clipped = ink[3] < FAINT && s.backgroundClip.includes('text');
  if (ink[3] * sight.opacity < FAINT && !clipped) return false;
  const ground = sight.ground !== null && sight.ground.rgb !== undefined ? sight.ground.rgb : rgbOf(sight.ground);
  if (clipped) return true;
  if (ground !== null && sight.filter !== '') ink = [...paint([ink], sight.filter), ink[3]];
  if (ground !== null && alike(ink, ground)) return outlined(s, ground) || onPicture(el, sight.ground, ink, ground);
  sight.ink = fill;
  return true;
}

// mayBeLegible is isLegible as far as it is asked in every walk, of what has been isLegible before.
export function mayBeLegible(s) {
  const fill = s.webkitTextFillColor;
  if (fill.endsWith(', 0)') && fill.startsWith('rgba') && !s.backgroundClip.includes('text')) return false;
  return parseFloat(s.fontSize) >= 2;
}

// outlined tells whether a shadow or a stroke sets text apart from the ground.
function outlined(s, ground) {
  const other = (text) => { const c = colorOf(text); return c[3] >= FAINT && !alike(c, ground); };
  if (s.webkitTextStrokeWidth !== '0px' && other(s.webkitTextStrokeColor)) return true;
  return s.textShadow !== 'none' && (s.textShadow.match(COLORS) || []).some(other);
}

export const DRAWN_TAGS = wordSet('img video canvas svg iframe frame object embed picture');

// apart tells whether a background of that colour and image sets ink apart.
const apart = (color, image, ink) => color !== NONE && !alike(colorOf(color), ink) && colorOf(color)[3] >= FAINT || image !== 'none' && pictured(image, ink);

// pictured tells whether an image may have other colours than ink: gradients say theirs.
function pictured(image, ink) {
  const all = image.match(COLORS);
  return all === null || /url\(|image-set\(|element\(/.test(image) || all.some((c) => colorOf(c)[3] >= FAINT && !alike(colorOf(c), ink));
}

// onPicture tells whether something else than the ground may lie behind the text in el: a
// background image, what a style sheet puts before or after something around it, or an
// element that lies there. What has the colour of the text sets nothing apart.
function onPicture(el, ground, ink, rgb) {
  for (let p = el; p; p = flatParent(p)) {
    const s = styleOf(p);
    if (s.backgroundImage !== 'none' && pictured(s.backgroundImage, ink)) return true;
    if (s.mixBlendMode !== 'normal' && !alike(paint([rgb, ink], 'none', s.mixBlendMode), rgb)) return true;
    if (s.backdropFilter !== 'none' && (s.backdropFilter.includes('url(') || !alike(paint([rgb], s.backdropFilter), ink))) return true;
    for (const which of ['::before', '::after']) {
      const g = styleOf(p, which);
      if (g.content !== 'none' && g.content !== 'normal' && apart(g.backgroundColor, g.backgroundImage, ink)) return true;
    }
    if (ground !== null && p === ground.el) break;
  }
  const r = rectOf(el);
  return paintedBoxes().some(([left, top, right, bottom, i]) => left < r.right && right > r.left && top < r.bottom && bottom > r.top && !family(el, i) && setsApart(painters[i], ink));
}

const setsApart = (el, ink) => DRAWN_TAGS.has(localName(el)) || apart(styleOf(el).backgroundColor, styleOf(el).backgroundImage, ink);

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
