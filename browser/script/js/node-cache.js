// The node cache: what is kept of the document's nodes from one walk to the next.
// 
// An element's own attributes and its list of children are read once and kept until
// a mutation record (DOM, 4.3) reports a change: asking Blink for a node costs more
// than all that is then said of it. What a control holds and what an element is by
// its surroundings are read each time, and so are styles and boxes.
// 
// An element that left the document may come back changed without a record. So an
// element that has left is dropped from the cache, and a cached element is valid only
// as long as its ancestors are (cached).

import { bitsOf } from './attributes.js';
import { computedStyle, ELEMENT, firstChild, localName, nextSibling, nodeType, parentNode, TEXT, textData } from './dom.js';
import { flatParent, isHTML, MAX_MET } from './flat-tree.js';
import { changed, onForget, onNewDocument, page } from './page.js';
import { blank, fold } from './text.js';

const WATCHED = { subtree: true, childList: true, characterData: true, attributes: true };
const MAX_RECORDS = 2000; // between two walks, behind which nothing is known

let cache = new WeakMap(); // element → CachedElement
export let observer = null; // the observer; null where nothing is watched
let records = 0; // since the last walk
export let turn = 0;
let departures = true; // something may have left the document
let roots = new WeakSet(); // shadow roots that are watched,
export let rootsLeft = 0; // and for how many more there is room

// CachedElement is an element.
export class CachedElement {
  constructor(el, up) {
    this.el = el;
    this.up = up; // what it stands in, null for none
    this.tag = localName(el);
    this.html = isHTML(el);
    this.text = null; // it is none
    this.css = null; // its style
    this.id = 0;
    this.bits = -1; // of its attributes
    this.ident = '';
    this.row = null; // the text that it is the context with, where it is a row
    this.turn = turn; // when all around it was last found to be the same
    this.kids = []; // its children, as far as they have been read: up to last,
    this.last = null;
    this.all = false; // or all
  }

  bitset() {
    if (this.bits < 0) this.bits = bitsOf(this.el);
    return this.bits;
  }

  // child returns the element or text that is the child at i, null behind the last one.
  // They are read one by one, so that a million cost only those that are looked at.
  child(i) {
    while (i >= this.kids.length) {
      if (this.all) return null;
      this.last = this.last === null ? firstChild(this.el) : nextSibling(this.last);
      const type = this.last === null ? 0 : nodeType(this.last);
      if (type === ELEMENT) this.kids.push(cached(this.last, this));
      else if (type === TEXT) this.kids.push(new CachedText(this.last));
      else if (type === 0) this.all = true;
    }
    return this.kids[i];
  }

  // sole returns the text in it where it contains nothing else, otherwise null.
  sole() {
    const first = this.child(0);
    return first !== null && first.text !== null && this.child(1) === null ? first : null;
  }

  // changed says that its children are others, or what they say.
  childrenChanged() {
    this.kids = [];
    this.last = null;
    this.all = false;
  }
}

// CachedText is a text.
export class CachedText {
  constructor(node) {
    this.node = node;
    this.text = textData(node);
    this.blank = blank(this.text);
    this.folded = null;
    this.low = null;
  }

  fold() {
    if (this.folded === null) this.folded = fold(this.text);
    return this.folded;
  }

  lower() {
    if (this.low === null) this.low = this.fold().toLowerCase();
    return this.low;
  }
}

// known returns what is known of el, which stands in up.
export function cached(el, up) {
  let k = cache.get(el);
  if (k === undefined || k.up !== up) cache.set(el, k = new CachedElement(el, up));
  k.turn = turn;
  return k;
}

// knownOf is known for who has not come from what is around el.
export function cachedOf(el) {
  const k = cache.get(el);
  if (k !== undefined && k.turn === turn) return k;
  const p = flatParent(el), up = p === null ? null : cachedOf(p), around = parentNode(el);
  const unheard = p === null ? around !== page : nodeType(around) === 11 && !watches(around);
  return unheard ? new CachedElement(el, up) : cached(el, up);
}

// takeRecords takes what has changed: whoever asks in a new turn what is known calls it first.
function takeRecords() {
  turn++;
  if (observer) invalidate(observer.takeRecords());
  else cache = new WeakMap();
}

// observeDocument begins to observer the document, for a walk.
export function observeDocument() {
  records = 0;
  changed();
  if (observer) return;
  cache = new WeakMap();
  roots = new WeakSet();
  rootsLeft = MAX_MET;
  observer = new MutationObserver(invalidate);
  observer.observe(page, WATCHED);
}

// watches tells whether what changes in that shadow root is heard of.
export function watches(root) {
  if (observer === null || roots.has(root)) return true; // without it nothing is kept for the next turn
  if (rootsLeft === 0) return false;
  rootsLeft--;
  roots.add(root);
  observer.observe(root, WATCHED);
  return true;
}

// invalidate forgets what the records say has changed.
function invalidate(list) {
  records += list.length;
  if (list.length > 0) changed();
  if (records > MAX_RECORDS) { dropCache(); return; }
  const visited = new Set();
  for (const r of list) {
    if (r.type === 'attributes') {
      const k = cache.get(r.target);
      if (k !== undefined) { k.bits = -1; k.ident = ''; }
      continue;
    }
    const k = cache.get(r.type === 'characterData' ? parentNode(r.target) : r.target);
    if (k !== undefined) k.childrenChanged();
    for (let p = r.target; p && !visited.has(p); p = flatParent(p)) {
      visited.add(p);
      const around = cache.get(p);
      if (around !== undefined) around.row = null;
    }
    for (const n of r.removedNodes) {
      departures = true;
      cache.delete(n);
    }
  }
}

// departed tells, once, whether something may have left the document since it was asked last.
export function departed() {
  const any = departures || !observer || rootsLeft === 0;
  departures = false;
  return any;
}

// styleOf returns the style of el, of which Blink keeps the words up to date, or that of
// what a style sheet puts before or after it.
export function styleOf(el, which) {
  if (which !== undefined) return computedStyle(el, which);
  const k = cache.get(el);
  return k === undefined ? computedStyle(el) : styleIn(k);
}

export const styleIn = (k) => k.css || (k.css = computedStyle(k.el));

// dropCache stops to observer the document: all that is known may be wrong.
function dropCache() {
  if (observer) observer.disconnect();
  observer = null;
  departures = true;
  cache = new WeakMap();
}

onNewDocument(dropCache);
onForget(takeRecords);
