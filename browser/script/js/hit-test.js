// Watching over an input while it is under way. From armHitTest to hitResult no
// trusted press reaches anything but the element that locate found, and what was hit
// is remembered. The listeners stand on the window before any of the page's own.

import { acceptsInput, boxKey, cover, coverOf, elementUnder } from './actionable.js';
import { animationsOf, closest, exitPointerLock, getRootNode, isConnected, localName, pointerLockOf, rectOf, textContent } from './dom.js';
import { elementCalls } from './element-calls.js';
import { flatContains } from './flat-tree.js';
import { node } from './node-ids.js';
import { forget, page } from './page.js';
import { settle } from './settle.js';
import { recentlyAdded } from './recently-added.js';
import { nextTask } from './tasks.js';
import { listen } from './window-listeners.js';

const PRESS = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'touchstart', 'touchend', 'dragstart', 'dragenter', 'dragover', 'drop'];
const RELEASE = new Set(['pointerup', 'mouseup', 'click', 'dblclick', 'auxclick', 'touchend']);

// What is watched over: el (null: nothing of this document may be hit), at where
// it was found, presses how many are to come, received that a press has reached el, open that
// none has been refused since, moved that el was somewhere else than where it was
// expected, any that the whole document may be hit, since what is clicked is the frame
// that shows it, or a point. downs and seen count mousedown and mouseup, pointerdowns and released pointerdown and
// pointerup, judged is released when the last press was judged; hit is what that came to, let what the last
// release or drop came to, and where.
let pressGuard = null;

// reached tells the daemon that the input has reached its element, before the page
// hears of it: a document that is left, or held by a dialog, answers nothing later.
const reached = () => {
  const tell = /** @type {any} */ (globalThis).__bdReached; // a binding of CDP
  if (typeof tell === 'function') tell('');
};

const refuse = (e) => {
  e.preventDefault();
  e.stopImmediatePropagation();
};

const onPress = (e) => {
  const g = pressGuard;
  if (!e.isTrusted) return;
  if (!g) {
    if (recentlyAdded()) refuse(e);
    return;
  }
  if (e.type === 'pointerdown') g.pointerdowns++;
  if (e.type === 'mousedown') g.downs++;
  // A release whose press came to another document, or to none, is no press of el's.
  const stray = g.presses > 0 && !pressesOf(g) && RELEASE.has(e.type) && (g.any || g.el);
  const target = e.composedPath()[0] || e.target;
  // Of a double click each press is judged.
  if (target instanceof Element && !stray && (!g.decided || g.open && g.released > g.judged && (e.type === 'pointerdown' || e.type === 'mousedown'))) judge(g, target, e);
  if (target instanceof Element && (e.type === 'dragover' || e.type === 'drop' || !g.drop && (e.type === 'pointerup' || e.type === 'mouseup'))) {
    g.let = { target, x: e.clientX, y: e.clientY };
    g.drop = e.type === 'drop' ? 'dropped' : e.type === 'dragover' ? 'over' : '';
  }
  if (e.type === 'pointerup') g.released++;
  // It was let go somewhere else because the element has moved away meanwhile: no
  // click comes of that.
  if (g.open && e.type === 'pointerup' && g.pressed) g.slips = boxKey(g.el) !== g.pressed.at;
  if (g.open && e.type === 'mouseup' && g.el && isConnected(g.el) && !acceptsInput(target, g.el) && movedAway(g, e)) {
    g.open = g.received = false;
    g.hit = target;
    g.moved = true;
  }
  if (!g.open) refuse(e);
  // A click follows its mouseup in the same task: one turn later it is over.
  if (e.type === 'mouseup' && ++g.seen >= g.presses) nextTask().then(() => g.finish());
};
// pressesOf returns how many presses have come. A page can keep mousedown from coming.
const pressesOf = (g) => Math.max(g.downs, g.pointerdowns);
const judge = (g, target, e) => {
  const again = g.decided;
  g.decided = true;
  g.judged = g.released;
  g.hit = target;
  g.dragged = /^d(rag|rop)/.test(e.type);
  const inside = hosts(g.el).includes(target) ? elementUnder(e.clientX, e.clientY, g.el) : target;
  g.open = g.any || !!g.el && (acceptsInput(inside, g.el) || again && standsFor(target, g.el));
  if (again) return;
  g.moved = !g.open && !!g.el && isConnected(g.el) && boxKey(g.el) !== g.at;
  g.received = g.open;
  if (g.open) reached();
};
// hosts returns the shadow hosts that el is in. Of a closed shadow tree the target of an event is
// its host: what is in it has to be looked for.
const hosts = (el) => {
  const list = [];
  for (let r = el && getRootNode(el); r instanceof ShadowRoot; r = getRootNode(r.host)) list.push(r.host);
  return list;
};
// standsFor reports whether the page has put what was hit in the place of el, which was
// pressed once: many write a line anew for each click.
const standsFor = (hit, el) => {
  const twin = !isConnected(el) && closest(hit, CSS.escape(localName(el)));
  return !!twin && textContent(twin) === textContent(el);
};
const movedAway = ({ el, slips, pressed }, e) => {
  if (rectOf(el).width === 0 || inBox(el, e.clientX, e.clientY)) return false;
  return slips && e.clientX === pressed.x && e.clientY === pressed.y || animationsOf(el).length > 0; // a drag moves the mouse
};
// onPressed comes last of all, when the page has done what it does with the press:
// what moves the element from then on is not that.
const onPressed = (e) => {
  if (pressGuard && pressGuard.open && pressGuard.el && e.isTrusted) pressGuard.pressed = { at: boxKey(pressGuard.el), x: e.clientX, y: e.clientY };
};
const none = () => {};

