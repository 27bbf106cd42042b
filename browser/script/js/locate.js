// The one round trip before an input: locate finds the element of a ref, waits until a
// person could act on it, chooses the point to hit and arms the hit test.

import { aim, ALIGN, boxesOf, boxKey, cover, coverOf, elementUnder, isDisabled, moving, obstacle, scrollTo } from './actionable.js';
import { controlOf, fillKind } from './controls.js';
import { beginAction, currentAction } from './current-action.js';
import { closest, focus, isConnected, localName, rectOf } from './dom.js';
import { elementCalls } from './element-calls.js';
import { flatContains } from './flat-tree.js';
import { armHitTest, dropHitTest } from './hit-test.js';
import { endKeys } from './key-guard.js';
import { styleOf } from './node-cache.js';
import { idOf, node } from './node-ids.js';
import { findRef, record } from './refs.js';
import { FRAMES } from './role.js';
import { leaveUnsettled, startObserving } from './settle.js';
import { nextFrame, pause } from './tasks.js';

// locate answers {ok, node, moved, x, y, hit, …} or why not:
// {stale, candidates}, {changed}, {twin, now}, {reason, by}. Until the deadline
// it waits for what may come about by itself.
/** @type {import('./functions.js').Functions['locate']} */
export const locate = async (q) => {
  const action = beginAction(), want = {};
  for (const w of q.want || []) want[w] = true;
  const until = performance.now() + (q.deadline || 0);
  // Chromium finds what is in a frame only once that has been drawn as it is.
  let frameDrawn = !!q.again;
  if (frameDrawn) await nextFrame().then(() => nextFrame());
  const began = performance.now();
  let focusedToLoad = false;
  let last = { reason: 'hidden' }, between = 16, tolerate = 0;
  for (;;) {
    if (action !== currentAction()) return last; // it was given up
    const found = findRef(q);
    if (found.answer) return found.answer;
    let el = found.el;
    if (want.control) el = controlOf(el, want.control) || el;
    const option = want.hit && closedOption(el);
    let now = option ? obstacle(option, { visible: true, enabled: true }) : obstacle(el, want);
    if (option && !now.reason && isDisabled(el)) now = { reason: 'disabled' };
    if (!now.reason && want.stable && !option) {
      const m = moving(el);
      if (m.finite.length) {
        now = { reason: 'moving' };
        await Promise.race([Promise.allSettled(m.finite.map((a) => a.finished)), pause(Math.max(0, Math.min(250, until - performance.now())))]);
        await nextFrame();
        between = 0;
      } else if (m.endless.length && performance.now() >= tolerate) {
        // The animation is endless. Click the element if it is still between two
        // frames; after a second try it while it moves: the guard rejects a miss.
        const before = boxKey(el);
        await nextFrame();
        if (action !== currentAction()) return last;
        if (boxKey(el) !== before) {
          if (!tolerate) tolerate = performance.now() + 1000;
          now = performance.now() < tolerate && performance.now() < until ? { reason: 'moving' } : now;
        }
        if (!now.reason) now = obstacle(el, want);
      }
    }
    const under = !now.reason && now.at ? elementUnder(now.at.x, now.at.y, el) || el : null;
    const frame = under && FRAMES.has(localName(under)) ? under : null;
    if (frame && !frameDrawn) {
      await nextFrame().then(() => nextFrame());
      frameDrawn = true;
      continue;
    }
    if (!now.reason) {
      if (!q.again && !focusedToLoad) startObserving(el);
      const answer = { ok: true, node: idOf(found.el), moved: !!found.moved, target: idOf(el), kind: fillKind(el) };
      if (found.moved || q.any) answer.record = record(found.el);
      if (option) answer.option = { select: idOf(option), value: el.value, index: el.index };
      if (now.at) {
        answer.x = now.at.x;
        answer.y = now.at.y;
        if (frame) answer.frame = idOf(frame);
        armHitTest({ el, presses: q.presses || 0, point: now.at });
      }
      if (q.then) answer.then = elementCalls[q.then](el, q.with);
      if (q.then !== 'choose' || !late(answer.then) || performance.now() >= Math.min(until, began + OPTIONS_WAIT_MS)) return answer;
      if (!focusedToLoad) focus(el, { preventScroll: true }); // some are loaded when it has the focus
      focusedToLoad = true;
      now = { reason: 'option' };
    }
    last = now;
    if (performance.now() >= until && last.reason !== 'option') break;
    if (between) await Promise.race([nextFrame().then(() => pause(between - 16)), pause(Math.max(1, until - performance.now()))]);
    between = Math.min(100, (between || 8) * 2);
  }
  const answer = { reason: last.reason };
  if (last.because) answer.because = last.because;
  if (last.by) answer.by = cover(last.by);
  return answer;
};

