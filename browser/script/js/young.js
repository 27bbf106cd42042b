// A document that has just come to a frame gets no input until the daemon has spoken to
// it: a page may make a frame for the input that is on its way to something else.

const YOUNG = 1000; // milliseconds
const born = performance.now();
let old = window === window.top;

export const young = () => {
  if (!old) old = performance.now() - born > YOUNG;
  return !old;
};
/** grown says that the daemon has spoken to the document. */
export const grown = () => { old = true; };
