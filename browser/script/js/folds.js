// Long runs of like siblings (the rows of a table, the posts of a page), of which a walk
// writes the first ones and the last one where its budget does not suffice for all. What
// stands behind the run has its place then.
//
// A run is looked for when a budget has ended, or where it is plain that it will end in this
// run: what it would hold is not walked only to be left out. The lines of the siblings that may be
// left out stay where they are until the walk has come to its end, marked as folded; then
// as many of them are shown as there is space for. Those that the walk has not come to it
// does not enter, but for the last two: one for its name, one to be shown.

import { ROLE } from './attributes.js';
import {
  attr, checkVisibility, ELEMENT, elementsIn, FOLLOWING, firstElementChild, lastElementChild, localName, nextElementSibling, nodeType, position, previousElementSibling,
} from './dom.js';
import { flatParent, isHTML } from './flat-tree.js';
import { cached } from './node-cache.js';
import { headOf } from './text.js';
import { wordSet } from './word-set.js';

export const MIN_RUN = 10; // siblings,
const MIN_LEFT = 5; // of which so many are left out
const MOST_FIRST = 10; // siblings that stay shown, if they need no more than a quarter of the budget,
const FEWEST_FIRST = 2; // else so many
const STEP = 5; // and above MOST_FIRST so many more at a time: a change elsewhere seldom moves the fold
const FEW = 20; // siblings shown of a run of which a quarter has no space
const MAX_SIBLINGS = 5000; // of a run that are looked at, those that were walked among them
const MAX_BEHIND = 200; // elements at the end of so many, among which the last one is looked for
const NAME = 80; // characters of a name in the line of a fold (snapshot.maxFoldName),
const LINE = 70; // and of the line beside names and indentation
const HEADER = 500; // characters that the header of a folded text may have
const MARGIN = 1.25; // the space left is taken to be so many times larger, so that a run is not folded too early

// What is never one of a run: parts of a page, prose, and what Walk has rules of its own for.
const APART = wordSet('p nav main aside header footer h1 h2 h3 h4 h5 h6 hr html body select optgroup option table thead tfoot iframe frame slot');
// What siblings are like by their tag; others by their classes or their first child.
const ALIKE = wordSet('li tr td th dt dd tbody article a button label input details figure');
const NO_MEMBER = wordSet('script style template link br');

// ---- runs

// shapeOf returns what tells el from siblings that are not like it; seenShape asks less of an
// element that the walk has come to.
const shapeOf = (el) => ({ el, tag: isHTML(el) ? localName(el) : '', role: attr(el, 'role') || '', classes: null });
const seenShape = (k) => ({ el: k.el, tag: tagOf(k), role: k.bitset() & ROLE ? attr(k.el, 'role') : '', classes: k.bitset() ? null : '' });
const tagOf = (k) => (k.html ? k.tag : '');
const classesOf = (shape) => shape.classes ?? (shape.classes = attr(shape.el, 'class') || '');
const sameTag = (a, b) => a === b || (a === 'dt' || a === 'dd') && (b === 'dt' || b === 'dd');

function like(a, b) {
  const tag = b.tag;
  if (!tag || APART.has(tag) || a.role !== b.role || !sameTag(a.tag, tag)) return false;
  if (a.role || ALIKE.has(tag) || tag.includes('-')) return true;
  const x = classesOf(a), y = classesOf(b);
  if (x === y && x !== '') return true;
  if (!x && !y) return firstTag(a.el) === firstTag(b.el);
  const of = new Set(x.split(/\s+/));
  return y.split(/\s+/).some((c) => c !== '' && of.has(c));
}

const firstTag = (el) => { const c = firstElementChild(el); return c === null ? '' : localName(c); };

// childrenOf returns the elements in f that the walk has come to.
function childrenOf(f) {
  const list = f.list === null ? f.k.kids : Array.prototype.filter.call(f.list, (n) => nodeType(n) === ELEMENT).map((n) => cached(n, f.k));
  return list.filter((k) => k.el !== null && k.start >= 0 && !NO_MEMBER.has(k.tag));
}

