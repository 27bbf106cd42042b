// touched.js: what has changed since the client was last shown the document, and,
// of it, what lies outside of the part that the client is shown.
//
// __bd.beyond(options) → JSON text as walk answers it, with the lines of what changed
// outside; r counts what has no line for want of room, h what changed and has nothing
// to show: it was removed or hidden, or it holds the shown part. Options are those of
// walk and of browser/beyond.go's beyondOptions.

const MAX_TOUCHED = 1000; // elements that are kept
const MAX_APART = 5; // elements that beyond writes

// The elements that changed; false: something in it has gone, and that was all.
let touched = new Map();
let spilled = false; // more changed than is kept
// What had changed when the walk with that number took the document's picture.
let before = { look: 0, touched: new Map(), spilled: false };

// takeTouched says that the walk with that number shows what has changed up to now.
// A walk that is made again shows no less.
function takeTouched(look) {
  const again = before.look === look;
  before = { look, touched: again ? new Map([...before.touched, ...touched]) : touched, spilled: spilled || again && before.spilled };
  touched = new Map();
  spilled = false;
}

// touch keeps el; what is kept already is not made less.
function touch(el, there = true) {
  if (!there && touched.has(el)) return;
  if (touched.size < MAX_TOUCHED || touched.has(el)) touched.set(el, there);
  else spilled = true;
}

// touchAll keeps what the records of a MutationObserver are about: of children the
// added elements, or what a text stands in.
function touchAll(records) {
  for (const r of records) {
    if (spilled) return;
    let added = 0, other = r.type !== 'childList';
    for (const n of r.addedNodes) {
      if (nodeType(n) === ELEMENT) touch(n);
      else other = true;
      added++;
    }
    const t = r.target, el = nodeType(t) === ELEMENT ? t : t instanceof ShadowRoot ? t.host : parentNode(t);
    if (el && nodeType(el) === ELEMENT && (other || !added)) touch(el, other);
  }
}

// dropTouched lets go of what has left the document: nobody else holds it.
function dropTouched() {
  for (const map of [touched, before.touched]) {
    for (const el of map.keys()) if (!isConnected(el)) map.delete(el);
  }
}

// wholeOf is what a change in el is shown with: the control that it is part of, or
// the block whose text it is.
function wholeOf(el) {
  for (let p = el, n = 0; p && n < 8; p = flatParent(p), n++) {
    const role = roleOf(p);
    if (localName(p) !== 'option' && CONTROLS.has(role) || role === 'heading') return p;
  }
  let block = el;
  for (let p = el; p && /^(inline|contents)/.test(styleOf(block).display); p = flatParent(p)) block = p;
  return block;
}

// upOf lists el and what it stands in, the outermost first.
function upOf(el) {
  const list = [];
  for (let p = imageOf(el) || el; p; p = flatParent(p)) list.unshift(p);
  return list;
}

// comesAfter tells whether b begins behind a's beginning, in the order of a walk.
function comesAfter(a, b) {
  const x = upOf(a), y = upOf(b);
  let i = 0;
  while (i < x.length && x[i] === y[i]) i++;
  if (i === x.length || i === y.length) return y.length > x.length;
  return (position(x[i], y[i]) & FOLLOWING) !== 0;
}

// Part is the part of the document that the client is shown.
class Part {
  constructor(o) {
    this.none = !!o.none;
    this.root = this.none ? null : scopeOf(o, {});
    this.first = o.after ? node(o.after) : null;
    this.last = o.last ? node(o.last) : null;
    const top = o.scope || o.selector ? { tops: [], modal: false } : onTop();
    this.tops = top.tops;
    this.modal = top.modal;
  }

  // turn says when a walk comes to el: what lies on top is walked first.
  turn(el) {
    const i = this.tops.findIndex((t) => flatContains(t, el));
    return i < 0 ? this.tops.length : i;
  }

  // leavesOut tells whether el is outside: true, false, or 'some' where the part ends or
  // begins in it. What a modal dialog makes inert is not outside: nobody is shown it.
  leavesOut(el) {
    if (this.modal && this.turn(el) === this.tops.length) return false;
    if (this.none || !this.root) return true;
    if (!flatContains(this.root, el)) return flatContains(el, this.root) ? 'some' : true;
    for (const end of [this.first, this.last]) if (end && end !== el && flatContains(el, end)) return 'some';
    return this.first !== null && !this.inOrder(this.first, el) || this.last !== null && this.last !== el && this.inOrder(this.last, el);
  }

  inOrder(a, b) {
    const x = this.turn(a), y = this.turn(b);
    return x === y ? comesAfter(a, b) : x < y;
  }
}

// leftOut returns of the elements those that part leaves out, the outermost only, and
// how many changes have nothing to show.
function leftOut(part, elements) {
  const found = new Set();
  let hidden = 0;
  for (const [el, there] of elements) {
    if (!isConnected(el) || SKIPPED.has(localName(el)) || closest(el, 'head')) continue;
    let whole = there ? wholeOf(el) : el;
    let out = part.leavesOut(whole);
    if (out === 'some') out = part.leavesOut(whole = el);
    if (out === true && rendered(whole)) found.add(whole);
    else if (out) hidden++;
  }
  const inAnother = (el) => { for (let p = flatParent(el); p; p = flatParent(p)) if (found.has(p)) return true; return false; };
  return { apart: [...found].filter((el) => !inAnother(el)), hidden };
}

// beyond writes what changed outside of what the walk with o's number shows.
function beyond(o) {
  forget();
  takeTouched(o.look); // with what has changed since that walk
  const { apart, hidden } = leftOut(new Part(o), before.touched), more = before.spilled ? 1 : 0;
  before = { look: 0, touched: new Map(), spilled: false };
  return toText(trusting(() => writeApart(o, apart, hidden, more)));
}

function writeApart(o, apart, hidden, more) {
  const w = begun(o), answer = answerOf(w);
  answer.h = hidden;
  let written = 0;
  for (const el of apart.slice(0, MAX_APART)) {
    if (w.ended || w.counting) break;
    const lines = w.lines.length;
    w.segment(el, null, 0);
    if (w.lines.length === lines && !w.counting) answer.h++;
    written++;
  }
  return finish(w, answer, apart.length - written + w.rest + more);
}

Object.assign(__bd, { beyond });
