// The text in an element, as far as it is needed.

import { ELEMENT, firstChild, localName, nextSibling, nodeType, TEXT, textData } from './dom.js';
import { flatList, rootOf } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { blank, LOOSE } from './text.js';

// writtenText is someText with a space only where a line ends: what is written in el, as
// it stands there.
export const writtenText = (el, max) => someText(el, max, true);

// someText returns the text in el, at least max characters of it if there are so
// many, without looking at more nodes than that needs. Styles are not asked, unless
// the text is to be tight.
export function someText(el, max, tight = false) {
  const only = firstChild(el);
  const tag = localName(el);
  if (only && !nextSibling(only) && nodeType(only) === TEXT && !rootOf(el, tag)) return textData(only).slice(0, 2 * max + 200);
  const so = { out: '', max, left: 400, tight };
  const list = flatList(el, tag);
  moreText(list, list ? list[0] : only, so);
  return so.out;
}

// moreText adds the text from n on to so.out, with a space between nodes; tight, with
// one between lines. list begins with n, and is null if n and its siblings are read
// one by one.
function moreText(list, n, so) {
  let first = true;
  for (let i = 0; n && so.out.length < so.max && so.left > 0; n = list ? list[++i] : nextSibling(n)) {
    so.left--;
    const type = nodeType(n);
    const apart = !so.tight || type === ELEMENT && (localName(n) === 'br' || !/^(inline|contents)/.test(styleOf(n).display));
    if (!first && apart) so.out += ' ';
    first = false;
    if (type === TEXT) {
      const data = textData(n);
      if (blank(data)) {
        if (so.tight && data) so.out += ' ';
        continue;
      }
      addText(data, so);
    } else if (type === ELEMENT) {
      const tag = localName(n);
      if (WORDLESS.has(tag)) continue;
      const inner = flatList(n, tag), start = inner ? inner[0] : firstChild(n);
      if (!start) continue;
      if (apart) so.out += ' ';
      moreText(inner, start, so);
      if (so.tight && apart) so.out += ' ';
    }
  }
}

function addText(data, so) {
  const part = data.slice(0, so.max + 50);
  so.out += LOOSE.test(part) ? part.replace(/\s+/g, ' ') : part;
}

// cachedText is someText, but for white space, of an element that a walk reads anyway: what
// it has read, and what this reads, is not asked for again.
export function cachedText(k, max) {
  const so = { out: '', max, left: 400 };
  moreCached(k, so);
  return so.out;
}

function moreCached(k, so) {
  const list = flatList(k.el, k.tag, k.shadow());
  if (list) {
    moreText(list, list[0], so);
    return;
  }
  for (let i = 0, n; so.out.length < so.max && so.left > 0 && (n = k.child(i)) !== null; i++) {
    so.left--;
    if (i > 0) so.out += ' ';
    if (n.el !== null) {
      if (!WORDLESS.has(n.tag)) moreCached(n, so);
    } else if (!blank(n.text())) addText(n.text(), so);
  }
}

const WORDLESS = new Set(['script', 'style', 'noscript', 'template', 'select', 'textarea', 'datalist', 'svg', 'iframe', 'video', 'audio', 'canvas']);
