// A document that was just added to the tab receives no input until the daemon has called its
// script:
// a page may add a frame to catch the input that is meant for another element.

const RECENT = 1000; // milliseconds
const added = performance.now();
let accepted = window === window.top;

/** recentlyAdded says whether the document must still refuse input. */
export const recentlyAdded = () => {
  if (!accepted) accepted = performance.now() - added > RECENT;
  return !accepted;
};
/** acceptInput notes that the daemon has addressed the document. */
export const acceptInput = () => { accepted = true; };
