// What a wait checks, and when to check again.

import { boxesOf } from './actionable.js';
import { seek } from './find.js';
import { shadowOf } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { forget, page } from './page.js';
import { allIn, findRef } from './refs.js';
import { rendered } from './visibility.js';

// hasText reports whether the page shows a text.
/** @type {import('./functions.js').Functions['hasText']} */
export const hasText = (text) => {
  forget();
  return seek({ text, limit: 1 }).found.some((n) => !n.frame);
};

// refState is whether a ref's element is attached and can be seen.
/** @type {import('./functions.js').Functions['refState']} */
export const refState = (q) => {
  const found = findRef({ ...q, any: true });
  const el = found.el;
  return { attached: !!el, visible: !!el && rendered(el) && styleOf(el).visibility === 'visible' && boxesOf(el).length > 0 };
};

// change resolves with the next change of the document, or after ms. Changes
// that come together are one.
/** @type {import('./functions.js').Functions['change']} */
export const change = (ms) => new Promise((done) => {
  const o = new MutationObserver(() => end());
  let over = false;
  const end = () => {
    if (over) return;
    over = true;
    o.disconnect();
    clearTimeout(timer);
    for (const t of ['input', 'change', 'transitionend', 'animationend', 'load']) removeEventListener(t, end, true);
    setTimeout(() => done(true), 15);
  };
  o.observe(page, { subtree: true, childList: true, characterData: true, attributes: true });
  everyShadow(page, (root) => o.observe(root, { subtree: true, childList: true, characterData: true, attributes: true }));
  for (const t of ['input', 'change', 'transitionend', 'animationend', 'load']) addEventListener(t, end, true);
  const timer = setTimeout(end, ms);
});
const everyShadow = (root, f) => {
  for (const el of allIn(root, '*')) {
    const s = shadowOf(el);
    if (s) {
      f(s);
      everyShadow(s, f);
    }
  }
};
