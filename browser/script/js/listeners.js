// Elements that have click-like listeners of their own.

import { ELEMENT, nodeType } from './dom.js';
import { flatParent } from './flat-tree.js';

export const hasListener = new WeakSet(); // have click-like listeners of their own
export const containsListener = new WeakSet(); // contain such

// addListeners tells the script which elements have click-like listeners of their own,
// which only CDP sees (DOMDebugger.getEventListeners).
export function addListeners(...els) {
  for (const el of els) {
    if (!el || nodeType(el) !== ELEMENT || hasListener.has(el)) continue;
    hasListener.add(el);
    for (let p = flatParent(el); p && !containsListener.has(p); p = flatParent(p)) containsListener.add(p);
  }
}
