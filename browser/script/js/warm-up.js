// One walk of a made-up page, so that V8 has compiled the script before a client asks.

import { walk } from './capture.js';
import { pendingListeners } from './pending-listeners.js';

// warmUp walks html in a document that is nobody's, which is empty again afterwards.
/** @param {import('./functions.js').WarmUpArgs} page */
export function warmUp({ html, options }) {
  const div = document.createElement('div');
  div.innerHTML = html;
  document.body.append(div);
  try {
    pendingListeners();
    return walk(options);
  } finally {
    div.remove();
  }
}
