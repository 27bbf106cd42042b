// What is inert or left out of the accessibility tree.

import { attr, has, localName, matches } from './dom.js';
import { flatParent } from './flat-tree.js';

// hiddenFromAX reports whether Chromium leaves el out of its accessibility tree
// for aria-hidden on it or around it.
export function hiddenFromAX(el) {
  for (let p = el; p; p = flatParent(p)) if (attr(p, 'aria-hidden') === 'true') return true;
  return false;
}

// inertNow reports whether el is inert by the attribute.
export function inertNow(el) {
  for (let p = el; p; p = flatParent(p)) {
    if (has(p, 'inert')) return true;
    if (localName(p) === 'dialog' && matches(p, ':modal')) return false;
  }
  return false;
}
