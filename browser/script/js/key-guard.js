// Watching over the keyboard while something is typed. Each document of the tab is told
// what of it the keys are for, an element or nothing; no other trusted key, text or paste
// gets to the page. The listeners stand on the window before any of the page's own.

import { deepActive, editable, fillKind, hasFocus } from './controls.js';
import { isConnected, localName } from './dom.js';
import { flatContains } from './flat-tree.js';
import { node } from './node-ids.js';
import { page } from './page.js';
import { record } from './refs.js';
import { FRAMES } from './role.js';
import { grown, young } from './young.js';

const KEYS = ['keydown', 'keypress', 'keyup', 'beforeinput', 'textInput', 'paste', 'compositionstart'];

// What the keys are for: el and what in it had the focus (null: nothing here), got how
// many were let through, refused what others were for, lost that the focus went elsewhere.
let guard = null;

const holds = (g, target) => target instanceof Node && (flatContains(g.el, target) || g.holder && flatContains(g.holder, target) || flatContains(target, g.el) && editable(target));

const onKey = (e) => {
  const g = guard;
  if (!e.isTrusted || !g && !young()) return;
  const target = e.composedPath()[0] || e.target;
  if (g && g.el && !g.lost && isConnected(g.el) && holds(g, target)) {
    if (e.type !== 'keyup') g.got++;
    return;
  }
  // A named key that comes up says nothing, and may belong to the press that moved the focus.
  if (g && e.type === 'keyup' && e.key.length > 1) return;
  e.preventDefault();
  e.stopImmediatePropagation();
  if (!g) return;
  g.lost = true;
  if (!g.refused) g.refused = target instanceof Element ? target : page.documentElement;
};

// onBlur ends the typing where the focus does not come back within the task.
const onBlur = () => {
  const g = guard;
  if (!g || !g.el || g.lost) return;
  queueMicrotask(() => {
    if (guard === g && !focused(g)) g.lost = true;
  });
};
const focused = (g) => {
  const active = hasFocus(page) && deepActive(g.el);
  return !!active && holds(g, active);
};

const listen = () => {
  for (const type of KEYS) addEventListener(type, onKey, { capture: true, passive: false });
  addEventListener('focusout', onBlur, true);
};
listen();

// guardKeys lets keys through to the element with that number alone, 0 for nothing here
// and -1 for whatever has the focus here, and says whether it has the focus.
/** @type {import('./functions.js').Functions['guardKeys']} */
export const guardKeys = (id) => {
  listen(); // page.open() takes them away
  grown();
  const el = id < 0 ? page.documentElement : id ? node(id) : null;
  guard = { el, holder: null, got: 0, refused: null, lost: false };
  if (!el) return false;
  const active = hasFocus(page) ? deepActive(el) : null;
  if (active && (flatContains(el, active) || flatContains(active, el) && editable(active))) guard.holder = active;
  else if (active && (id < 0 || fillKind(el) === '') && !FRAMES.has(localName(active))) guard.holder = active; // what listens for it
  return !!guard.holder;
};

// keysResult ends that, and says who has got keys and who would have.
/** @type {import('./functions.js').Functions['keysResult']} */
export const keysResult = () => {
  const g = guard;
  guard = null;
  if (!g) return { got: 0, lost: false };
  return { got: g.got, lost: g.lost || !!g.el && !isConnected(g.el), by: g.refused && isConnected(g.refused) ? record(g.refused) : null };
};
