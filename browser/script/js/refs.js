// Finding the element that a ref means. An element is found again by its number, and
// never stands for another: what it is called now, and the row it stands in, are
// compared with what the client was shown.

import { has } from './dom.js';
import { flatContains, shadowOf, tagOf } from './flat-tree.js';
import { stableIdOf } from './identity.js';
import { inertNow } from './inert.js';
import { idOf, lastNumber, node } from './node-ids.js';
import { forget, page } from './page.js';
import { roleOf, shownRole } from './role.js';
import { contextOf, nameOf } from './shown-name.js';
import { rendered } from './visibility.js';

// record returns what the daemon keeps of an element that it gives a ref to.
export const record = (el) => ({ node: idOf(el), role: shownRole(roleOf(el)), name: nameOf(el) || '', tag: tagOf(el), ident: stableIdOf(el), context: contextOf(el) });

// allIn is querySelectorAll of a document, a shadow root or an element.
export const allIn = (root, selector) => {
  const owner = root instanceof Document ? Document : root instanceof DocumentFragment ? DocumentFragment : Element;
  return owner.prototype.querySelectorAll.call(root, selector);
};

// everyElement calls f with the elements below root and in their shadow trees,
// in tree order.
export const everyElement = (root, f) => {
  for (const el of allIn(root, '*')) {
    f(el);
    const s = shadowOf(el);
    if (s) everyElement(s, f);
  }
};

// A node that was numbered before another was seen to be gone stood beside it:
// it is not the other re-created. Walks are counted; born and died keep the
// count at which a number was first given and first found gone.
let walks = 0, counted = 0;
const born = new Map(), died = new Map(), alive = new Set();
export const countNumbers = () => {
  walks++;
  for (; counted < lastNumber; counted++) {
    alive.add(counted + 1);
    born.set(counted + 1, walks);
  }
  for (const i of alive) {
    if (node(i)) continue;
    alive.delete(i);
    born.delete(i);
    died.set(i, walks);
    if (departed.length < MAX_DEPARTED) departed.push(i);
  }
};

// removals returns what the capture tells the daemon of nodes that have left the
// document since the capture before: their numbers, and the last number that it gave out.
// A capture that walks again, since a frame was changing, tells it again.
let capture = -1, lastBefore = 0, lastNow = 0, reported = 0;
const departed = [], MAX_DEPARTED = 5000;
export const removals = (number) => {
  if (number !== capture) {
    capture = number;
    lastBefore = lastNow;
    departed.splice(0, reported);
  }
  countNumbers();
  lastNow = lastNumber;
  reported = departed.length;
  return departed.length ? { d: departed, l: lastBefore } : null;
};
// twins returns the elements of the document, other than el, that are what the
// client was shown: the same role, name, tag, stable attributes and row.
const twins = (q, el) => {
  const found = [];
  everyElement(page, (e) => {
    if (e === el || tagOf(e) !== q.tag || found.length > 1) return;
    if (stableIdOf(e) !== q.ident || !rendered(e)) return;
    if (shownRole(roleOf(e)) === q.role && (nameOf(e) || '') === q.name && contextOf(e) === q.context) found.push(e);
  });
  return found;
};

// candidates are up to five elements that come near what the client was shown.
const candidates = (q) => {
  const list = [];
  everyElement(page, (el) => {
    const tag = tagOf(el) === q.tag;
    if (!tag && !has(el, 'role') || list.length > 400) return;
    if (!rendered(el)) return;
    const role = shownRole(roleOf(el));
    if (role !== q.role) return;
    const name = nameOf(el) || '', context = contextOf(el);
    const points = (name === q.name ? 4 : alike(name, q.name) ? 2 : 0) + (context === q.context && context ? 2 : 0) + (stableIdOf(el) === q.ident ? 1 : 0);
    if (points < 2) return;
    const why = name === q.name
      ? (context === q.context ? 'the same role and name' : 'the same role and name in another place')
      : context && context === q.context ? 'the same role in the same place' : 'the same role and a similar name';
    list.push({ points, order: list.length, el, why });
  });
  list.sort((a, b) => b.points - a.points || a.order - b.order);
  return list.slice(0, 5).map(({ el, why }) => ({ ...record(el), why }));
};
const alike = (a, b) => {
  a = a.toLowerCase();
  b = b.toLowerCase();
  if (!a || !b) return false;
  if (a.includes(b) || b.includes(a)) return true;
  const words = new Set(a.split(/\W+/u).filter((w) => w.length > 2));
  return b.split(/\W+/u).some((w) => words.has(w));
};

