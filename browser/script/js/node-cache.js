// What a walk, or one question, has read of the document's nodes.
//
// To ask Blink for a node costs more than all that is then said of it, so each is asked
// for once. Only what cannot change of an element is kept for the next question, which reads the page anew.

import { bitsOf } from './attributes.js';
import { computedStyle, ELEMENT, firstChild, localName, nextSibling, nodeType, TEXT, textData } from './dom.js';
import { flatParent, isHTML, rootOf } from './flat-tree.js';
import { onForget } from './page.js';
import { fold, withoutGlyphs } from './text.js';

// An element has its CachedElement as a property, which takes a fraction of a WeakMap's time to find. The page does not
// see it: each world has JavaScript objects of its own for the nodes.
const CACHED = Symbol();
let begun = []; // those of the question under way
onForget(() => {
  for (const k of begun) k.end();
  begun = [];
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
  bits = -1;
  /** @type {any[]} */ kids = NO_KIDS;

  constructor(el, html = nodeKind(el) === OF_HTML, css = null, id = 0) {
    this.el = el;
    this.tag = localName(el);
    this.html = html;
    this.css = css; // its style, which is live
    this.id = id;
    this.end();
  }

  // begin begins a question about it. up is what it stands in, null for none.
  begin(up) {
    this.begun = true;
    this.up = up;
    begun.push(this);
    return this;
  }

  // end forgets what the question has read, and holds no other node any more.
  end() {
    this.begun = false;
    this.up = null;
    this.root = undefined; // its shadow root, null for none; undefined until it is asked for
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
      const kid = read(n, this);
      if (kid === null) continue;
      if (this.kids === NO_KIDS) this.kids = [kid]; // mostly the only one, for which push() takes space for 17
      else this.kids.push(kid);
    }
    return this.kids[i];
  }

  // sole returns the text in it where it contains nothing else, otherwise null.
  sole() {
    const first = this.child(0);
    return first !== null && first.el === null && this.child(1) === null ? first : null;
  }

  // elementless tells whether no element is right in it.
  elementless() {
    for (let i = 0, n; (n = this.child(i)) !== null; i++) if (n.el !== null) return false;
    return true;
  }
}

// CachedText is a text, which is read when it is asked for: most of a page's text never is.
export class CachedText {
  constructor(node) {
    this.el = null; // it is no element
    this.node = node;
    this.data = null;
    this.folded = null;
    this.low = null;
  }

  text() {
    if (this.data === null) this.data = textData(this.node);
    return this.data;
  }

  fold() {
    if (this.folded === null) this.folded = fold(this.text());
    return this.folded;
  }

  lower() {
    if (this.low === null) this.low = withoutGlyphs(this.fold()).toLowerCase();
    return this.low;
  }
}

// read returns the child n of up, null for what is neither element nor text.
function read(n, up) {
  if (n[CACHED] !== undefined) return cached(n, up);
  const kind = nodeKind(n);
  return kind === TEXT ? new CachedText(n) : kind === OF_HTML || kind === ELEMENT ? cached(n, up, kind === OF_HTML) : null;
}

// cached returns what was read of el, which stands in up.
export function cached(el, up, html) {
  const k = el[CACHED];
  if (k === undefined) return (el[CACHED] = new CachedElement(el, html)).begin(up);
  if (!k.begun) return k.begin(up);
  return k.up === up ? k : (el[CACHED] = new CachedElement(el, k.html, k.css, k.id)).begin(up);
}

// cachedOf is cached for callers that did not descend from the parent of el.
export function cachedOf(el) {
  const k = el[CACHED];
  if (k !== undefined && k.begun) return k;
  const p = flatParent(el);
  return cached(el, p === null ? null : cachedOf(p));
}

// styleOf returns the computed style of el, which is live, or with which that of its
// pseudo-element ::before or ::after.
export function styleOf(el, which) {
  if (which !== undefined) return computedStyle(el, which);
  return styleIn(el[CACHED] || (el[CACHED] = new CachedElement(el)));
}

export const styleIn = (k) => k.css || (k.css = computedStyle(k.el));