// giveUp ends the action under way: nothing of it goes on, and it keeps no input from anything.
/** @type {import('./functions.js').Functions['giveUp']} */
export const giveUp = () => {
  beginAction();
  dropHitTest();
  endKeys();
  leaveUnsettled();
};

// OPTIONS_WAIT_MS is how long options are waited for, in milliseconds: more often they are asked for by
// a wrong name.
const OPTIONS_WAIT_MS = 2000;
const late = (choice) => choice.missing !== undefined || choice.disabled !== undefined;

// closedOption returns the select of an option that has no box of its own.
const closedOption = (el) => {
  if (localName(el) !== 'option') return null;
  const select = closest(el, 'select');
  return select && !boxesOf(el).length ? select : null;
};

// frameAt finds, in the document that holds a frame, the place of a point of
// the frame's own viewport, brings it into view, and has the guard let nothing
// of this document take the input. It answers {x, y} or {reason, by}.
/** @type {import('./functions.js').Functions['frameAt']} */
export const frameAt = ({ node: id, x, y, hit_test: keep }) => {
  const el = node(id);
  if (!el || !isConnected(el)) return { reason: 'detached' };
  /** @returns {[number, number]} */
  const place = () => {
    const b = rectOf(el), style = styleOf(el);
    const sx = el.offsetWidth ? b.width / el.offsetWidth : 1, sy = el.offsetHeight ? b.height / el.offsetHeight : 1;
    return [b.left + (el.clientLeft + parseFloat(style.paddingLeft) + x) * sx, b.top + (el.clientTop + parseFloat(style.paddingTop) + y) * sy];
  };
  const out = ([px, py]) => px < 0 || py < 0 || px >= innerWidth || py >= innerHeight;
  let at = place(), hit = out(at) ? null : elementUnder(at[0], at[1], el);
  for (const block of ALIGN) {
    if (hit === el) break;
    scrollTo(el, block);
    at = place();
    if (out(at)) {
      // A frame larger than the viewport: bring the point itself to the middle.
      window.scrollBy({ left: at[0] - innerWidth / 2, top: at[1] - innerHeight / 2, behavior: 'instant' });
      at = place();
    }
    hit = out(at) ? null : elementUnder(at[0], at[1], el);
  }
  if (hit !== el) return hit ? { reason: 'covered', by: cover(coverOf(hit)) } : { reason: 'hidden' };
  if (keep) armHitTest({ el: null, point: { x: at[0], y: at[1] }, under: el });
  return { x: at[0], y: at[1] };
};

/** @type {import('./functions.js').Functions['scrollIntoView']} */
export const scrollIntoView = (id) => {
  const el = node(id);
  if (el) scrollTo(el, 'center');
  return true;
};

// middle is the point at which an element that was found is hit now, or would
// be but for another that lies over it.
/** @type {import('./functions.js').Functions['middle']} */
export const middle = ({ node: id, over }) => {
  const el = node(id);
  if (!el) return { gone: true };
  const b = boxesOf(el)[0] || rectOf(el);
  const middle = { x: b.left + b.width / 2, y: b.top + b.height / 2 };
  const held = over ? node(over) : null;
  if (held && flatContains(held, elementUnder(middle.x, middle.y, el))) return middle;
  const at = aim(el);
  return at.hit ? { x: at.x, y: at.y } : middle;
};