const wordsIn = (s) => s.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) || [];

// sameRow reports whether a row whose text has changed is still the row that the
// client was shown: most of the words that told it from the rows beside it are
// still there. A counter, a clock or a state may have changed; where rows
// differ in nothing but numbers, the numbers tell them apart. A list that
// shows another row with the same elements (a virtual list) fails this.
const sameRow = (el, q, context) => {
  const count = new Map();
  let rows = 0;
  everyElement(page, (e) => {
    if (rows >= 50 || e === el || tagOf(e) !== q.tag || stableIdOf(e) !== q.ident) return;
    const text = contextOf(e);
    if (text === context || text === '') return;
    rows++;
    for (const w of new Set(wordsIn(text))) count.set(w, (count.get(w) || 0) + 1);
  });
  if (rows === 0) return true;
  let own = [...new Set(wordsIn(q.context))].filter((w) => (count.get(w) || 0) * 2 < rows);
  if (own.some((w) => !/^\p{N}+$/u.test(w))) own = own.filter((w) => !/^\p{N}+$/u.test(w));
  const now = new Set(wordsIn(context));
  return own.length > 0 && own.filter((w) => now.has(w)).length > own.length * 0.6;
};

// unnamed reports whether an element is outside of the accessibility tree now: inert
// by the attribute or because a modal dialog is open.
const unnamed = (el) => {
  if (inertNow(el)) return true;
  const modal = allIn(page, 'dialog:modal');
  return modal.length > 0 && !flatContains(modal[modal.length - 1], el);
};

// findRef returns {el} where the element of a ref is there and is what the
// client was shown, {el, moved} where it was re-created, or {answer}: what to
// tell instead.
export const findRef = (q) => {
  forget();
  const el = node(q.id);
  if (!el) {
    countNumbers();
    const t = twins(q, null);
    if (t.length === 1) {
      const known = born.get(idOf(t[0]));
      // Numbered while the old one was there: it stood beside it.
      if (known === undefined || known >= (died.get(q.id) || 0)) return { el: t[0], moved: true };
    }
    return { answer: { stale: true, candidates: candidates(q) } };
  }
  // What is not rendered, or inert, has no name. Whoever needs it waits until it
  // has, and asks again.
  if (q.any || !rendered(el) || unnamed(el)) return { el };
  const role = shownRole(roleOf(el)), name = nameOf(el) || '', context = contextOf(el);
  if (context !== q.context && q.context) {
    const t = twins(q, el);
    // The row is somewhere else now. One that the client was shown with that
    // very context is a row of its own; the daemon knows (it compares).
    if (t.length === 1) return { answer: { twin: record(t[0]), now: record(el) } };
    if (t.length > 1) return { answer: { stale: true, candidates: candidates(q) } };
    if (!sameRow(el, q, context)) return { answer: { changed: record(el) } };
  }
  if (role !== q.role || name !== q.name) return { answer: { changed: record(el) } };
  return { el };
};

// findAgain answers for a ref whose element a walk has not found, as locate does.
/** @type {import('./functions.js').Functions['findAgain']} */
export const findAgain = (q) => {
  const found = findRef(q);
  if (found.answer) return found.answer;
  return { moved: found.moved, record: record(found.el) };
};
