// The numbers that stand for nodes outside of the script.

import { isConnected } from './dom.js';

const numbers = new WeakMap(); // node → local id
const nodes = new Map(); // local id → WeakRef
export let lastNumber = 0;
const gone = new FinalizationRegistry((id) => nodes.delete(id));

// idOf returns the node's number in this document, from 1; the same for as long
// as the node exists.
export function idOf(node) {
  let id = numbers.get(node);
  if (id === undefined) {
    id = ++lastNumber;
    numbers.set(node, id);
    nodes.set(id, new WeakRef(node));
    gone.register(node, id);
  }
  return id;
}

// node returns the node with that number, or null if it is no longer in the
// document (it may come back: a number is never given to another node).
export function node(id) {
  const ref = nodes.get(id);
  const n = ref && ref.deref();
  return n && isConnected(n) ? n : null;
}
