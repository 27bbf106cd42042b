// Which fields hold secrets.
//
// A field that was secret once is secret as long as its document lives: pages show what
// was typed into a password field by giving it another type, or by putting another field
// in its place. So a field is kept in mind when it is looked at, when something is
// written into it, and when an attribute that made it secret changes. Another is known by
// what was written into the first, or by its name or id where the first has gone. Not
// known is a copy that is made while the document is being loaded, before anybody looks.

import {
  activeOfTree, attr, bodyOf, closest, contains, designModeOf, ELEMENT, getRootNode, idIn, inlineStyle, isConnected, nodeType, outermost,
  parentNode, queryAll, queryAllOf, queryTree, setAttr, textContent,
} from './dom.js';
import { someText } from './element-text.js';
import { htmlTag, isHTML, shadowOf } from './flat-tree.js';
import { labelsOf } from './labels.js';
import { styleOf } from './node-cache.js';
import { onCall, onNewDocument } from './page.js';
import { acceptInput } from './recently-added.js';
import { listen } from './window-listeners.js';

// The tokens of autofill (HTML, 4.10.18.7.1) that stand for secrets.
const AUTOFILL = /\b(one-time-code|cc-[a-z-]+|current-password|new-password)\b/;

const MAX_LABEL_CHARS = 60; // characters of a label; what is longer explains something
const WORD = new RegExp('(^|\\s)(\\p{L}*(password|passwd|passphrase|passcode|passwort|kennwort|pwd)|otp|totp|cvv|cvc|csc|mot de passe|' +
  'contrase\u00f1a|senha|wachtwoord|l\u00f6senord|has\u0142o|heslo|\u015fifre|salasana|adgangskode|passord|\u043f\u0430\u0440\u043e\u043b\u044c|' +
  '(one time|verification|authentication|security) (code|password|passcode|pin))(\\s|$)|\u5bc6\u7801|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638', 'u');
const ABOUT = /(^|\s)(hints?|length|strength|reset|forgot|forgotten|recover|recovery|e?mail|search|find|filter|manager|policy|question|expir\w*|rules?|url|count|min|max|minimum|maximum)(\s|$)/;

// What a text needs in small letters for WORD to find something in it.
const STEM = /pass|kennwort|pwd|otp|cvv|cvc|csc|contrase|senha|wachtwoord|senord|has\u0142o|heslo|ifre|salasana|adgangskode|\u043f\u0430\u0440\u043e\u043b\u044c|code|pin|\u5bc6|\u30d1|\ube44/;

// saysSecret tells whether a name or a label says that its field holds a password or a
// code that counts once; not one about a password. A PIN may be a postal code, and a code
// anything: neither says so by itself.
export function saysSecret(text) {
  if (!text || text.length > MAX_LABEL_CHARS || !STEM.test(text.toLowerCase())) return false;
  const words = text.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase().replace(/[^\p{L}]+/gu, ' ').trim();
  return WORD.test(words) && !ABOUT.test(words);
}

const SAYING = ['name', 'id', 'aria-label', 'placeholder', 'title'];

// named tells whether el is called a secret, by itself or by its labels.
function named(el) {
  for (const a of SAYING) if (saysSecret(attr(el, a))) return true;
  const by = attr(el, 'aria-labelledby');
  for (const id of by ? by.split(/\s+/) : []) {
    const e = id && idIn(getRootNode(el), id);
    if (e && saysSecret(someText(e, MAX_LABEL_CHARS + 1).trim())) return true;
  }
  for (const l of labelsOf(el)) if (saysSecret(someText(l, MAX_LABEL_CHARS + 1).trim())) return true;
  return false;
}

const dotted = (el) => styleOf(el).webkitTextSecurity !== 'none';
const LINES = /^(text|tel|number)$/; // types of inputs that hold any text
const COPIES = /^(text|tel|number|search|email|url)$/; // types that show what another held
const KEEPS = /^(text|tel|number|search|email|url|password|hidden)$/; // types that hold what another held

// secretNow tells whether el is secret by what it is now.
function secretNow(el, tag) {
  if (tag === 'input' && el.type === 'password' || AUTOFILL.test((attr(el, 'autocomplete') || '').toLowerCase())) return true;
  if (tag === 'input' && !LINES.test(el.type)) return dotted(el);
  return (tag === 'input' || tag === 'textarea') && named(el) || dotted(el);
}

const MOST = 100; // fields of which is known what they held
const SHORTEST = 4; // characters by which a copy is recognised
const SURE = 8; // characters by which it is recognised in a longer text
const fields = new WeakMap(); // what was secret → its record; what has come in its place has the same
let held = []; // records of the last of them

const EDITED = '[contenteditable]';
const isField = (tag) => tag === 'input' || tag === 'textarea';
const valueIn = (el, tag) => (isField(tag) ? el.value : textContent(el));

