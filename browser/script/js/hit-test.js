// Watching over an input while it is under way. From armHitTest to hitResult no
// trusted press reaches anything but the element that locate found, and what was hit
// is remembered. The listeners stand on the window before any of the page's own.

import { acceptsInput, boxKey, cover, coverOf, elementUnder } from './actionable.js';
import { animationsOf, isConnected, rectOf } from './dom.js';
import { elementCalls } from './element-calls.js';
import { forget } from './page.js';
import { settle } from './settle.js';
import { recentlyAdded } from './recently-added.js';

const PRESS = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'touchstart', 'touchend', 'dragstart', 'dragenter', 'dragover', 'drop'];

// What is watched over: el (null: nothing of this document may be hit), at where
// it was found, ups the releases to come, open that the press has reached el,
// moved that el was somewhere else than where it was expected, any that the whole
// document may be hit, since what is clicked is the frame that shows it.
let armed = null;

// reached tells the daemon that the input has reached its element, before the page
// hears of it: a document that is left, or held by a dialog, answers nothing later.
const reached = () => {
  const tell = /** @type {any} */ (globalThis).__bdReached; // a binding of CDP
  if (typeof tell === 'function') tell('');
};

// turn is one turn of the event loop.
const oneTurn = () => new Promise((done) => {
  const c = new MessageChannel();
  c.port1.onmessage = done;
  c.port2.postMessage(0);
});

const refuse = (e) => {
  e.preventDefault();
  e.stopImmediatePropagation();
};

const onPress = (e) => {
  const g = armed;
  if (!e.isTrusted) return;
  if (!g) {
    if (recentlyAdded()) refuse(e);
    return;
  }
  const target = e.composedPath()[0] || e.target;
  if (!g.decided && target instanceof Element) {
    g.decided = true;
    g.open = g.any || !!g.el && (acceptsInput(target, g.el) || acceptsInput(elementUnder(e.clientX, e.clientY, g.el), g.el));
    g.hit = target;
    g.moved = !g.open && !!g.el && isConnected(g.el) && boxKey(g.el) !== g.at;
    if (g.open) reached();
  }
  // It was let go somewhere else because the element has moved away meanwhile: no
  // click comes of that.
  if (g.open && e.type === 'pointerup' && g.pressed) g.slips = boxKey(g.el) !== g.pressed.at;
  if (g.open && e.type === 'mouseup' && g.el && isConnected(g.el) && !acceptsInput(target, g.el) && movedAway(g, e)) {
    g.open = false;
    g.hit = target;
    g.moved = true;
  }
  if (!g.open) refuse(e);
  // A click follows its mouseup in the same task: one turn later it is over.
  if (e.type === 'mouseup' && ++g.seen >= g.ups) oneTurn().then(() => g.finish());
};
const movedAway = ({ el, slips, pressed }, e) => {
  const r = rectOf(el);
  if (r.width === 0 || e.clientX >= r.left && e.clientX <= r.right && e.clientY >= r.top && e.clientY <= r.bottom) return false;
  return slips && e.clientX === pressed.x && e.clientY === pressed.y || animationsOf(el).length > 0; // a drag moves the mouse
};
// onPressed comes last of all, when the page has done what it does with the press:
// what moves the element from then on is not that.
const onPressed = (e) => {
  if (armed && armed.open && armed.el && e.isTrusted) armed.pressed = { at: boxKey(armed.el), x: e.clientX, y: e.clientY };
};
const listen = () => {
  for (const type of PRESS) addEventListener(type, onPress, { capture: true, passive: false });
  addEventListener('mousedown', onPressed, { passive: true });
  addEventListener('mousemove', onMove, { capture: true, passive: true });
};

/** @param {{el: any, ups?: number, any?: boolean, point?: {x: number, y: number} | null, under?: any}} what */
export const armHitTest = ({ el, ups = 0, any = false, point = null, under = el }) => {
  // page.open() takes the listeners of the window away (HTML, 8.4.1);
  // where they still stand this changes nothing.
  listen();
  /** @type {Record<string, any>} */
  const g = armed = { el, at: el && boxKey(el), ups, any, point, under, seen: 0, decided: false, open: false, hit: null, moved: false, pressed: null, slips: false };
  g.done = new Promise((done) => { g.finish = done; });
};

// guardPress lets no press through to this document, or, with any, whichever comes.
/** @type {import('./functions.js').Functions['guardPress']} */
export const guardPress = (any) => armHitTest({ el: null, any });

// isUnder says whether what was found at its point is there now.
/** @type {import('./functions.js').Functions['isUnder']} */
export const isUnder = () => {
  const g = armed;
  if (!g || !g.point) return true;
  const hit = elementUnder(g.point.x, g.point.y, g.under);
  return g.el ? acceptsInput(hit, g.el) : hit === g.under;
};

// isOver says whether the pointer came over the element, or the element is under it.
/** @type {import('./functions.js').Functions['isOver']} */
export const isOver = () => !!armed && armed.over || isUnder();
const onMove = (e) => {
  const g = armed;
  if (g && g.el && e.isTrusted && !g.over) g.over = acceptsInput(e.composedPath()[0], g.el);
};

// endHitTest lets every input through again, and says what was hit here.
/** @type {import('./functions.js').Functions['endHitTest']} */
export const endHitTest = () => {
  const g = armed;
  armed = null;
  return g && g.decided ? { seen: true, hit: g.open, by: g.open ? null : cover(coverOf(g.hit)) } : {};
};

// releaseHitTest ends the waiting of hitResult(): the input has been answered for.
/** @type {import('./functions.js').Functions['releaseHitTest']} */
export const releaseHitTest = () => {
  if (armed) armed.finish();
  return true;
};

// hitResult waits until the input is over, disarms the guard, and says what was
// hit: {hit: true} where it was the element, else {by: what}, or {} where
// nothing in this document was, or the element had moved away. then names what else is wanted of the element.
/** @type {import('./functions.js').Functions['hitResult']} */
export const hitResult = async (q) => {
  const g = armed;
  if (!g) return {};
  await g.done;
  if (armed === g) armed = null;
  const answer = { hit: g.open, seen: g.decided };
  if (!answer.hit && g.hit && !g.moved) {
    forget(); // the page is another than it was when el was found
    answer.by = cover(coverOf(g.hit));
  }
  if (g.el && isConnected(g.el) && q && q.then) answer.then = elementCalls[q.then](g.el, q.with);
  // What the input set off, in the same round trip, where nothing follows it.
  if (answer.hit && q && q.settle) answer.settled = await settle({ shown: q.shown });
  return answer;
};
listen();
