// Whether an element that is no control by its role can be clicked.

import { bitsOf, DRAGGABLE, HANDLER, TABINDEX } from './attributes.js';
import {
  attr, firstChild, firstElementChild, has, localName, namespaceURI, nextElementSibling, nextSibling, nodeType, previousElementSibling,
  queryAll, rectOf, SVG, svgTabIndex, tabIndexOf, TEXT, textData,
} from './dom.js';
import { someText } from './element-text.js';
import { isHTML, rootOf } from './flat-tree.js';
import { labelsOf } from './labels.js';
import { containsListener, hasListener, GESTURES } from './listeners.js';
import { styleOf } from './node-cache.js';
import { authorName, CONTROLS, roleOf } from './role.js';
import { blank, fold } from './text.js';
import { rendered } from './visibility.js';
import { wordSet } from './word-set.js';

export const CURSORS = wordSet('pointer grab -webkit-grab move zoom-in');
export const OPERABLE = 'a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link],[role=tab],' +
  '[role=menuitem],[role=option],[role=checkbox],[role=switch],[role=radio],[tabindex]:not([tabindex="-1"]),[onclick],[contenteditable]';

export const listens = (el, bits = bitsOf(el)) => (bits & HANDLER) !== 0 || hasListener.has(el);

// clickable reports whether el, which is no control by its role, is one by its
// listeners, by the cursor that begins at it, by tabindex or by draggable.
// s is its style. around is {el: the element around it, pointer: whether that has a pointer
// cursor, forItems: whether that is a list whose listener is for its items, inControl: the
// control that contains it}.
export function clickable(el, tag, s, around, bits = bitsOf(el)) {
  if (tag === 'body' || tag === 'html') return false;
  const own = listens(el, bits);
  if (around.inControl) return (own || tag === 'a' && CURSORS.has(s.cursor) && !CONTROLS.has(roleOf(around.inControl))) && linked(el, around.inControl) && hasClickableBox(el);
  const begins = CURSORS.has(s.cursor) && !hasInheritedPointerCursor(around);
  const tab = (bits & TABINDEX) !== 0 && (isHTML(el) ? tabIndexOf(el) : namespaceURI(el) === SVG ? svgTabIndex(el) : -1) >= 0;
  const drag = (bits & DRAGGABLE) !== 0 && attr(el, 'draggable') === 'true' && tag !== 'a';
  if (tag === 'label' && !own) {
    if (el.control) return !rendered(el.control); // else its control has the ref
    if (besideChoice(el)) return true;
  }
  if (!own && !begins && !tab && !drag) return tag === 'li' && forItems(around) || around.delegated !== 0 && isDelegatedTo(el, s, around.delegated);
  if (begins && !own && LISTS.has(tag)) return false; // its items are what is clicked
  if (own && !tab && listensForItems(el)) return false; // or dragged
  if (!drag && shell(el, tag)) return false;
  if (!operablesIn(el)) return own && !begins && !tab ? someText(el, 1001).length <= 1000 && !listensFor(el, s) : true;
  // A listener on an element around other controls is for them, unless every sibling has
  // one too or the element has text of its own.
  if (begins || drag) return !coversHalfViewport(el);
  return own && !coversHalfViewport(el) && (seriesListens(el) && !aroundOne(el) || ownText(el));
}

// linked reports whether el says something, and not all that the control around it says: a
// link without an address, to which the page's script may pass the click.
function linked(el, control) {
  const says = fold(someText(el, 200));
  return says !== fold(someText(control, 200)) && (says !== '' || localName(el) !== 'a');
}

// besideChoice reports whether the label el, which is no control's, stands right beside a
// checkbox or radio button that nothing names: it is what is read in its place.
function besideChoice(el) {
  for (const e of [previousElementSibling(el), nextElementSibling(el)]) {
    if (e && localName(e) === 'input' && /^(checkbox|radio)$/.test(e.type) && !has(e, 'aria-label') && labelsOf(e).length === 0) return ownText(el);
  }
  return false;
}

const SAID = 200; // characters of an element that a listener around it handles: more is text to read

