// Elements that have click-like listeners of their own.

import { ELEMENT, localName, nodeType } from './dom.js';
import { flatParent } from './flat-tree.js';

export const hasListener = new WeakSet(); // have click-like listeners of their own
export const containsListener = new WeakSet(); // contain such

// What an element may listen for on behalf of what is in it: a press, as a drag begins with,
// or a double click, a context menu, a drag of HTML.
export const PRESSED = 1, MORE = 2;
const meant = new WeakMap(); // element → PRESSED, MORE or both
let anyMeant = false;

// addMeant tells the script which elements may listen so.
export function addMeant(kind, els) {
  for (const el of els) {
    if (!el || nodeType(el) !== ELEMENT || localName(el) === 'body' || localName(el) === 'html') continue;
    meant.set(el, (meant.get(el) || 0) | kind);
    anyMeant = true;
  }
}

// meantBy returns what el itself listens for so.
export const meantBy = (el) => (anyMeant && meant.get(el)) || 0;

// meantAround returns what el and the elements around it listen for so.
export function meantAround(el) {
  let kinds = 0;
  for (let p = el; anyMeant && p; p = flatParent(p)) kinds |= meant.get(p) || 0;
  return kinds;
}

// addListeners tells the script which elements have click-like listeners of their own,
// which only CDP sees (DOMDebugger.getEventListeners).
export function addListeners(...els) {
  for (const el of els) {
    if (!el || nodeType(el) !== ELEMENT || hasListener.has(el)) continue;
    hasListener.add(el);
    for (let p = flatParent(el); p && !containsListener.has(p); p = flatParent(p)) containsListener.add(p);
  }
}
