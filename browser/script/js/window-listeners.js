// Listeners on the window, which stand there before any of the page's own.
//
// document.open() takes them away (HTML, 8.4.1). They are added again when the page's task is over, or at the
// call of the daemon that comes first, and at each where the document is empty: what empties it once more is not
// observed. Adding one that is there changes nothing.

import { documentElementOf } from './dom.js';
import { onCall, onNewDocument } from './page.js';

/** @type {(() => void)[]} */ const adds = [];

/** listen has f called for events of these types. @param {string[]} types @param {(e: any) => void} f @param {AddEventListenerOptions} options */
export const listen = (types, f, options = { capture: true }) => {
  const add = () => { for (const type of types) addEventListener(type, f, options); };
  adds.push(add);
  add();
};

const addAll = () => { for (const add of adds) add(); };
const opened = new MutationObserver(addAll); // document.open() replaces all that the document contains
const watch = () => {
  addAll();
  opened.observe(document, { childList: true });
};
watch();
onNewDocument(watch);

onCall(() => { if (opened.takeRecords().length || !documentElementOf(document)) addAll(); });