// keep keeps el, which is secret, in mind, and returns what is known of it. typed: something has been written into
// it just now.
function keep(el, tag, typed = false) {
  let was = fields.get(el);
  if (was === undefined) {
    // value: what it held last. texts: what it was given. dots: it shows dots; left: how often they are put back in that task.
    was = { field: new WeakRef(el), id: attr(el, 'id') || '', name: attr(el, 'name') || '', value: '', typed: false, texts: [], dots: false, task: -1, left: 0 };
    fields.set(el, was);
    if (isField(tag) || edited(el)) held.push(was);
    if (held.length > MOST) held.splice(Math.max(0, held.findIndex((h) => !h.typed)), 1);
  }
  const value = isField(tag) || typed ? valueIn(el, tag) : '';
  if (value) was.value = value;
  if (typed) was.typed = true;
  return was;
}

// copies tells whether el holds what was written into a secret field, or has come in the place of one.
function copies(el, tag, of = held) {
  const value = valueIn(el, tag), id = attr(el, 'id'), name = attr(el, 'name');
  const holds = (text) => text.length >= SHORTEST && (text === value || text.length >= SURE && value.includes(text));
  return of.some((was) => {
    if (was.typed && holds(was.value) || was.texts.some(holds)) return true;
    if (!(id && id === was.id) && !(name && name === was.name)) return false;
    const field = was.field.deref();
    if (field && isConnected(field)) return false;
    was.field = new WeakRef(el); // others of its name have come in the place of nothing
    fields.set(el, was);
    return true;
  });
}

// secret tells whether what el holds must not be told: an input, a textarea, or what is
// written in otherwise. typed: something has been written into it just now.
export function secret(el, typed = false) {
  const tag = htmlTag(el);
  if (!fields.has(el) && !secretNow(el, tag) && !(held.length > 0 && (tag === 'input' ? COPIES.test(el.type) : tag === 'textarea' || edited(el)) && copies(el, tag))) return false;
  keep(el, tag, typed);
  return true;
}

// What an agent may use and not see, and what a person typed, is given to its field. The field shows dots
// for it whatever the page makes of the field, and so does what comes in its place.
let given = []; // records of the last fields that were given something

// keepSecret treats el as one that was given that text from now on.
export function keepSecret(el, text) {
  const at = writtenIn(el);
  give(keep(at, htmlTag(at), true), text);
  showDots(at);
}

function give(was, text) {
  if (text && !was.texts.includes(text)) was.texts = [...was.texts, text].slice(-MOST);
  if (!given.includes(was)) given = [...given, was].slice(-MOST);
  watchAdded();
}

// showDots has el, which holds what was given, show dots from now on.
function showDots(el) {
  const was = keep(el, htmlTag(el));
  was.dots = true;
  looks.observe(el, { attributeFilter: ['style', 'type', 'autocomplete'] });
  hide(el, was);
}

// MOST_DOTS is how often a field's dots are put back in one task: two scripts that undo each other's work would
// never end. Without dots there is no picture, and nothing is copied.
const MOST_DOTS = 100;
let task = 0; // the number of the task, as far as dots are put back in it
let ends = false; // its end is awaited

// hide has el show dots, which is also what Chromium copies, and its document fill in no field with it where
// it is gone back to (HTML, 4.10.18.7).
function hide(el, was) {
  const style = inlineStyle(el), off = isField(htmlTag(el));
  const dots = !style || style.getPropertyValue('-webkit-text-security') === 'disc' && style.getPropertyPriority('-webkit-text-security') === 'important';
  if (dots && (!off || attr(el, 'autocomplete') === 'off')) return;
  if (was.task !== task) Object.assign(was, { task, left: MOST_DOTS });
  if (was.left-- <= 0) return;
  if (!ends) setTimeout(() => { task++; ends = false; });
  ends = true;
  if (style) style.setProperty('-webkit-text-security', 'disc', 'important');
  if (off) setAttr(el, 'autocomplete', 'off');
}

const looks = new MutationObserver((records) => { for (const { target } of records) hide(target, fields.get(target)); });

// What a page puts in a field's place has its dots before it is drawn.
const additions = new MutationObserver((records) => {
  const added = new Set();
  for (const { addedNodes } of records) for (const n of addedNodes) if (nodeType(n) === ELEMENT) added.add(n);
  showCopiesAsDots(outermost(added).flatMap((root) => [root, ...queryAll(root, WRITTEN)]));
});
const WRITTEN = 'input,textarea,' + EDITED;

// showCopiesAsDots has those of the elements show dots that hold what was given. Of editors in each other the
// outermost counts.
function showCopiesAsDots(list) {
  const editors = new Set(list.filter(edited));
  for (const el of [...list.filter((el) => !editors.has(el)), ...outermost(editors)]) if (holdsGiven(el)) showDots(el);
}
const watchAdded = () => { if (given.length) additions.observe(document, { subtree: true, childList: true }); };
onNewDocument(watchAdded);

// What a page copied into other fields is not filled in again either (see hide).
function leave(e) {
  if (!given.length || !e.isTrusted) return;
  /** @type {any[]} */ const roots = [document];
  for (let left = MOST_LEFT, n = 0; n < roots.length; n++) {
    const within = n ? queryTree : queryAllOf;
    for (const el of within(roots[n], 'input,textarea')) if (holdsGiven(el)) showDots(el);
    for (const el of within(roots[n], '*')) {
      if (left-- <= 0) return;
      const tree = shadowOf(el);
      if (tree) roots.push(tree);
    }
  }
}
const MOST_LEFT = 200_000; // elements that are asked for their shadow trees when the document is left
listen(['pagehide', 'visibilitychange'], leave); // in this order