// mayHoldGroup tells by their tags alone whether there may be a run among kids, or at their end.
function mayHoldGroup(kids, open) {
  let n = 0, last = '';
  for (const k of kids) {
    const tag = tagOf(k);
    n = sameTag(last, tag) && !APART.has(tag) ? n + 1 : 1;
    if (n === MIN_RUN) return true;
    last = tag;
  }
  return open && n > FEWEST_FIRST;
}

// groupsOf divides what the walk has come to in f into runs of like siblings. end: lines
// written up to its end. open: the walk is in it, and in its last child that it has come to.
function groupsOf(f, end, open) {
  const kids = childrenOf(f);
  if (!mayHoldGroup(kids, open)) return [];
  /** @type {any[]} */ const groups = [];
  /** @type {any} */ let group = null;
  for (const [i, k] of kids.entries()) {
    const shape = seenShape(k), upTo = i + 1 < kids.length ? kids[i + 1].start : end;
    if (group !== null && like(group.shape, shape)) group.shape = shape;
    else groups.push(group = { f, shape, els: [], starts: [k.start], ahead: NOTHING });
    if (upTo === k.start && !(open && i + 1 === kids.length) && !checkVisibility(k.el)) continue; // no member
    group.els.push(k.el);
    group.starts.push(upTo);
  }
  if (open && group !== null) group.ahead = siblingsAfter(f, group.shape, group.els.length);
  return groups.filter((g) => g.els.length > FEWEST_FIRST && g.els.length + g.ahead.count >= MIN_RUN);
}

const NOTHING = { count: 0, before: null, last: null, least: false };

// siblingsAfter counts the siblings behind that of shape, the last of those walked, that are like it and laid out, and
// finds the last one and the one before it.
function siblingsAfter(f, shape, walked) {
  const list = f.list === null ? null : Array.prototype.filter.call(f.list, (n) => nodeType(n) === ELEMENT);
  let i = list === null ? 0 : list.indexOf(shape.el);
  const next = list === null ? nextElementSibling : () => list[++i] || null;
  const found = { count: 0, before: null, last: null, least: false };
  let seen = 0;
  for (let el = next(shape.el); el !== null; el = next(el)) {
    if (NO_MEMBER.has(localName(el))) continue;
    const s = shapeOf(el);
    if (!like(shape, s)) return found;
    shape = s;
    if (seen++ >= MAX_SIBLINGS - walked) return fromEnd(found, shape, f, list);
    if (!checkVisibility(el)) continue;
    found.count++;
    found.before = found.last;
    found.last = el;
  }
  return found;
}

// fromEnd finds the last ones of a run that is longer than is looked at.
function fromEnd(found, shape, f, list) {
  let i = list === null ? 0 : list.length, last = null;
  const previous = list === null ? previousElementSibling : () => list[--i] || null;
  let el = list === null ? lastElementChild(f.el) : previous(null);
  for (let n = 0; el !== null && n < MAX_BEHIND; el = previous(el), n++) {
    if (!like(shape, shapeOf(el)) || !checkVisibility(el)) continue;
    if (last !== null) return { count: found.count, before: el, last, least: true };
    last = el;
  }
  return NOTHING;
}

