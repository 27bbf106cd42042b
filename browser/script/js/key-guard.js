// Watching over the keyboard while something is typed. Each document of the tab is told
// what of it the keys are for, an element or nothing; no other trusted key, text or paste
// gets to the page. The listeners stand on the window before any of the page's own.

import { contents, deepActive, editable, fillKind, hasFocus } from './controls.js';
import { attr, dispatch, documentElementOf, execute, FOLLOWING, getRootNode, isConnected, localName, position } from './dom.js';
import { flatContains } from './flat-tree.js';
import { node } from './node-ids.js';
import { page } from './page.js';
import { FRAMES } from './role.js';
import { secret } from './secrets.js';
import { acceptInput, recentlyAdded } from './recently-added.js';
import { listen } from './window-listeners.js';

const KEYS = ['keydown', 'keypress', 'keyup', 'beforeinput', 'textInput', 'paste', 'compositionstart'];

// What the keys are for. el, and holder in it, which had the focus (null: no key is for this
// document). boxes: el and those that it handed the focus to. got: how many events were let
// through, chars how many characters. refused: what others were for. lost: the focus has gone
// elsewhere.
/** @type {Record<string, any> | null} */
let guard = null;

const holds = (g, target) => target instanceof Node && (hosts(target, g.el) ? focused(g) : flatContains(g.el, target) || g.holder && flatContains(g.holder, target) || flatContains(target, g.el) && editable(target));

// hosts tells whether el is in a shadow tree of host: of what happens in a closed one, listeners
// on the window are told the host.
const hosts = (host, el) => {
  for (let r = getRootNode(el); r instanceof ShadowRoot; r = getRootNode(r.host)) if (r.host === host) return true;
  return false;
};

const onKey = (e) => {
  const g = guard;
  if (!e.isTrusted || !g && !recentlyAdded()) return;
  const target = e.composedPath()[0] || e.target;
  if (g && g.el && !g.lost && isConnected(g.el) && holds(g, target)) {
    if (e.type !== 'keyup') g.got++;
    count(g, e);
    return;
  }
  // A named key that comes up may belong to the press that moved the focus, and says nothing.
  if (g && e.type === 'keyup' && e.key.length > 1 && !g.refused) return;
  e.preventDefault();
  e.stopImmediatePropagation();
  if (!g || e.type === 'keyup') return;
  g.lost = true;
  if (!g.refused) g.refused = target instanceof Element ? target : documentElementOf(page);
};

// count counts the characters: one a key, and those that are inserted without a key.
const count = (g, e) => {
  if (e.type === 'keydown' && (e.key.length === 1 || e.key === 'Enter') && !e.ctrlKey && !e.altKey && !e.metaKey) {
    g.chars++;
    g.key = true;
  } else if (e.type === 'keyup') {
    g.key = false;
  } else if (e.type === 'beforeinput' && !g.key && e.data) {
    g.chars += [...e.data].length;
  }
};

// onBlur ends the typing where the focus does not come back within the task, or is handed
// on to the next box of a code.
const onBlur = () => {
  const g = guard;
  if (!g || !g.el || g.lost) return;
  queueMicrotask(() => {
    if (guard !== g || focused(g)) return;
    const next = hasFocus(page) ? deepActive(null) : null;
    if (g.text && next && isNextBox(g.el, next)) {
      g.boxes.push(next);
      g.el = g.holder = next;
    } else {
      g.lost = true;
    }
  });
};
const focused = (g) => {
  const active = hasFocus(page) && deepActive(g.el);
  return !!active && !hosts(active, g.el) && holds(g, active);
};

// isNextBox reports whether a page that moves the focus from one field to the other means a
// code that is typed into a box for each character: the first is full, the other is empty,
// of the same kind and length, and comes after it in the same form.
const isNextBox = (box, next) => {
  if (!(box instanceof HTMLInputElement && next instanceof HTMLInputElement)) return false;
  const most = +attr(box, 'maxlength');
  return most > 0 && most < 5 && attr(next, 'maxlength') === attr(box, 'maxlength') && next.type === box.type && next.form === box.form &&
    contents(box).length >= most && contents(next) === '' && !next.readOnly && secret(next) === secret(box) &&
    (position(box, next) & FOLLOWING) !== 0;
};

listen(KEYS, onKey, { capture: true, passive: false });
listen(['focusout'], onBlur);

// armKeys lets keys through to the element alone, null for nothing here, and reports whether it
// has the focus. any: whatever has the focus here is meant. text: a text is typed.
export const armKeys = (el, { any = false, text = false } = {}) => {
  acceptInput();
  const g = guard = { el, holder: null, boxes: [el], text, got: 0, chars: 0, key: false, refused: null, lost: false };
  if (!el) return false;
  const active = hasFocus(page) ? deepActive(el) : null;
  if (active && (flatContains(el, active) || flatContains(active, el) && editable(active))) g.holder = active;
  else if (active && (any || fillKind(el) === '') && !FRAMES.has(localName(active))) g.holder = active; // what listens for it
  return !!g.holder;
};

// guardKeys is that for the element with that number, 0 for nothing here and -1 for whatever
// has the focus here.
/** @type {import('./functions.js').Functions['guardKeys']} */
export const guardKeys = (id) => armKeys(id < 0 ? documentElementOf(page) : id ? node(id) : null, { any: id < 0 });

// insertText inserts a text into the field that the keys are for, if it has the focus, and tells the page of a key as
// the keyboards of telephones do, which do not say what key it was. No other document hears of it.
/** @type {import('./functions.js').Functions['insertText']} */
export const insertText = (text) => {
  const g = guard;
  if (!g || !g.el) return false;
  const key = (type) => dispatch(g.el, new KeyboardEvent(type, { key: 'Unidentified', keyCode: 229, bubbles: true, cancelable: true, composed: true }));
  key('keydown');
  const inserted = !g.lost && isConnected(g.el) && hasFocus(page) && deepActive(g.el) === g.el && execute(page, 'insertText', false, text);
  if (!inserted) {
    g.lost = true;
    return false;
  }
  key('keyup');
  g.got++;
  g.chars += [...text].length;
  return true;
};

// endKeys ends that, and returns what has come of it.
export const endKeys = () => {
  const g = guard;
  guard = null;
  if (g && g.el && g.got) secret(g.el, true);
  if (g && g.el && !isConnected(g.el)) g.lost = true;
  return g;
};
