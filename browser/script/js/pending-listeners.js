// Elements that came and of which CDP must be asked about: listeners of their own,
// closed shadow roots and what custom elements say of themselves, which script cannot see.

import { documentElementOf, ELEMENT, evaluateXPath, getRootNode, isConnected, nodeType } from './dom.js';
import { addClosedRoot, shadowOf } from './flat-tree.js';
import { addListeners, addDelegated, GESTURES, PRESS_LISTENED } from './listeners.js';
import { declaresModal, seekModals } from './overlays.js';
import { onNewDocument, page } from './page.js';
import { foundCustomElements } from './role.js';

export const MANY = 200; // elements that came, after which the document is looked at whole
let addedElements = null; // what came with its descendants; null: so many that the whole document is scanned
let arrivals = null;
const noteAdded = (records) => {
  for (const r of records) {
    if (r.type === 'attributes') declaresModal.add(r.target);
    for (const n of r.addedNodes) {
      if (addedElements === null || nodeType(n) !== ELEMENT) continue;
      addedElements.push(n);
      if (addedElements.length <= MANY) continue;
      addedElements = null;
      arrivals.disconnect(); // no need to observe further
    }
  }
};

// pendingListeners says what has come since it was asked last that CDP must be asked about:
// 'elements', which may have listeners; 'hosts' where there are custom elements
// among them; '' if nothing has.
/** @type {import('./functions.js').Functions['pendingListeners']} */
export const pendingListeners = () => {
  if (arrivals) noteAdded(arrivals.takeRecords());
  else arrivals = new MutationObserver(noteAdded);
  if (addedElements && addedElements.length === 0) return suspects.length ? 'hosts' : '';
  for (const el of addedElements || [documentElementOf(document)]) if (el) seekModals(el);
  const found = addedElements === null ? suspect([documentElementOf(document)]) : suspect(addedElements);
  if (addedElements === null) arrivals.observe(document, { subtree: true, childList: true, attributeFilter: ['aria-modal'] });
  addedElements = [];
  return found ? 'hosts' : 'elements';
};

// reportListeners takes the elements of which CDP said that they have click-like
// listeners. One that stands in a closed shadow root makes that known as well.
/** @type {import('./functions.js').Functions['reportListeners']} */
export const reportListeners = (...els) => {
  for (const el of els) {
    for (let r = getRootNode(el); r instanceof ShadowRoot; r = getRootNode(r.host)) {
      if (r.mode === 'closed') addClosedRoot(r.host, r);
    }
  }
  addListeners(...els);
};
/** @type {import('./functions.js').Functions['reportPressed']} */
export const reportPressed = (...els) => addDelegated(PRESS_LISTENED, els);
/** @type {import('./functions.js').Functions['reportMore']} */
export const reportMore = (...els) => addDelegated(GESTURES, els);

const custom = new WeakSet(); // custom elements that have been found
const MAX_SUSPECTS = 100;

// suspect looks in roots for custom elements, and reports whether some came: they may have a
// closed shadow root, which script cannot tell, and a role or a name of their own, which
// Chromium's accessibility alone can. closedRootHosts names the suspects, until
// closedRootHostsAsked says that all of them were asked about. Most pages have none: XPath finds
// that out in a third of the time that script needs.
let suspects = [];
const suspect = (roots) => {
  let came = false;
  const add = (el) => {
    if (custom.has(el) || suspects.length >= MAX_SUSPECTS) return;
    custom.add(el);
    foundCustomElements();
    came = true;
    if (!shadowOf(el)) suspects.push(el);
  };
  for (const root of roots) {
    if (!root || !isConnected(root)) continue;
    const found = evaluateXPath(page, "descendant-or-self::*[contains(local-name(), '-')]", root, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
    for (let i = 0; i < found.snapshotLength; i++) add(/** @type {Element} */ (found.snapshotItem(i)));
  }
  return came;
};
/** @type {import('./functions.js').Functions['closedRootHosts']} */
export const closedRootHosts = () => suspects;
/** @type {import('./functions.js').Functions['closedRootHostsAsked']} */
export const closedRootHostsAsked = () => {
  suspects = [];
};

onNewDocument(() => {
  if (arrivals) arrivals.disconnect();
  addedElements = null;
});
