// One walk as the daemon asks for it (walk), and a single line (nodeLine).
//
// Answer: a line of JSON (WalkHead of script/walk.go), and a line for each node, its
// fields with tabs between them: id, depth, role, name, tag, states, value, ident,
// context index + 1 or empty, and for each attribute its key and its value after =, or
// after # where that is bare; of text 0, depth, text; of a fold -count, depth, how to go
// on, or for like siblings nothing, the names of the first and the last one, and 1 where
// there are more. States are joined by a space. A frame is [index of a line, depth, id of its owner]:
// there belong the lines of the document that stands in that element. Tabs and line
// feeds that are part of a value are written as plain() says.

import { ahead, seekAhead } from './ahead.js';
import { clickable } from './clickable.js';
import { allOf, documentElementOf, ELEMENT, nodeType, queryPage, titleOfPage } from './dom.js';
import { flatContains } from './flat-tree.js';
import { forgetFolds, writeFolds } from './folds.js';
import { imageOf } from './image-map.js';
import { markShown } from './mutations.js';
import { cutName, NAME_MAX, withDeferredNameChecks } from './name.js';
import { node } from './node-ids.js';
import { NOTHING_ON_TOP, onTop } from './overlays.js';
import { forget, page } from './page.js';
import { removals } from './refs.js';
import { CONTROLS, FROM_CONTENT, isHost, roleOf } from './role.js';
import { around, shownName } from './shown-name.js';
import { replacementOf } from './stand-in.js';
import { saysUnseen, unseen } from './visibility.js';
import { Walk } from './walk.js';
import { frameOf } from './walk-frame.js';
import { opened } from './walk-parts.js';

// walk walks the document.
/** @param {import('./functions.js').WalkOptions} o */
export function walk(o) {
  markShown(o.capture || 0);
  const found = withDeferredNameChecks(() => walkOnce(o));
  Object.assign(found.answer, removals(o.capture || 0));
  return toText(found);
}

export function begun(o) {
  forget();
  return new Walk(o);
}

export const answerOf = (w) => ({
  u: location.href, t: cutName(titleOfPage(page)), v: 0, n: allOf(page, '*').length, r: 0, rs: [], x: w.contexts,
});

// finish puts into the answer what w has counted; left counts nodes that w was not to walk.
export function finish(w, answer, left) {
  w.countLeft();
  writeFolds(w);
  answer.v = w.visited;
  answer.r = left + w.rest;
  answer.rt = w.restTexts;
  answer.f = w.frames;
  if (w.least) answer.rl = 1;
  if (w.framesLeft.length) answer.rf = w.framesLeft;
  answer.rs = [...w.reasons];
  return { answer, lines: w.lines };
}

// toText is the answer as it is sent.
export function toText({ answer, lines }) {
  let text = JSON.stringify(answer);
  for (const line of lines) text += '\n' + line;
  return text;
}

function walkOnce(o) {
  const first = pass(o);
  if (!first.otherFirst) return first.found;
  return pass(o).found; // with these first
}

// pass is one pass over the document. otherFirst: something else is to be walked first, since
// it covers a part of the page or is open beyond the end of a budget.
function pass(o) {
  forgetFolds();
  const w = begun(o), answer = answerOf(w);
  const root = scopeOf(o, answer);
  if (!root) return { found: { answer, lines: [] }, otherFirst: false };
  const after = o.after ? node(o.after) : null;
  const at = after && imageOf(after) || after;
  if (o.after && !(after && flatContains(root, at))) {
    answer.e = after ? 'after' : 'past';
    return { found: { answer, lines: [] }, otherFirst: false };
  }
  const top = !w.whole ? NOTHING_ON_TOP : onTop();
  if (!w.whole) w.scope = root;
  if (top.modal) answer.m = 1;
  const layers = w.coverage.begin(top);
  let segments = top.modal ? top.tops : [...top.tops, root];
  if (w.whole && !top.modal) {
    const first = [...top.tops, ...layers];
    segments = [...first, ...ahead().filter((el) => !first.some((f) => flatContains(f, el) || flatContains(el, f))), root];
  }
  let from = after ? segments.findIndex((s) => flatContains(s, at)) : 0;
  if (from < 0) { segments = [root]; from = 0; } // what was on top has gone meanwhile
  for (let i = 0; i < segments.length && !w.ended; i++) {
    w.skip.delete(segments[i]);
    if (i >= from) {
      w.segment(segments[i], i === from ? after : null, o.base_depth || 0);
      if (i < top.tops.length) w.coverage.tops.push(segments[i]);
    }
    w.skip.add(segments[i]);
    for (const later of segments.slice(i + 2)) w.skip.add(later);
  }
  const cut = w.counting > 0 || w.ended;
  if (top.modal && !cut) w.behind(top.tops[0]);
  else if (w.behindOpen && !cut && (top.tops.length || opened())) w.lines.push(-w.behindOpen + '\t0\tbehind what is open; close it to reach them');
  const seeks = w.whole && !after && !top.modal;
  return { found: finish(w, answer, 0), otherFirst: seeks && (w.coverage.layersChanged(cut) || seekAhead(cut, w.last)) };
}

// plain writes a tab as VT t, a line feed as VT n, and VT itself as VT v; and a dot that stands for a secret
// as VT d: with one character beyond Latin-1 V8 has the whole answer in two bytes for each.
export const plain = (s) => (/[\t\n\v\u2022]/.test(s) ? s.replace(/[\t\n\v\u2022]/g, (c) => '\v' + PLAIN[c]) : s);
const PLAIN = { '\t': 't', '\n': 'n', '\v': 'v', '\u2022': 'd' };

// scopeOf returns the element to walk; null, with the reason in answer, for none.
export function scopeOf(o, answer) {
  if (o.scope) {
    const el = node(o.scope);
    if (el && nodeType(el) === ELEMENT) return el;
    answer.e = 'gone';
    return null;
  }
  if (o.selector) {
    let el = null;
    try { el = queryPage(page, o.selector); } catch { answer.e = 'selector'; return null; }
    if (!el) answer.e = 'none';
    return el;
  }
  return documentElementOf(page);
}

// nodeLine returns the line of el by itself, as walk writes it, without a context.
export function nodeLine(el, attrs) {
  const w = new Walk({ interactive: true, max_chars: Infinity, max_text: NAME_MAX, attrs, dedupe_text: false });
  const f = frameOf(el), role = roleOf(el, f.bits);
  f.clicks = !CONTROLS.has(role) && clickable(el, f.tag, f.s, around(el), f.bits);
  f.control = CONTROLS.has(role) || isHost(el);
  w.record(el, role, shownName(el, role, f.clicks, f), (unseen(el) || FROM_CONTENT.has(role) && saysUnseen(el)) && !replacementOf(el), 0, f, null);
  return w.lines[0];
}
