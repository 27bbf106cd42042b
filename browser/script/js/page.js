// The document, and what is to be done when it, or the question about it, is another.

export let page = document;

/** @type {(() => void)[]} */ const newDocument = [];
/** @type {(() => void)[]} */ const forgets = [];
/** @type {(() => void)[]} */ const calls = [];

/** onNewDocument has f called when the window has another document. @param {() => void} f */
export const onNewDocument = (f) => { newDocument.push(f); };
/** onForget has f called when what holds for one question only is to be dropped. @param {() => void} f */
export const onForget = (f) => { forgets.push(f); };
/** onCall has f called at the beginning of each call from the daemon. @param {() => void} f */
export const onCall = (f) => { calls.push(f); };

// forget drops what was remembered about the page for one question. Whoever asks about
// boxes, names or contexts in a new turn calls it first.
export function forget() {
  for (const f of forgets) f();
}

// startCall takes the document as it is now. A window keeps its worlds when its initial
// empty document is left for one of the same origin (HTML, 7.4.2.2).
export function startCall() {
  for (const f of calls) f();
  if (page === document) return;
  page = document;
  forget();
  for (const f of newDocument) f();
}
