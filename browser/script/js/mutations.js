// The elements that changed since the client was last shown the document.

import { ELEMENT, isConnected, nodeType, parentNode } from './dom.js';

const MAX_MUTATED = 1000; // elements that are kept
export const MAX_REPORTED = 5; // elements that offScope writes

// The elements that changed; false: something in it has gone, and that was all.
let mutated = new Map();
let overflowed = false; // more changed than is kept
// What had changed when the walk with that number took the document's picture.
let before = { capture: 0, mutated: new Map(), overflowed: false };

// markShown says that the walk with that number shows what has changed up to now.
// A walk that is made again shows no less.
export function markShown(capture) {
  const again = before.capture === capture;
  before = { capture, mutated: again ? new Map([...before.mutated, ...mutated]) : mutated, overflowed: overflowed || again && before.overflowed };
  mutated = new Map();
  overflowed = false;
}

// changedBefore returns what had changed when the walk under way began, as mutated has it.
export const changedBefore = () => before.mutated;

// takeMutations returns what changed between the walk with that number and now, once.
export function takeMutations(capture) {
  markShown(capture);
  const changes = before;
  before = { capture: 0, mutated: new Map(), overflowed: false };
  return changes;
}

// noteMutation records that el changed. A recorded change is never downgraded to a removal
// (there = false).
export function noteMutation(el, there = true) {
  if (!there && mutated.has(el)) return;
  if (mutated.size < MAX_MUTATED || mutated.has(el)) mutated.set(el, there);
  else overflowed = true;
}

// noteRecords keeps what the records of a MutationObserver are about: of children the
// added elements, or what a text stands in.
export function noteRecords(records) {
  for (const r of records) {
    if (overflowed) return;
    let added = 0, other = r.type !== 'childList';
    for (const n of r.addedNodes) {
      if (nodeType(n) === ELEMENT) noteMutation(n);
      else other = true;
      added++;
    }
    const t = r.target, el = nodeType(t) === ELEMENT ? t : t instanceof ShadowRoot ? t.host : parentNode(t);
    if (el && nodeType(el) === ELEMENT && (other || !added)) noteMutation(el, other);
  }
}

// dropDetached lets go of what has left the document: nobody else holds it.
export function dropDetached() {
  for (const map of [mutated, before.mutated]) {
    for (const el of map.keys()) if (!isConnected(el)) map.delete(el);
  }
}
