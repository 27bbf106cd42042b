// Listeners on the window, which stand there before any of the page's own.
//
// document.open() takes them away (HTML, 8.4.1). They are added again when the page's task is over, and at the
// next call of the daemon: adding one that is there changes nothing. A call first asks one of them, by an event whose
// name no page knows, which costs less than to add all.

import { dispatch } from './dom.js';
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

const ASK = 'browserd' + Math.random();
let present = false;
listen([ASK], () => { present = true; });
onCall(() => {
  present = false;
  dispatch(window, new Event(ASK));
  if (!present) addAll();
});