// longest returns the run that leaves the most out, null where there is none.
function longest(w) {
  const nodes = [0], chars = [0]; // of the lines before each that are shown
  for (let i = 0; i < w.lines.length; i++) {
    nodes.push(nodes[i] + (w.depths[i] < 0 && !w.folded[i] ? 1 : 0));
    chars.push(chars[i] + (w.folded[i] ? 0 : w.sizes[i]));
  }
  const share = (from, to) => Math.max((nodes[to] - nodes[from]) / w.maxNodes, (chars[to] - chars[from]) / w.maxChars);
  let best = null;
  const consider = (g) => {
    const { starts, ahead } = g, walked = g.els.length - 1; // the last one is shown, or the walk is in it
    let from = 0;
    while (from < MOST_FIRST && from < walked && share(starts[0], starts[from + 1]) <= 1 / 4) from++;
    from = Math.max(from, FEWEST_FIRST);
    const now = share(starts[from], ahead.count ? w.lines.length : starts[walked]);
    const gain = now + ahead.count * share(starts[0], starts[walked]) / walked;
    if (from > walked || walked + ahead.count - from < MIN_LEFT || now <= 0 || best !== null && gain <= best.gain) return;
    best = { ...g, from, walked, gain, share: share(starts[0], starts[walked]) };
  };
  const done = new Set(w.folds.map((fold) => fold.f));
  for (const f of w.wide) if (!done.has(f)) groupsOf(f, f.end, false).forEach(consider);
  for (const f of w.stack) if (!done.has(f) && !f.resumed) groupsOf(f, w.lines.length, true).forEach(consider);
  return best;
}

// ---- while the walk goes on

// resolve makes space for the lines that stand behind the end of a budget, by folding runs
// until they fit. Where that does not suffice, nothing more is folded. end: a part of the
// page has been walked.
export function resolve(w, end = false) {
  if (w.naming) takeName(w, end);
  if (!w.kept || !w.mayFold || !w.pending && !end) return;
  while (w.nodes > w.maxNodes || w.chars > w.maxChars) {
    const run = w.ended ? null : longest(w);
    if (run === null) {
      w.mayFold = w.pending = false;
      if (w.folds.length) w.kept = endOf(w);
      return;
    }
    fold(w, run);
  }
  w.proceed();
}

// foldEarly folds the run in which the walk comes to the child k of f where k seems to be behind all
// that are shown: the budget has no space for k and for the last sibling, or k is behind the first FEW of so long
// a run. What is ahead is estimated by its elements, with a margin; of k the walk takes the name.
export function foldEarly(w, f, k) {
  const n = f.children++, nodes = w.nodes - f.nodesBefore, chars = w.chars - f.charsBefore; // of the one before
  f.nodesBefore = w.nodes;
  f.charsBefore = w.chars;
  if (n <= FEWEST_FIRST || f.k === null || f.list !== null || f.resumed || w.folds.length || w.naming || w.counting) return;
  const full = w.maxNodes - w.nodes < 2 * nodes || w.maxChars - w.chars < 2 * chars;
  // Not all of a run are seen: it may need more children to have so many.
  if (!full && n !== FEW + 1 && n !== 2 * FEW + 1 && n !== 4 * FEW + 1 || !k.html || APART.has(k.tag) || NO_MEMBER.has(k.tag) || !checkVisibility(k.el)) return;
  k.start = w.lines.length;
  /** @type {any} */ const run = longest(w);
  if (run === null || run.f !== f || run.ahead.before === null) return;
  run.early = true;
  const more = fitting(run, estimateOf(w, run), (w.maxNodes - w.nodes) * MARGIN, (w.maxChars - w.chars) * MARGIN);
  if ((more > 0 || !full) && (run.walked < FEW || 4 * (run.walked + more) > run.walked + run.ahead.count)) return;
  w.reasons.add((w.maxNodes - w.nodes) / nodes < (w.maxChars - w.chars) / chars ? 'max_nodes' : 'max_chars');
  fold(w, run);
}

// estimateOf returns what an element of the walked siblings of a run takes of the budgets, and how many are in
// each of them.
function estimateOf(w, { els, starts, walked }) {
  let nodes = 0, chars = 0, elements = 0;
  for (let i = starts[0]; i < starts[walked]; i++) {
    chars += w.sizes[i];
    if (w.depths[i] < 0) nodes++;
  }
  for (let i = 0; i < walked; i++) elements += sizeOf(els[i]);
  return { nodes: nodes / elements, chars: chars / elements, elements: elements / walked };
}

const sizeOf = (el) => 1 + elementsIn(el, '*').length;

