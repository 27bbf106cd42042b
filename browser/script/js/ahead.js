// What is walked first since a budget ends before it, or it stands in a fold: what an action opened (a window to
// write a message in, at the end of the document) and what the page gave the focus. Where an
// action was for what has the focus, its delta says so, and nothing changes its place.

import { bodyOf, FOLLOWING, getRootNode, isConnected, localName, matches, position } from './dom.js';
import { flatContains, flatParent } from './flat-tree.js';
import { anyFold, inFold } from './folds.js';
import { changedBefore } from './mutations.js';
import { activeElement, isOutOfFlowOverlay } from './overlays.js';
import { page } from './page.js';
import { wasActedOn } from './settle.js';
import { visible } from './visibility.js';
import { wordSet } from './word-set.js';

const MOST = 5; // elements that are walked first
const LOOKED_AT = 200; // changed elements

// What has the focus where nothing in the document has it.
const NO_CONTROL = wordSet('body html iframe frame');

/** @type {any[]} */
let kept = [];

const BOX = 'dialog,[popover],[role=dialog],[role=alertdialog]';
const isBox = (el) => matches(el, BOX) || isOutOfFlowOverlay(el);

// ahead returns what the walk before has found, while it is open or has the focus.
export function ahead() {
  const active = activeElement();
  return kept = kept.filter((el) => isConnected(el) && visible(el) && (isBox(el) || flatContains(el, active)));
}

// seekAhead looks for it, where the walk was cut behind the line of last or has folded
// siblings, and tells whether something else is to be walked first than was.
export function seekAhead(cut, end) {
  const before = kept, last = cut ? end : null;
  if (!cut && !anyFold()) kept = [];
  else if (last || !cut) {
    const active = activeElement();
    if (active && !NO_CONTROL.has(localName(active)) && !wasActedOn(active) && beyond(active, last)) keep(boxAround(active, last) || active);
    let n = 0;
    for (const [el, there] of changedBefore()) {
      if (n++ === LOOKED_AT) break;
      if (there && isConnected(el)) keep(boxAround(el, last));
    }
  }
  return kept.length !== before.length || kept.some((el, i) => el !== before[i]);
}

function keep(el) {
  if (!el || kept.length === MOST || !visible(el) || kept.some((k) => flatContains(k, el))) return;
  kept = [...kept.filter((k) => !flatContains(el, k)), el];
}

// boxAround returns the outermost box at or around el that begins behind last.
function boxAround(el, last) {
  let box = null;
  for (let p = el; p && p !== bodyOf(page) && beyond(p, last); p = flatParent(p)) if (isBox(p)) box = p;
  return box;
}

// beyond tells whether el begins behind last in the document, or is in a fold.
function beyond(el, last) {
  return inFold(el) || last !== null && (position(inDocument(last), inDocument(el)) & FOLLOWING) !== 0;
}

// inDocument is el, or the host that it is in the shadow of.
function inDocument(el) {
  for (let root = getRootNode(el); root instanceof ShadowRoot; root = getRootNode(el)) el = root.host;
  return el;
}
