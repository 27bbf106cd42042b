// Elements that have click-like listeners of their own.

import { ELEMENT, localName, nodeType } from './dom.js';
import { flatParent } from './flat-tree.js';

export const hasListener = new WeakSet(); // have click-like listeners of their own
export const containsListener = new WeakSet(); // contain such

// What an element may listen for on behalf of what is in it: a press, as a drag begins with,
// or a double click, a context menu, a drag of HTML.
export const PRESS_LISTENED = 1, GESTURES = 2;
const delegated = new WeakMap(); // element → PRESSED, MORE or both
export let anyDelegated = false;

// addDelegated tells the script which elements may listen so.
export function addDelegated(kind, els) {
  for (const el of els) {
    if (!el || nodeType(el) !== ELEMENT || localName(el) === 'body' || localName(el) === 'html') continue;
    delegated.set(el, (delegated.get(el) || 0) | kind);
    anyDelegated = true;
  }
}

// delegatedBy returns what el itself listens for so.
export const delegatedBy = (el) => (anyDelegated && delegated.get(el)) || 0;

// delegatedAround returns what el and the elements around it listen for so.
export function delegatedAround(el) {
  let kinds = 0;
  for (let p = el; anyDelegated && p; p = flatParent(p)) kinds |= delegated.get(p) || 0;
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
