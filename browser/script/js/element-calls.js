// The functions that the daemon may have called with an element that locate or
// hitResult has at hand, by their names; main.js fills them in.

/** @type {Record<string, (el: any, options: any) => any>} */
export const elementCalls = Object.create(null);
