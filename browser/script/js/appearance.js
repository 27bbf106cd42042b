// What tells apart the things that can be acted on and have no name: the icons
// of a row, the swatches of a palette, the squares of a board, the shapes of a
// drawing. Their line says what they are drawn as.

import { attr, firstElementChild, has, localName, namespaceURI, queryAll, rectOf, SVG } from './dom.js';
import { isField } from './labels.js';
import { styleOf } from './node-cache.js';
import { isHost } from './role.js';
import { fold, headOf } from './text.js';

const CLASS_MAX = 40; // characters of a class or an id

// addAppearance adds to out, as key, value, key, value: for what has no name its class
// and id; for a swatch (a box without text) and a shape of a drawing its colour, as
// #rrggbb; for a shape also its tag and its size.
export function addAppearance(el, name, clicks, html, out) {
  if (html && (name || localName(el) !== 'button' && isField(el) || isHost(el))) return;
  const drawn = clicks && !html && namespaceURI(el) === SVG && localName(el) !== 'svg';
  if (drawn) out.push('tag', localName(el));
  if (!name) {
    for (const a of ['class', 'id']) {
      const v = has(el, a) ? headOf(fold(attr(el, a)), CLASS_MAX) : '';
      if (v) out.push(a, v);
    }
    const icon = iconOf(el);
    if (icon) out.push('icon', icon);
  }
  const color = drawn ? fillColorOf(styleOf(el)) : clicks && html ? opaque(styleOf(el).backgroundColor) : '';
  if (color) out.push('color', color);
  if (drawn) {
    const r = rectOf(el);
    out.push('size', Math.round(r.width) + 'x' + Math.round(r.height));
  }
}

// iconOf returns what tells the icon in el, which has no name, from others: its class, or the
// drawing that it uses.
function iconOf(el) {
  const all = queryAll(el, '[class],use');
  for (let i = 0; i < all.length && i < 5; i++) {
    const e = all[i];
    if (localName(e) !== 'use' && firstElementChild(e)) continue; // around it
    const v = localName(e) === 'use' ? attr(e, 'href') || attr(e, 'xlink:href') || '' : attr(e, 'class');
    if (v.trim() && v.length < 200) return headOf(fold(v), CLASS_MAX);
  }
  return '';
}

// fillColorOf returns the colour that a shape is filled with or, where it is not, drawn in.
const fillColorOf = (s) => opaque(s.fill) || opaque(s.stroke);

// opaque writes a computed colour as #rrggbb; empty for none and for one that lets
// everything through.
function opaque(color) {
  const n = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(color);
  if (!n || n[4] === '0') return '';
  return '#' + [n[1], n[2], n[3]].map((v) => (+v).toString(16).padStart(2, '0')).join('');
}