// dropHitTest ends a hit test whose action was given up: nobody hears of it.
export const dropHitTest = () => {
  if (pressGuard) pressGuard.finish();
  pressGuard = null;
};

/** @param {{el: any, presses?: number, any?: boolean, point?: {x: number, y: number} | null, under?: any}} what */
export const armHitTest = ({ el, presses = 0, any = false, point = null, under = el }) => {
  // Where an element has the pointer for itself, a person presses Escape before pressing another.
  const holder = el && pointerLockOf(page);
  if (holder && !acceptsInput(holder, el)) exitPointerLock(page);
  dropHitTest();
  /** @type {Record<string, any>} */
  const g = pressGuard = { el, at: under && boxKey(under), presses, any, point, under, dragged: false, pointerdowns: 0, downs: 0, seen: 0, released: 0, judged: 0, decided: false, received: false, open: false, hit: null, let: null, drop: '', moved: false, pressed: null, slips: false };
  g.done = new Promise((done) => { g.finish = done; });
};

// guardPress lets no press through to this document but to that node, or, with any,
// whichever comes.
/** @type {import('./functions.js').Functions['guardPress']} */
export const guardPress = ({ node: id, any, presses }) => armHitTest({ el: id && node(id) || null, any, presses });

// isUnder reports whether what was found at its point is there now, or what is, and
// whether the pointer has come over it. Where it is there, by is what else the pointer has
// come over before.
/** @type {import('./functions.js').Functions['isUnder']} */
export const isUnder = () => {
  const g = pressGuard;
  if (!g) return { hit: true };
  const hit = g.point && elementUnder(g.point.x, g.point.y, g.under);
  if (!g.point || (g.el ? acceptsInput(hit, g.el) : hit === g.under)) return { hit: true, seen: !!g.over, by: g.strayed && !g.any ? named(g.strayed) : null };
  return { seen: !!g.over, by: hit && boxKey(g.under) === g.at ? named(hit) : null };
};
const onMove = (e) => {
  const g = pressGuard;
  if (!g || !e.isTrusted) return;
  const target = e.composedPath()[0];
  g.over = g.over || !!g.el && acceptsInput(target, g.el);
  if (!g.over && target instanceof Element && target !== g.under) g.strayed = target;
};

// named is the record of what was hit. The page is another than it was when el was found.
const named = (hit) => {
  forget();
  return cover(coverOf(hit));
};

// endHitTest lets every input through again, and says what was hit here: by is what was
// refused, to what received a press or a drop and is not the element.
/** @type {import('./functions.js').Functions['endHitTest']} */
export const endHitTest = () => {
  const g = pressGuard;
  pressGuard = null;
  if (!g || !g.decided) return {};
  if (!g.open) return { seen: true, by: named(g.hit) };
  if (g.dragged && g.drop !== 'dropped') return { seen: true }; // nothing accepts it
  return { seen: true, hit: true, presses: pressesOf(g), to: elsewhere(g, g.dragged ? g.let : { target: g.hit }, g.el) };
};

// elsewhere names what input came to that was for el: null where el has it. What is dragged
// lies over what it is dragged to, or has the pointer for itself: then what is below it counts.
const elsewhere = (g, { target, x = 0, y = 0 }, el) => {
  if (g.el && g.el !== el && flatContains(g.el, target)) {
    const below = Document.prototype.elementsFromPoint.call(page, x, y).find((n) => !flatContains(g.el, n));
    if (el && below && (acceptsInput(below, el) || flatContains(below, el) && inBox(el, x, y))) return null;
  }
  return el && acceptsInput(target, el) ? null : named(target);
};
const inBox = (el, x, y) => {
  const r = rectOf(el);
  return x >= r.left && x <= r.right && y >= r.top && y <= r.bottom;
};

// releaseHitTest ends the waiting of hitResult(): the input has been answered for.
/** @type {import('./functions.js').Functions['releaseHitTest']} */
export const releaseHitTest = () => {
  if (pressGuard) pressGuard.finish();
  return true;
};

// hitResult waits until the input is over, disarms the guard, and says what was
// hit: {hit: true} where it was the element, else {by: what}, or {} where
// nothing in this document was, or the element had moved away. With part, not all of it
// came to the element. then names what else is wanted of the element.
/** @type {import('./functions.js').Functions['hitResult']} */
export const hitResult = async (q) => {
  const g = pressGuard;
  if (!g) return {};
  await g.done;
  if (pressGuard !== g) return {};
  pressGuard = null;
  const answer = { hit: g.received, seen: g.decided, presses: pressesOf(g), part: !g.open || Math.max(g.seen, g.released) < g.presses };
  if (!g.open && g.hit && !g.moved) answer.by = named(g.hit);
  if (answer.hit && q && q.to && g.let) answer.to = elsewhere(g, g.let, q.to > 0 ? node(q.to) : null);
  if (g.el && isConnected(g.el) && q && q.then) answer.then = elementCalls[q.then](g.el, q.with);
  // What the input set off, in the same round trip, if nothing follows it.
  if (answer.hit && q && q.settle) answer.settled = await settle({ shown: q.shown });
  return answer;
};

listen(PRESS, onPress, { capture: true, passive: false });
listen(['mousedown'], onPressed, { passive: true });
listen(['mousemove'], onMove, { capture: true, passive: true });
listen(['pointerrawupdate'], none, { passive: true }); // MoveAtOnce needs that somebody listens
