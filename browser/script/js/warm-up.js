// One walk of a made-up page, so that V8 has compiled the script before a client asks.

import { walk } from './capture.js';
import { pendingListeners } from './pending-listeners.js';

const NODES = 40; // of the walk: a run of so many siblings is folded

// warmUp walks html, and a run of siblings behind it, in a document that is nobody's, which is empty again afterwards.
/** @param {import('./functions.js').WarmUpArgs} page */
export function warmUp({ html, options }) {
  const div = document.createElement('div');
  div.innerHTML = html + '<ul>' + '<li><a href=/>One</a>'.repeat(NODES) + '</ul>';
  document.body.append(div);
  try {
    pendingListeners();
    return walk({ ...options, fold: true, max_nodes: NODES });
  } finally {
    div.remove();
  }
}
