// known.js: what is known of the document's nodes from one walk to the next.
//
// What an element is by its own attributes, and which children it has, is read once and
// kept until a mutation record (DOM, 4.3) says that it is another: to ask Blink for a
// node costs more than all that is then said of it. What a control holds and what an
// element is by what is around it are asked anew each time, and so are styles and boxes.
//
// An element that left the document may come back as another without a record. So what
// has left is not known, and what is known of an element holds as long as it does of what
// is around it (known).

const WATCHED = { subtree: true, childList: true, characterData: true, attributes: true };
const MAX_RECORDS = 2000; // between two walks, behind which nothing is known

let memory = new WeakMap(); // element → Known
let watch = null; // the observer; null where nothing is watched
let records = 0; // since the last walk
let turn = 0;
let departures = true; // something may have left the document
let roots = new WeakSet(); // shadow roots that are watched,
let rootsLeft = 0; // and for how many more there is room

// Known is an element.
class Known {
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
      if (type === ELEMENT) this.kids.push(known(this.last, this));
      else if (type === TEXT) this.kids.push(new Piece(this.last));
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
  changed() {
    this.kids = [];
    this.last = null;
    this.all = false;
  }
}

// Piece is a text.
class Piece {
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
function known(el, up) {
  let k = memory.get(el);
  if (k === undefined || k.up !== up) memory.set(el, k = new Known(el, up));
  k.turn = turn;
  return k;
}

// knownOf is known for who has not come from what is around el.
function knownOf(el) {
  const k = memory.get(el);
  if (k !== undefined && k.turn === turn) return k;
  const p = flatParent(el), up = p === null ? null : knownOf(p), around = parentNode(el);
  const unheard = p === null ? around !== page : nodeType(around) === 11 && !watches(around);
  return unheard ? new Known(el, up) : known(el, up);
}

// catchUp takes what has changed: whoever asks in a new turn what is known calls it first.
function catchUp() {
  turn++;
  if (watch) unlearn(watch.takeRecords());
  else memory = new WeakMap();
}

// attend begins to watch the document, for a walk.
function attend() {
  records = 0;
  if (watch) return;
  memory = new WeakMap();
  roots = new WeakSet();
  rootsLeft = MAX_MET;
  watch = new MutationObserver(unlearn);
  watch.observe(page, WATCHED);
}

// watches tells whether what changes in that shadow root is heard of.
function watches(root) {
  if (watch === null || roots.has(root)) return true; // without it nothing is kept for the next turn
  if (rootsLeft === 0) return false;
  rootsLeft--;
  roots.add(root);
  watch.observe(root, WATCHED);
  return true;
}

// unlearn forgets what the records say has changed.
function unlearn(list) {
  records += list.length;
  if (records > MAX_RECORDS) { lose(); return; }
  const told = new Set();
  for (const r of list) {
    if (r.type === 'attributes') {
      const k = memory.get(r.target);
      if (k !== undefined) { k.bits = -1; k.ident = ''; }
      continue;
    }
    const k = memory.get(r.type === 'characterData' ? parentNode(r.target) : r.target);
    if (k !== undefined) k.changed();
    for (let p = r.target; p && !told.has(p); p = flatParent(p)) {
      told.add(p);
      const around = memory.get(p);
      if (around !== undefined) around.row = null;
    }
    for (const n of r.removedNodes) {
      departures = true;
      memory.delete(n);
    }
  }
}

// departed tells, once, whether something may have left the document since it was asked last.
function departed() {
  const any = departures || !watch || rootsLeft === 0;
  departures = false;
  return any;
}

// styleOf returns the style of el, of which Blink keeps the words up to date, or that of
// what a style sheet puts before or after it.
function styleOf(el, which) {
  if (which !== undefined) return computedStyle(el, which);
  const k = memory.get(el);
  return k === undefined ? computedStyle(el) : styleIn(k);
}

const styleIn = (k) => k.css || (k.css = computedStyle(k.el));

// lose stops to watch the document: all that is known may be wrong.
function lose() {
  if (watch) watch.disconnect();
  watch = null;
  departures = true;
  memory = new WeakMap();
}

leftBehind.push(lose);
