// Waiting for a time, a task or a frame.

import { onNewDocument } from './page.js';

/** @type {MessageChannel | null} */ let channel = null; // one for all: to make it costs more than the task
/** @type {(() => void)[]} */ const waiting = [];

onNewDocument(() => { channel = null; });

// nextTask resolves after one task of the document's. Each message is a task of its own (Chromium's MojoTaskPerMessage).
export const nextTask = () => /** @type {Promise<void>} */ (new Promise((done) => {
  if (channel === null) {
    channel = new MessageChannel();
    // One message answers all that wait: they asked before it came, and that of a script which was ended never comes.
    channel.port1.onmessage = () => { for (const done of waiting.splice(0)) done(); };
  }
  waiting.push(done);
  channel.port2.postMessage(0);
}));

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// nextFrame resolves with the next frame, or after so many milliseconds: none is drawn in a tab that is not shown.
// A timer that was left behind would wake the page's process for nothing.
export const nextFrame = (most = 100) => /** @type {Promise<void>} */ (new Promise((done) => {
  const timer = setTimeout(() => {
    cancelAnimationFrame(frame);
    done();
  }, most);
  const frame = requestAnimationFrame(() => {
    clearTimeout(timer);
    done();
  });
}));
