// What changed outside of the part of the document that the client is shown.

import { answerOf, begun, finish, scopeOf, toText } from './capture.js';
import { closest, FOLLOWING, isConnected, localName, position } from './dom.js';
import { flatContains, flatParent } from './flat-tree.js';
import { inFold } from './folds.js';
import { imageOf } from './image-map.js';
import { MAX_REPORTED, takeMutations } from './mutations.js';
import { withDeferredNameChecks } from './name.js';
import { styleOf } from './node-cache.js';
import { node } from './node-ids.js';
import { onTop } from './overlays.js';
import { forget } from './page.js';
import { CONTROLS, roleOf } from './role.js';
import { rendered } from './visibility.js';
import { SKIPPED } from './walk.js';

// changeContext returns what a change in el is shown with: the control that it is part of, or
// the block whose text it is.
function changeContext(el) {
  for (let p = el, n = 0; p && n < 8; p = flatParent(p), n++) {
    const role = roleOf(p);
    if (localName(p) !== 'option' && CONTROLS.has(role) || role === 'heading') return p;
  }
  let block = el;
  for (let p = el; p && /^(inline|contents)/.test(styleOf(block).display); p = flatParent(p)) block = p;
  return block;
}

// ancestorsOf lists el and what it stands in, the outermost first.
function ancestorsOf(el) {
  const list = [];
  for (let p = imageOf(el) || el; p; p = flatParent(p)) list.unshift(p);
  return list;
}

// comesAfter reports whether b begins behind a's beginning, in the order of a walk.
function comesAfter(a, b) {
  const x = ancestorsOf(a), y = ancestorsOf(b);
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

  // leavesOut reports whether el is outside: true, false, or 'some' where the part ends or
  // begins in it. What a modal dialog makes inert is not outside: nobody is shown it.
  leavesOut(el) {
    if (this.modal && this.turn(el) === this.tops.length) return false;
    if (this.none || !this.root || inFold(el)) return true;
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
    let whole = there ? changeContext(el) : el;
    let out = part.leavesOut(whole);
    if (out === 'some') out = part.leavesOut(whole = el);
    if (out === true && rendered(whole)) found.add(whole);
    else if (out) hidden++;
  }
  const inAnother = (el) => { for (let p = flatParent(el); p; p = flatParent(p)) if (found.has(p)) return true; return false; };
  return { apart: [...found].filter((el) => !inAnother(el)), hidden };
}

// offScope writes what changed outside of what the walk with o's number shows.
/** @param {import('./functions.js').OffScopeOptions} o */
export function offScope(o) {
  forget();
  const changes = takeMutations(o.capture), { apart, hidden } = leftOut(new Part(o), changes.mutated), more = changes.overflowed ? 1 : 0;
  return toText(withDeferredNameChecks(() => writeOffScope(o, apart, hidden, more)));
}

function writeOffScope(o, apart, hidden, more) {
  const w = begun(o), answer = answerOf(w);
  answer.h = hidden;
  let written = 0;
  for (const el of apart.slice(0, MAX_REPORTED)) {
    if (w.ended || w.counting) break;
    const lines = w.lines.length;
    w.segment(el, null, 0);
    if (w.lines.length === lines && !w.counting) answer.h++;
    written++;
  }
  return finish(w, answer, apart.length - written + more);
}
