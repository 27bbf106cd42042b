// What a walk, or one question, has read of the document's nodes.
//
// To ask Blink for a node costs more than all that is then said of it, so each is asked
// for once. Nothing is kept for the next question: that one reads the page anew.

import { bitsOf } from './attributes.js';
import { computedStyle, ELEMENT, firstChild, localName, nextSibling, nodeType, TEXT, textData } from './dom.js';
import { flatParent, isHTML, rootOf } from './flat-tree.js';
import { onForget } from './page.js';
import { blank, fold, withoutGlyphs } from './text.js';

let cache = new WeakMap(); // element → CachedElement
let styles = new WeakMap(); // of other elements
onForget(() => {
  cache = new WeakMap();
  styles = new WeakMap();
});

// OF_HTML is the kind of an element of HTML; other nodes have their nodeType.
const OF_HTML = 100;
const nodeKinds = new Map(); // prototype → kind of the nodes that have it

// nodeKind tells what a node is. All nodes of one interface are of one kind (Web IDL, 3.7), so that Blink need not be
// asked of each.
function nodeKind(n) {
  const proto = Object.getPrototypeOf(n);
  let kind = nodeKinds.get(proto);
  if (kind === undefined) {
    kind = nodeType(n);
    if (kind === ELEMENT && isHTML(n)) kind = OF_HTML;
    nodeKinds.set(proto, kind);
  }
  return kind;
}

const NO_KIDS = [];

// CachedElement is an element.
export class CachedElement {
  constructor(el, up, html = nodeKind(el) === OF_HTML) {
    this.el = el;
    this.up = up; // what it stands in, null for none
    this.tag = localName(el);
    this.html = html;
    this.text = null; // it is not a text node
    this.css = null; // its style
    this.root = undefined; // its shadow root, null for none; undefined until it is asked for
    this.id = 0;
    this.bits = -1; // of its attributes
    this.ident = '';
    this.start = -1; // how many lines the walk had written when it came to it
    this.kids = NO_KIDS; // its children, as far as they have been read: up to last,
    this.last = null;
    this.all = false; // or all
  }

  bitset() {
    if (this.bits < 0) this.bits = bitsOf(this.el);
    return this.bits;
  }

  shadow() {
    if (this.root === undefined) this.root = rootOf(this.el, this.tag);
    return this.root;
  }

  // child returns the element or text that is the child at i, null behind the last one.
  // They are read one by one, so that a million cost only those that are looked at.
  child(i) {
    while (i >= this.kids.length) {
      if (this.all) return null;
      const n = this.last = this.last === null ? firstChild(this.el) : nextSibling(this.last);
      if (n === null) {
        this.all = true;
        return null;
      }
      const kind = nodeKinds.get(Object.getPrototypeOf(n)) || nodeKind(n);
      const kid = kind === OF_HTML || kind === ELEMENT ? cached(n, this, kind === OF_HTML) : kind === TEXT ? pieceOf(n) : null;
      if (kid === null) continue;
      if (this.kids === NO_KIDS) this.kids = [kid]; // mostly the only one, for which push() takes space for 17
      else this.kids.push(kid);
    }
    return this.kids[i];
  }

  // sole returns the text in it where it contains nothing else, otherwise null.
  sole() {
    const first = this.child(0);
    return first !== null && first.text !== null && this.child(1) === null ? first : null;
  }

  // elementless tells whether no element is right in it.
  elementless() {
    for (let i = 0, n; (n = this.child(i)) !== null; i++) if (n.text === null) return false;
    return true;
  }
}

// CachedText is a text.
export class CachedText {
  constructor(node, text, blank) {
    this.node = node;
    this.text = text;
    this.blank = blank; // it is nothing but white space
    this.folded = null;
    this.low = null;
  }

  fold() {
    if (this.folded === null) this.folded = fold(this.text);
    return this.folded;
  }

  lower() {
    if (this.low === null) this.low = withoutGlyphs(this.fold()).toLowerCase();
    return this.low;
  }
}

const BLANK = new CachedText(null, ' ', true); // stands for all of them

// pieceOf returns what is kept of a text.
export function pieceOf(node) {
  const text = textData(node);
  return blank(text) ? BLANK : new CachedText(node, text, false);
}

// cached returns what was read of el, which stands in up.
export function cached(el, up, html) {
  let k = cache.get(el);
  if (k === undefined || k.up !== up) cache.set(el, k = new CachedElement(el, up, html));
  return k;
}

// cachedOf is cached for callers that did not descend from the parent of el.
export function cachedOf(el) {
  const k = cache.get(el);
  if (k !== undefined) return k;
  const p = flatParent(el);
  return cached(el, p === null ? null : cachedOf(p));
}

// styleOf returns the computed style of el, which is live, or with which that of its
// pseudo-element ::before or ::after.
export function styleOf(el, which) {
  if (which !== undefined) return computedStyle(el, which);
  const k = cache.get(el);
  if (k !== undefined) return styleIn(k);
  let s = styles.get(el);
  if (s === undefined) styles.set(el, s = computedStyle(el));
  return s;
}

export const styleIn = (k) => k.css || (k.css = computedStyle(k.el));