// holdsGiven tells whether el holds what was given to a field.
function holdsGiven(el) {
  const was = fields.get(el), tag = htmlTag(el);
  if (was !== undefined && was.dots) return true;
  return given.length > 0 && (tag === 'input' ? KEEPS.test(el.type) : tag === 'textarea' || edited(el)) && copies(el, tag, given);
}

// drawnAsDots tells whether all that el holds is drawn as dots now.
export const drawnAsDots = (el) => dotted(el) && (isField(htmlTag(el)) || [...queryAll(el, '*')].every(dotted));

// keepIn has nothing taken out of what holds a secret and shows it.
function keepIn(e) {
  if (!given.length || !e.isTrusted) return;
  let at = e.composedPath()[0];
  if (nodeType(at) !== ELEMENT) at = parentNode(at);
  for (let root, inner; at && nodeType(at) === ELEMENT && (root = shadowOf(at)) && (inner = activeOfTree(root));) at = inner;
  const shows = (el) => holdsGiven(el) && !drawnAsDots(el);
  const selected = getSelection();
  const within = (el) => el && selected && selected.containsNode(el, true) && shows(el);
  const editors = new Set([...queryAllOf(document, EDITED), bodyOf(document)]);
  const host = at && nodeType(at) === ELEMENT ? writtenIn(at) : null;
  if (!(host && shows(host)) && !given.some(({ field }) => within(field.deref())) && !outermost(editors).some(within)) return;
  e.preventDefault();
  e.stopImmediatePropagation();
}
listen(['copy', 'cut', 'dragstart'], keepIn);

// hides tells whether el is an element that is written in, and what is in it is secret.
export const hidesText = (el) => edited(el) && secret(el);

let whole = null; // the body of a page that is edited as a whole (designMode), once something is written in it

function edited(el) {
  const v = attr(el, 'contenteditable');
  return v === null ? el === whole : v !== 'false' && isHTML(el);
}

// writtenIn returns what holds the text that is written into el: itself, or what is edited around it (HTML, 6.8.4).
function writtenIn(el) {
  if (isField(htmlTag(el))) return el;
  const body = bodyOf(document);
  if (body && designModeOf(document) === 'on' && (contains(body, el) || contains(el, body))) return whole = body;
  let host = el;
  for (let p = el, q; p && nodeType(p) === ELEMENT && (q = closest(p, EDITED)) && edited(q); p = parentNode(q)) host = q;
  return host;
}

// noteSecrets looks at the password fields that are there.
export function noteSecrets() {
  for (const el of queryAllOf(document, 'input[type=password]')) secret(el);
}

// wasSecret tells whether the attribute made its element secret before it changed.
const wasSecret = (name, value) => value !== null && (name === 'type' ? value.toLowerCase() === 'password' : name === 'autocomplete' ? AUTOFILL.test(value.toLowerCase()) : saysSecret(value));

function note(records) {
  for (const r of records) {
    const el = r.target, tag = htmlTag(el);
    if (isField(tag) && wasSecret(r.attributeName, r.oldValue) && (tag === 'textarea' || r.attributeName === 'type' || LINES.test(el.type))) keep(el, tag);
  }
}

const observer = new MutationObserver(note);
const watch = () => observer.observe(document, { subtree: true, attributeFilter: ['type', 'autocomplete', 'name', 'id', 'aria-label', 'placeholder'], attributeOldValue: true });
watch();
onNewDocument(watch);
onCall(() => note(observer.takeRecords()));

// What a person who drives the session types is secret, wherever they type it.
export let driven = false;
/** @type {Map<any, string>} */ let typed = new Map(); // the records of the elements, and what these held then

// personDrives says whether a person drives. At the end what they typed is shown as dots, wherever it is.
export function personDrives(on) {
  driven = on;
  if (on) {
    acceptInput(); // a person sees what they press
    return true;
  }
  if (!typed.size) return true;
  for (const [was, text] of typed) {
    const el = was.field.deref();
    give(was, text);
    if (el) showDots(el);
  }
  typed = new Map();
  showCopiesAsDots([...queryAllOf(document, WRITTEN)]);
  return true;
}

function typedInto(el) {
  const tag = htmlTag(el);
  typed.set(keep(el, tag, true), valueIn(el, tag));
  if (isField(tag)) setAttr(el, 'autocomplete', 'off'); // see hide
}

// Before the page's own listeners, which may give the field another type.
listen(['input'], (e) => {
  const el = e.composedPath()[0];
  if (el === window || nodeType(el) !== ELEMENT) return;
  const at = writtenIn(el);
  if (driven && e.isTrusted) typedInto(at);
  if (isField(htmlTag(at)) || edited(at)) secret(at, true);
});
listen(['DOMContentLoaded'], noteSecrets);
