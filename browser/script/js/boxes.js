// Where elements are seen, for a picture of the page.

import { acceptsInput, boxesOf, coverOf, elementUnder, replacementsOf } from './actionable.js';
import { bodyOf, localName, rectOf, scrollerOf } from './dom.js';
import { flatParent } from './flat-tree.js';
import { imageOf } from './image-map.js';
import { styleOf } from './node-cache.js';
import { idOf, node } from './node-ids.js';
import { forget, page } from './page.js';
import { record } from './refs.js';
import { FRAMES } from './role.js';
import { replacementOf } from './stand-in.js';
import { boxOf, visible } from './visibility.js';

// common returns what two boxes [left, top, right, bottom] share, null for nothing.
const common = (a, b) => {
  const c = [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])];
  return c[2] - c[0] >= 1 && c[3] - c[1] >= 1 ? c : null;
};
const edges = (r) => [r.left, r.top, r.right, r.bottom];

// inSight returns the part of a box of el that no scroller around it cuts away.
const inSight = (el, box) => {
  for (let p = el; box && p; p = flatParent(p)) {
    const s = styleOf(p);
    if (p !== el && p !== scrollerOf(page) && p !== bodyOf(page) && (s.overflowX !== 'visible' || s.overflowY !== 'visible')) box = common(box, edges(rectOf(p)));
    if (s.position === 'fixed') break;
  }
  return box;
};

// uncovered reports whether el, or what stands for it, is hit at some point of a
// box that is in the viewport.
const uncovered = (el, box) => {
  const at = common(box, [0, 0, innerWidth, innerHeight]);
  if (!at || replacementsOf(el).length || styleOf(el).pointerEvents === 'none') return true;
  const w = at[2] - at[0], h = at[3] - at[1];
  return [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5], [0.5, 0.1], [0.5, 0.9], [0.1, 0.1], [0.9, 0.9]]
    .some(([x, y]) => acceptsInput(elementUnder(at[0] + w * x, at[1] + h * y, el), el));
};

// boxes answers, for each node, its box [left, top, width, height] in the
// viewport of this frame, or that of the label or twin which a person sees in
// its place; null for what is not seen. view: only what is in the viewport.
/** @type {import('./functions.js').Functions['boxes']} */
export const boxes = ({ nodes: ids, view: only }) => {
  forget();
  return ids.map((id) => {
    const el = node(id);
    if (!el) return null;
    const shown = visible(el) ? el : replacementOf(el);
    let box = shown && inSight(shown, edges(imageOf(shown) ? boxesOf(shown)[0] : boxOf(shown)));
    if (box && only) box = common(box, [0, 0, innerWidth, innerHeight]);
    if (!box || !uncovered(el, box)) return null;
    return [box[0], box[1], box[2] - box[0], box[3] - box[1]];
  });
};

// frameBox answers where the content of a frame lies in the viewport of the
// document that holds it, [left, top, width, height], and how it is scaled.
/** @type {import('./functions.js').Functions['frameBox']} */
export const frameBox = (id) => {
  const el = node(id);
  if (!el) return null;
  const b = rectOf(el), s = styleOf(el);
  const sx = el.offsetWidth ? b.width / el.offsetWidth : 1, sy = el.offsetHeight ? b.height / el.offsetHeight : 1;
  const left = b.left + (el.clientLeft + parseFloat(s.paddingLeft)) * sx, top = b.top + (el.clientTop + parseFloat(s.paddingTop)) * sy;
  const inner = inSight(el, [left, top, left + el.clientWidth * sx, top + el.clientHeight * sy]);
  return inner && { x: left, y: top, sx, sy, inner };
};

// hitAtPoint answers what is hit at a point of this frame's viewport: the nearest thing
// around it that has a role or a name; for a frame also where its content lies.
/** @type {import('./functions.js').Functions['hitAtPoint']} */
export const hitAtPoint = ({ x, y }) => {
  if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return { outside: true, width: innerWidth, height: innerHeight };
  forget();
  const hit = elementUnder(x, y, null);
  if (!hit) return {};
  const tag = localName(hit);
  if (FRAMES.has(tag)) return { hit: record(hit), frame: frameBox(idOf(hit)) };
  return { hit: record(coverOf(hit)) };
};
