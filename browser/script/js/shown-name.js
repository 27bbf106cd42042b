// The name that a line shows: the accessible name or, of what is clickable without
// a role that is named, what it says.

import { clickable, CURSORS, listens, OPERABLE, operablesIn, passesCursor } from './clickable.js';
import { attr, childNodes, ELEMENT, has, localName, matches, namespaceURI, nodeType, SVG, TEXT, textData } from './dom.js';
import { flatList, flatParent } from './flat-tree.js';
import { delegatedAround, hasListener } from './listeners.js';
import { BORDER, contentName, cutName, isPart, joinParts, labelledBy, NAME_MAX, nameFor, nativeName, ownName, SILENT_TAGS, titleOf } from './name.js';
import { styleOf } from './node-cache.js';
import { onForget } from './page.js';
import { ATOMS, CONTROLS, FROM_CONTENT, isHost, roleOf } from './role.js';
import { rowOf, rowText } from './row-context.js';
import { fold } from './text.js';
import { rendered } from './visibility.js';

// clickName returns the name of an element that is clickable without a role that
// names it: what its author calls it, else the text that it shows.
function clickName(el) {
  const given = givenName(el);
  if (given) return given;
  const s = operablesIn(el) ? joinParts(shownText(el)) : '';
  return cutName(s || joinParts(contentName(el, { seen: new Set([el]), inside: true, parts: true })) || drawnName(el) || titleOf(el));
}

// givenName returns what its author calls el.
function givenName(el) {
  const s = has(el, 'aria-labelledby') ? labelledBy(el) : '';
  return cutName(s || (has(el, 'aria-label') ? fold(attr(el, 'aria-label')) : ''));
}

// drawnName returns the title of an element of a drawing.
const drawnName = (el) => (namespaceURI(el) === SVG ? cutName(nativeName(el, '', null)) : '');

// shownText returns the text that el shows outside of the controls within it.
export function shownText(el) {
  let out = '';
  for (const k of flatList(el) || childNodes(el)) {
    if (out.length > NAME_MAX) break;
    const type = nodeType(k);
    if (type === TEXT) out += textData(k);
    else if (type === ELEMENT && !SILENT_TAGS.has(localName(k)) && !hasListener.has(k) && !matches(k, OPERABLE) && rendered(k)) {
      const s = shownText(k);
      const display = styleOf(k).display;
      out += display === 'inline' ? s : isPart(display) ? BORDER + s + BORDER : ' ' + s + ' ';
    }
  }
  return out;
}

// shownName returns the name that the walk shows of el: by its role, else, where
// it is clickable or written in, by what it says.
export function shownName(el, role, clicks, f) {
  if (!role) return clicks && ownName(el) || (clicks || isHost(el) ? clickName(el) : givenName(el) || drawnName(el));
  return nameFor(el, role, f) || (clicks && !CONTROLS.has(role) && role !== 'heading' ? clickName(el) : '');
}

// nameOf returns the name of el as the walk shows it.
export function nameOf(el) {
  const role = roleOf(el);
  if (role && (CONTROLS.has(role) || FROM_CONTENT.has(role))) {
    const name = shownName(el, role, false);
    if (name || CONTROLS.has(role)) return name;
  }
  return shownName(el, role, !isHost(el) && clickable(el, localName(el), styleOf(el), around(el)));
}

// operable reports whether el is shown as something to act on.
export function operable(el) {
  return CONTROLS.has(roleOf(el)) || isHost(el) || clickable(el, localName(el), styleOf(el), around(el));
}

// contextOf returns the context of el as the walk gives it: the text of the row in
// which what can be acted on stands, empty for what is only read.
export function contextOf(el) {
  const row = operable(el) && rowOf(el);
  return row ? rowText(row) : '';
}

// around tells clickable what is around el.
export function around(el) {
  const p = flatParent(el);
  return surroundings(p, controlAt(p));
}

const surroundings = (p, inControl) => ({ el: p, pointer: !!p && CURSORS.has(styleOf(p).cursor) && !(passesCursor(localName(p)) && !listens(p)), forItems: undefined, inControl, delegated: delegatedAround(p) });

let controlsAt = new Map(); // element → the control that it is or stands in; of one walk or question
onForget(() => { controlsAt = new Map(); });

// controlAt returns the control that e is or stands in, as the walk has it: what is
// clickable without a role is one too.
function controlAt(e) {
  const path = [];
  let control = null;
  for (; e; e = flatParent(e)) {
    const known = controlsAt.get(e);
    if (known !== undefined) { control = known; break; }
    path.push(e);
  }
  while (path.length) {
    const p = path.pop(), role = roleOf(p);
    if (role ? role !== 'heading' && ATOMS.has(role) : !isHost(p) && clickable(p, localName(p), styleOf(p), surroundings(flatParent(p), control))) control = p;
    controlsAt.set(p, control);
  }
  return control;
}