// fitting estimates how many of the siblings behind those that were walked have space, besides the last one. None is taken to
// need more than those walked do in the mean: of what has more elements, most may be hidden or a picture.
function fitting({ els, walked, ahead }, each, nodes, chars) {
  const fits = (el) => {
    const elements = Math.min(sizeOf(el), each.elements);
    nodes -= elements * each.nodes;
    chars -= elements * each.chars;
    return nodes >= 0 && chars >= 0;
  };
  if (!fits(ahead.last)) return 0;
  let n = 0;
  for (let el = els[walked], seen = 0; el !== null && seen < MAX_SIBLINGS; el = nextElementSibling(el), seen++) {
    if (NO_MEMBER.has(localName(el)) || !checkVisibility(el)) continue;
    if (n > ahead.count || !fits(el)) break;
    n++;
  }
  return n;
}

// early: the walk has come to the sibling behind those that were walked, and has not entered it.
function fold(w, { f, els, starts, ahead, from, walked, early = false }) {
  if (!w.folds.length) w.maxChars -= Math.min(HEADER, w.maxChars >> 3);
  const of = {
    f, els, starts, from, walked, id: ++w.foldIds, end: starts[walked], total: els.length + ahead.count, least: ahead.least,
    atCut: '', last: '', lastEl: els[walked - 1],
  };
  forShown(w, starts[from], starts[walked], (i) => { w.folded[i] = of.id; });
  if (ahead.count) {
    of.atCut = of.last = saidIn(w, starts[walked], w.lines.length);
    of.lastEl = els[walked];
    cutBack(w, f, starts[walked]);
    if (ahead.before) {
      of.lastEl = ahead.before;
      w.naming = { f, of, start: starts[walked], before: early ? ahead.before : null };
      w.nameless = starts[walked];
    }
    if (!early) goOnAt(f, ahead.before || ahead.last);
  } else of.last = saidIn(w, starts[walked - 1], starts[walked]);
  w.chars += 2 * f.depth + LINE + 2 * NAME;
  w.folds.push(of);
}

// forShown takes the lines from from on, before to, out of what the budget is for.
function forShown(w, from, to, each) {
  for (let i = from; i < to; i++) {
    if (w.folded[i]) continue;
    w.chars -= w.sizes[i];
    if (w.depths[i] < 0) w.nodes--;
    each(i);
  }
}

// cutBack takes back the lines from start on, and leaves what is in f.
function cutBack(w, f, start) {
  forShown(w, start, w.lines.length, () => {});
  w.shorten(start);
  w.folds = w.folds.filter((of) => of.starts[of.from] < start);
  w.wide = w.wide.filter((left) => left.k.start < start);
  w.frames = w.frames.filter(([index]) => index <= start);
  w.stack.length = w.stack.indexOf(f) + 1;
  if (w.naming && !w.stack.includes(w.naming.f)) w.naming = null;
  w.run = '';
  w.gap = 0;
}

function goOnAt(f, el) {
  if (f.list !== null) f.i = Array.prototype.indexOf.call(f.list, el);
  else {
    f.resumed = true;
    f.next = el;
  }
}

// takeName takes the name of the last sibling that is left out, once there is one or the
// sibling has been walked; of a run that was folded early that of the first one before.
function takeName(w, end) {
  const { f, of, start, before } = w.naming;
  const name = saidIn(w, w.nameless, w.lines.length);
  w.nameless = w.lines.length;
  if (!name && !end && w.stack[w.stack.length - 1] !== f) return;
  of[before ? 'atCut' : 'last'] = name;
  w.naming = before ? { f, of, start, before: null } : null;
  cutBack(w, f, start);
  if (before) goOnAt(f, before);
}

// saidIn returns the first name or text of some lines.
function saidIn(w, from, to) {
  for (let i = from; i < to; i++) if (w.said[i]) return headOf(w.said[i], 2 * NAME + 2);
  return '';
}