// isDelegatedTo reports whether el is the text for which an element around it listens (event delegation). A
// press may be for anything, so it counts only for what is made to be dragged.
function isDelegatedTo(el, s, kinds) {
  if (!ownText(el) || someText(el, SAID + 1).length > SAID || operablesIn(el)) return false;
  return (kinds & GESTURES) !== 0 || s.position === 'absolute' || s.userSelect === 'none' && s.display !== 'inline';
}

// shell reports whether el is a web component around one control, which says all that el
// says.
function shell(el, tag) {
  const root = rootOf(el, tag), inner = root && root.querySelector(OPERABLE);
  return !!inner && rendered(inner) && !authorName(el) && sameText(inner, el);
}

const sameText = (a, b) => fold(someText(a, 200)) === fold(someText(b, 200));

// aroundOne reports whether el is around one control, which says all that el says: a click
// on it reaches the listener of el too.
function aroundOne(el) {
  const all = queryAll(el, OPERABLE);
  return all.length === 1 && rendered(all[0]) && sameText(all[0], el);
}

// hasClickableBox reports whether there is a place of el, or of what is in it, that takes a
// click. A ripple that is drawn over a button has none.
function hasClickableBox(el) {
  if (sized(el)) return true;
  const all = queryAll(el, '*');
  for (let i = 0; i < all.length && i < 20; i++) if (sized(all[i]) && styleOf(all[i]).pointerEvents !== 'none') return true;
  return false;
}

function sized(el) {
  const r = rectOf(el);
  return r.width >= 1 && r.height >= 1;
}

// hasInheritedPointerCursor reports whether such a cursor has begun around what is in the frame f of
// the walk. Few have to know.
function hasInheritedPointerCursor(f) {
  if (f.pointer === undefined) f.pointer = CURSORS.has(f.s.cursor) && !(passesCursor(f.tag) && !listens(f.el));
  return f.pointer;
}

function forItems(f) {
  if (f.forItems === undefined) f.forItems = listensForItems(f.el);
  return f.forItems;
}

const LISTS = wordSet('ul ol dl menu table thead tbody tfoot');

// listensForItems reports whether el is a list whose listener is meant for its
// items: several, with nothing to operate in them.
function listensForItems(el) {
  if (!el || !/^(ul|ol|menu)$/.test(localName(el)) || !listens(el) || containsListener.has(el)) return false;
  const first = firstElementChild(el);
  return first !== null && nextElementSibling(first) !== null && localName(first) === 'li' && !operablesIn(first);
}

// passesCursor reports whether a cursor that begins at such an element is meant for
// its items.
export const passesCursor = (tag) => LISTS.has(tag);

export function operablesIn(el) {
  if (containsListener.has(el)) return true;
  const all = queryAll(el, OPERABLE);
  for (let i = 0; i < all.length && i < 20; i++) if (rendered(all[i])) return true;
  return false;
}

// listensFor reports whether el listens for what is in it and not for itself: the
// pointer, or a place in the order of focus, begins further in.
function listensFor(el, s) {
  if (CURSORS.has(s.cursor)) return false;
  const all = queryAll(el, '*');
  for (let i = 0; i < all.length && i < 60; i++) {
    if (rendered(all[i]) && (has(all[i], 'tabindex') || CURSORS.has(styleOf(all[i]).cursor))) return true;
  }
  return false;
}

function coversHalfViewport(el) {
  const r = rectOf(el);
  return r.width * r.height > innerWidth * innerHeight / 2;
}

function seriesListens(el) {
  const cls = attr(el, 'class');
  return (!!cls || !isHTML(el) || localName(el) !== 'div') &&
    [nextElementSibling(el), previousElementSibling(el)].some((s) => s && hasListener.has(s) && localName(s) === localName(el) && attr(s, 'class') === cls);
}

function ownText(el) {
  for (let c = firstChild(el), n = 0; c && n < 20; c = nextSibling(c), n++) if (nodeType(c) === TEXT && !blank(textData(c))) return true;
  return false;
}
