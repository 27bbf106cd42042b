// The functions that the daemon calls, as __bd.NAME (browser/script/functions.go). The
// bundle of this module runs once per document, at its start, in the isolated world
// "browserd" of every frame. It writes to no page's DOM.

import { arriving } from './animations.js';
import { boxes, frameBox, hitAtPoint } from './boxes.js';
import { walk } from './capture.js';
import { checked, checkedNow, choose, chooseIn, chooseOption, fileInput } from './choosing.js';
import { elementCalls } from './element-calls.js';
import { find } from './find.js';
import { addClosedRoot } from './flat-tree.js';
import { endHitTest, guardPress, hitResult, isUnder, releaseHitTest } from './hit-test.js';
import { guardKeys, insertText } from './key-guard.js';
import { addListeners, addDelegated } from './listeners.js';
import { frameAt, giveUp, locate, middle, scrollIntoView } from './locate.js';
import { idOf, node } from './node-ids.js';
import { offScope } from './off-scope.js';
import { startCall } from './page.js';
import { closedRootHosts, closedRootHostsAsked, pendingListeners, reportListeners, reportMore, reportPressed } from './pending-listeners.js';
import { personChooses } from './person-choosing.js';
import { read } from './read.js';
import { findAgain } from './refs.js';
import { roleOf, shownRole } from './role.js';
import { afterScroll, scrollFrom, scrollPage } from './scrolling.js';
import { personDrives } from './secrets.js';
import { beginSettle, focusedFrame, settle } from './settle.js';
import { contextOf, nameOf } from './shown-name.js';
import { caret, caretIn, contextNow, fieldWithin, focusEdited, focusOn, keysResult, prepare } from './typing.js';
import { change, hasText, refState } from './wait.js';
import { warmUp } from './warm-up.js';

/** @type {import('./functions.js').ElementFunctions} */
const elementFunctions = { caret, checked, choose, fileInput, focusOn, prepare, scrollFrom };
Object.assign(elementCalls, elementFunctions);

const declared = {
  // now takes the document as it is now: every call begins with it.
  /** @returns {import('./functions.js').Functions} */
  now() {
    startCall();
    return functions;
  },
  addClosedRoot, afterScroll, beginSettle, boxes, caretIn, change, checkedNow, chooseIn,
  chooseOption, closedRootHosts, closedRootHostsAsked, contextNow, endHitTest, fieldWithin, find,
  findAgain, focusEdited, focusedFrame, frameAt, frameBox, giveUp, guardKeys, guardPress, hasText, hitAtPoint, hitResult, idOf, insertText, isUnder, keysResult, locate, middle, node,
  offScope, pendingListeners, personChooses, personDrives, read, refState, releaseHitTest, reportListeners, reportMore, reportPressed, scrollIntoView, scrollPage,
  settle, walk, warmUp,
};

// What tests ask besides.
const forTests = { addListeners, addDelegated, arriving, contextOf, nameOf, roleOf: (el) => shownRole(roleOf(el)) };

/** @type {import('./functions.js').Functions} */
const functions = Object.assign(Object.create(null), forTests);
Object.assign(functions, /** @type {import('./functions.js').Functions} */ (declared));

// Last, so that it is known only where all of it has run.
Object.defineProperty(globalThis, '__bd', { value: functions });
