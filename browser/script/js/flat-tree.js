// The flat tree: nodes as they are laid out, through shadow roots and slots.

import {
  assignedNodes, assignedSlot, childNodes, ELEMENT, firstChild, HTML, isConnected, localName, namespaceURI, nextSibling, nodeType, openRoot, parentNode, TEXT,
  textSlot,
} from './dom.js';

const closedRoots = new WeakMap(); // host → closed shadow root, handed over by CDP
export let anyClosed = false;

// addClosedRoot registers the closed shadow root of host, which script cannot reach.
export function addClosedRoot(host, root) {
  closedRoots.set(host, root);
  anyClosed = true;
}

export const shadowOf = (el) => openRoot(el) || (anyClosed && closedRoots.get(el)) || null;

export const isElement = (n) => nodeType(n) === ELEMENT;
export const isHTML = (el) => namespaceURI(el) === HTML;
// htmlTag returns the tag of an element of HTML, '' for others.
export const htmlTag = (el) => (isHTML(el) ? localName(el) : '');
export const tagOf = (el) => localName(el).toLowerCase();

// slotOf returns the slot that shows n, a child of a shadow host; null if none does.
function slotOf(n) {
  const type = nodeType(n);
  const slot = type === ELEMENT ? assignedSlot(n) : type === TEXT ? textSlot(n) : null;
  if (slot) return slot;
  const root = anyClosed && closedRoots.get(parentNode(n)); // assignedSlot says nothing of a closed one
  if (!root) return null;
  for (const s of root.querySelectorAll('slot')) if (assignedNodes(s).includes(n)) return s;
  return null;
}

// flatParent returns the node's parent as it is laid out: the slot of a slotted
// node, the host of a shadow root's child; null at the document and for what no
// slot shows.
export function flatParent(n) {
  const p = parentNode(n);
  if (!p) return null;
  const type = nodeType(p);
  if (type === 11) return p.host || null;
  if (type !== ELEMENT) return null;
  return shadowOf(p) ? slotOf(n) : p;
}

// HOSTS are the tags that attachShadow takes beside those of custom elements, which
// have a hyphen.
const HOSTS = new Set('article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span'.split(' '));

// rootOf is shadowOf for callers that know the tag of el.
export const rootOf = (el, tag) => (anyClosed || HOSTS.has(tag) || tag.includes('-') ? shadowOf(el) : null);

// The shadow roots that a walk has visited: the watch of the document observes them too.
const MAX_VISITED = 300;
const visited = new Set(); // of WeakRefs
const everVisited = new WeakSet();

function visit(root) {
  if (visited.size >= MAX_VISITED || everVisited.has(root)) return;
  everVisited.add(root);
  visited.add(new WeakRef(root));
}

// visitedRoots returns those of them that are in the document.
export function visitedRoots() {
  const list = [];
  for (const ref of visited) {
    const root = ref.deref();
    if (root && isConnected(root)) {
      list.push(root);
      continue;
    }
    visited.delete(ref);
    if (root) everVisited.delete(root);
  }
  return list;
}

// flatList returns the children of el as they are laid out where they are not
// simply its own children, otherwise null: they are then read one by one, so
// that a million siblings cost only those that are looked at.
export function flatList(el, tag = localName(el), root = rootOf(el, tag)) {
  if (root) {
    visit(root);
    return childNodes(root);
  }
  if (tag === 'slot' && isHTML(el)) {
    const assigned = assignedNodes(el);
    if (assigned.length) return assigned;
  }
  return null;
}

// flatChildren returns the children of el as they are laid out.
export function flatChildren(el) {
  const list = flatList(el);
  if (list !== null) return Array.from(list);
  const children = [];
  for (let n = firstChild(el); n !== null; n = nextSibling(n)) children.push(n); // a third of the time of Array.from
  return children;
}

// flatContains reports whether n is outer or stands in it in the flat tree.
export function flatContains(outer, n) {
  for (; n; n = flatParent(n)) if (n === outer) return true;
  return false;
}