// endOf returns where the budget ends although runs are folded.
function endOf(w) {
  let nodes = 0, chars = w.folds.reduce((sum, of) => sum + 2 * of.f.depth + LINE + 2 * NAME, 0), i = 0;
  for (; i < w.lines.length; i++) {
    if (w.folded[i]) continue;
    chars += w.sizes[i];
    if (w.depths[i] < 0) nodes++;
    if (nodes > w.maxNodes || chars > w.maxChars && nodes > 1) break;
  }
  return { ...w.kept, lines: i, contexts: w.contexts.length };
}

// ---- at its end

/** @type {{ parent: any, first: any, last: any }[]} */
let leftOut = []; // of the last walk

// forgetFolds says that the walk under way leaves no siblings out.
export const forgetFolds = () => { leftOut = []; };

// anyFold tells whether the last walk has left siblings out.
export const anyFold = () => leftOut.length > 0;

// inFold tells whether el is in a sibling that the last walk has left out.
export function inFold(el) {
  if (!leftOut.length) return false;
  for (let p = el, up; p; p = up) {
    up = flatParent(p);
    for (const { parent, first, last } of leftOut) {
      if (up === parent && (p === first || position(first, p) & FOLLOWING) && (p === last || position(p, last) & FOLLOWING)) return true;
    }
  }
  return false;
}

// writeFolds puts the lines of the folds where the siblings are left out.
export function writeFolds(w) {
  const hidden = []; // the runs of lines that are left out, and the line in place of each
  for (const of of w.folds.sort((a, b) => a.starts[a.from] - b.starts[b.from])) {
    const { from, starts, total } = of;
    if (starts[from] > w.lines.length) w.least = true; // the budget ends before it
    if (starts[from] > w.lines.length || hidden.some((h) => h.from <= starts[from] && starts[from] < h.to)) continue;
    const n = shownOf(w, of), left = total - 1 - n;
    if (left < 1) continue;
    const first = n < of.walked ? saidIn(w, starts[n], starts[n + 1]) : of.atCut;
    hidden.push({ from: starts[n], to: of.end, line: -left + '\t' + of.f.depth + '\t\t' + first + '\t' + (left > 1 ? of.last : '') + '\t' + (of.least ? '1' : '') });
    leftOut.push({ parent: of.f.el, first: of.els[n], last: of.lastEl });
  }
  if (hidden.length) replace(w, hidden);
}

// shownOf returns how many of the first siblings of a fold are shown: those that there is
// space for.
function shownOf(w, of) {
  const { from, walked, starts, total, id } = of;
  if (w.kept) return from;
  const needs = [{ n: from, nodes: w.nodes, chars: w.chars }];
  for (let n = from; n < walked; n++) {
    let { nodes, chars } = needs[needs.length - 1];
    for (let i = starts[n]; i < starts[n + 1]; i++) {
      if (w.folded[i] !== id) continue;
      chars += w.sizes[i];
      if (w.depths[i] < 0) nodes++;
    }
    if (nodes > w.maxNodes || chars > w.maxChars) break;
    needs.push({ n: n + 1, nodes, chars });
  }
  let n = from + needs.length - 1;
  if (n < total - 1) {
    if (4 * n < total) n = Math.max(from, Math.min(n, FEW));
    if (n > MOST_FIRST) n -= n % STEP;
  }
  w.nodes = needs[n - from].nodes;
  w.chars = needs[n - from].chars;
  return n;
}

// replace puts a line in the place of each of the runs of lines in hidden, which are in order.
function replace(w, hidden) {
  const lines = [], at = []; // and by the index of a line how many there are up to it
  let h = 0, to = 0;
  for (let i = 0; i <= w.lines.length; i++) {
    for (; h < hidden.length && hidden[h].from === i; to = Math.max(to, hidden[h++].to)) lines.push(hidden[h].line);
    if (i < w.lines.length && i >= to) at[i] = lines.push(w.lines[i]);
  }
  w.lines = lines;
  w.frames = w.frames.filter(([index]) => index === 0 || at[index - 1] !== undefined).map(([index, depth, id]) => [index && at[index - 1], depth, id]);
}
