// The accessible name of an element.
//
// Accessible Name and Description Computation 1.2, with HTML-AAM's naming of native elements, and with
// Chromium's choices where those are open. Chromium itself is not asked (computedName): it would have to
// keep its accessibility tree of the whole page, which costs more than a walk.

import { ARIA, ARIA_HIDDEN, bitsOf, EDITABLE, INERT, LABEL, LABELLEDBY, OWNS, ROLE } from './attributes.js';
import {
  attr, byId, childNodes, closest, contains, ELEMENT, firstChild, firstElementChild, getRootNode, has, localName, namespaceURI,
  nextElementSibling, nextSibling, nodeType, parentNode, queryAll, rectOf, SVG, TEXT, textContent, textData,
} from './dom.js';
import { flatList, isElement, isHTML, shadowOf, tagOf } from './flat-tree.js';
import { isField, labelsOf } from './labels.js';
import { styleOf } from './node-cache.js';
import { onCall, onForget, page } from './page.js';
import { computedName, CONTROLS, FROM_CONTENT, GROUPS, LANDMARKS, NAMING, roleOf, svgTitle, tableOf } from './role.js';
import { secret } from './secrets.js';
import { blank, fold, hasGlyphs, headOf, withoutGlyphs } from './text.js';
import { valueOf } from './values.js';
import { rendered } from './visibility.js';
import { frameOf } from './walk-frame.js';
import { wordSet } from './word-set.js';

export const NAME_MAX = 2000; // characters of a name, for those that show it and compare it alike

// cutName keeps a name to NAME_MAX.
export const cutName = (s) => (s.length > NAME_MAX ? headOf(s, NAME_MAX) : s);

// nameFor returns the name of el, which has this role and the frame f. Glyphs of icon
// fonts are no name: the title takes their place. What a heading says is not acted on,
// and stays as Chromium has it.
export function nameFor(el, role, f = frameOf(el)) {
  if (role === 'row' && !(f.bits & NAMING)) return ''; // its cells say it
  const name = wholeName(el, role, f);
  if (!hasGlyphs(name)) return name;
  const rest = withoutGlyphs(name);
  return rest === '' ? cutName(titleOf(el)) : role === 'heading' ? name : rest;
}

// wholeName is the name of el, cut to NAME_MAX.
function wholeName(el, role, f) {
  if (neverNamed(el, role, f)) return '';
  return cutName(plainName(el, role, f) || ownName(el) || fold(accname(el, role, { seen: new Set() })));
}

// ownName returns the name that Chromium has for a custom element, which may be that
// of its ElementInternals or of a label.
export const ownName = (el) => (isHTML(el) && localName(el).includes('-') && !readsSecret(el, bitsOf(el)) ? cutName(fold(computedName(el))) : '');

// readsSecret reports whether the name of el is read from something in which a field
// holds a secret: Chromium says what such a field holds, accname that it holds something.
function readsSecret(el, bits) {
  if (holdsSecret(el) || (isField(el) && Array.from(labelsOf(el, bits)).some(holdsSecret))) return true;
  if (!(bits & (LABELLEDBY | OWNS))) return false;
  const root = getRootNode(el);
  return ((attr(el, 'aria-labelledby') || '') + ' ' + (attr(el, 'aria-owns') || '')).split(/\s+/).some((id) => {
    const e = id && root.getElementById && root.getElementById(id);
    return e && holdsSecret(e);
  });
}

// holdsSecret reports whether el is, or is around, a field that holds a secret.
function holdsSecret(el) {
  for (const left = [el]; left.length;) {
    const e = left.pop(), tag = localName(e);
    if (tag === 'input' || tag === 'textarea') {
      if (isHTML(e) && e.value !== '' && secret(e)) return true;
      continue;
    }
    const list = flatList(e, tag);
    if (list) left.push(...Array.from(list).filter(isElement));
    else for (let k = firstElementChild(e); k; k = nextElementSibling(k)) left.push(k);
  }
  return false;
}

// UNSEEN are characters that layout may leave out of a text.
const UNSEEN = /[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

// plainName returns the name of el where that is plain: an
// aria-label, or the only text in the element that names it: itself, its label or
// caption, or the one that aria-labelledby means. '' leaves it to accname, whose
// answer costs ten times as much.
function plainName(el, role, f) {
  const bits = f.bits;
  if (bits & OWNS) return '';
  if (bits & LABELLEDBY) return NAMED.has(role) ? referredText(el) : '';
  if (bits & LABEL) {
    const label = NAMED.has(role) ? fold(attr(el, 'aria-label')) : '';
    return UNSEEN.test(label) ? '' : label;
  }
  if (!f.html) return '';
  switch (f.tag) {
    case 'input': case 'select': case 'textarea': return LABELLED.has(role) ? labelText(el, bits) : '';
    case 'table': return role === 'table' && el.caption && styleOf(el.caption).display !== 'none' ? namingText(el.caption, 'caption', null) : '';
    case 'fieldset': return role === 'group' ? namingText(firstElementChild(el), 'legend', null) : '';
    case 'button': if (labelsOf(el, bits).length) return ''; // falls through
    case 'a': case 'h1': case 'h2': case 'h3': case 'h4': case 'h5': case 'h6': case 'td': case 'th':
      return FROM_CONTENT.has(role) && !f.k.shadow() && !f.hides() ? soleText(el, f) : '';
  }
  return '';
}

const NAMED = wordSet([...CONTROLS, ...LANDMARKS, ...GROUPS].join(' ') + ' list article figure dialog alertdialog img heading');
const LABELLED = wordSet('textbox searchbox checkbox radio spinbutton slider combobox listbox switch');
const NAMING_TAGS = wordSet('h1 h2 h3 h4 h5 h6 label legend th td a button b strong'); // most cannot have a shadow tree that nobody sees

// referredText returns the only text of the one element that aria-labelledby means.
function referredText(el) {
  const id = attr(el, 'aria-labelledby');
  if (!id || /\s/.test(id) || getRootNode(el) !== page) return '';
  const e = byId(page, id);
  return e && e !== el && NAMING_TAGS.has(localName(e)) && (within(e, el) || near(e, el)) ? namingText(e, '', null) : '';
}

// within and near tell whether e stands a little way inside el, or right in
// something a little way around it: then it is not inert where el is not.
function within(e, el) {
  for (let p = parentNode(e), i = 0; p && nodeType(p) === ELEMENT && i < 4; p = parentNode(p), i++) {
    if (p === el) return true;
    if (has(p, 'inert')) return false;
  }
  return false;
}

function near(e, el) {
  const parent = parentNode(e);
  for (let p = parentNode(el), i = 0; p && i < 4; p = parentNode(p), i++) {
    if (p === parent) return true;
    if (nodeType(p) !== ELEMENT || localName(p) === 'dialog') return false;
  }
  return false;
}

// labelText returns the only text of the one label of a control.
function labelText(el, bits) {
  const labels = labelsOf(el, bits);
  if (labels.length !== 1 || el.type === 'file' || el.type === 'color') return '';
  const label = labels[0];
  return parentNode(el) === label || near(label, el) ? namingText(label, 'label', el) : '';
}

// namingText returns the only text of e, which names something else and is plain
// text itself; beside it there may be the control that it names.
function namingText(e, tag, control) {
  if (!e || (tag && localName(e) !== tag) || !isHTML(e) || shadowOf(e)) return '';
  return bitsOf(e) & (NAMING | OWNS | ARIA | ARIA_HIDDEN | INERT | EDITABLE | ROLE) ? '' : visibleText(e, control, styleOf(e));
}

const visibleText = (e, control, s) => (s.visibility === 'visible' && s.display !== 'none' ? plainText(e, onlyText(e, control), s) : '');

// soleText is plainText for the only text in el, whose frame is f.
function soleText(el, f) {
  if (f.up === null) return plainText(el, onlyText(el, null), f.s); // outside of a walk
  const piece = f.k.sole();
  return piece === null ? '' : plainText(el, piece.fold(), f.s);
}

// onlyText returns the text in e, where there is but one and no element beside it but
// control.
function onlyText(e, control) {
  let only = null;
  for (let n = firstChild(e), i = 0; n; n = nextSibling(n)) {
    if (n === control) continue;
    if (nodeType(n) !== TEXT || ++i > 5) return '';
    if (control !== null && blank(textData(n))) continue;
    if (only !== null) return '';
    only = n;
  }
  return only === null ? '' : fold(textData(only));
}

// plainText returns the text in e, which is visible and whose style is s, as Chromium
// reads it; '' where that may be otherwise.
function plainText(e, text, s) {
  if (!text || UNSEEN.test(text)) return '';
  if (s.textTransform !== 'none' || s.webkitTextSecurity !== 'none' || s.content !== 'normal') return '';
  if (deferredPseudoChecks) {
    deferredPseudoChecks.push(e);
    return text;
  }
  return hasGeneratedContent(e) ? '' : text;
}

// The elements whose name was taken from their text without checking whether a style sheet
// adds to it; null if each is checked at once. Reading a pseudo-element's style makes the next
// layout query four times as expensive, so a walk defers all of them to its end.
let deferredPseudoChecks = null;
onCall(() => { deferredPseudoChecks = null; }); // a walk may have been ended in the middle
let adornsNames = false; // a style sheet has added to such a name in this document

const adornments = new WeakMap(); // element → the styles of its ::before and ::after, which Blink keeps up to date

// hasGeneratedContent reports whether a style sheet puts something before or after el.
export function hasGeneratedContent(el) {
  let a = adornments.get(el);
  if (a === undefined) adornments.set(el, a = [styleOf(el, '::before'), styleOf(el, '::after')]);
  return !(contentless(a[0]) && contentless(a[1]));
}

// withDeferredNameChecks calls write again if a name that was taken from text alone turns out to be
// incomplete, which happens at most once per document.
export function withDeferredNameChecks(write) {
  deferredPseudoChecks = adornsNames ? null : [];
  const written = write(), trusted = deferredPseudoChecks;
  deferredPseudoChecks = null;
  if (!trusted || !trusted.some(hasGeneratedContent)) return written;
  adornsNames = true;
  return write();
}

function contentless(s) {
  const content = s.content;
  return content === 'none' || content === 'normal';
}

// Elements with these roles and tags get a name from an attribute only.
const NAMELESS = wordSet('paragraph list article blockquote main navigation banner contentinfo complementary emphasis strong code form caption search status');
const NAMELESS_TAGS = wordSet('p ul ol menu article blockquote main nav header footer aside em strong code form caption search div');

// neverNamed reports whether el plainly has no name. A list item and a row are named
// by their content where they can have the focus.
function neverNamed(el, role, f) {
  if (role === 'listitem') return !f.bits && f.tag === 'li' && !inComposite(el);
  if (role === 'row') return !f.bits && f.tag === 'tr' && !tableOf(el).grid && !inComposite(el);
  return !(f.bits & (NAMING | OWNS | ARIA)) && NAMELESS.has(role) && NAMELESS_TAGS.has(f.tag);
}

let composites = new Map(); // parent → whether its children stand in one; of one walk or question
onForget(() => { composites = new Map(); });

// inComposite reports whether el, without attributes, stands in what says which of its
// descendants has the focus.
function inComposite(el) {
  const p = parentNode(el);
  let v = composites.get(p);
  if (v === undefined) composites.set(p, v = closest(el, '[aria-activedescendant]') !== null);
  return v;
}

export const SILENT_TAGS = wordSet('script style noscript template head meta link title source track param col colgroup datalist rp');

// accname returns the computation proper. c.seen holds the nodes on the way, so that
// none counts twice; c.inside tells that el is being read as part of another
// name; c.referred that aria-labelledby led here; c.hidden that hidden text counts;
// c.untitled, in a label, that titles do not.
function accname(el, role, c) {
  if (c.seen.has(el)) return '';
  c.seen.add(el);
  const value = c.inside ? embedded(el, role, c) : null; // 2C, of a control in a name, before 2B as Chromium has it
  if (value && !PICKED.has(el.type) || (value !== null && (localName(el) === 'select' || (role === 'textbox' || role === 'searchbox') && !isField(el)))) return value;
  if (!c.referred && has(el, 'aria-labelledby')) { // 2B
    const s = labelledBy(el);
    if (s) return s;
  }
  const label = has(el, 'aria-label') && localName(el) !== 'slot' ? attr(el, 'aria-label').trim() : ''; // a slot has no box
  if (label) return label; // 2D
  if (value !== null) return value || titleOf(el);
  const native = c.self && localName(el) === 'button' ? '' : nativeName(el, role, c); // 2E; a button that its author names by itself is what it says
  if (native) return native;
  if (c.inside && !c.referred && APART.has(role) && !/^(details|footer|address)$/.test(localName(el))) return titleIn(el, role, c);
  let s = '';
  if (FROM_CONTENT.has(role) || c.inside || (role === 'img' && !isHTML(el))) s = contentName(el, c); // 2F
  if (s.trim()) return s;
  return titleIn(el, role, c) || (c.inside ? s : '');
}

// titleIn returns the title of el where Chromium takes it as a name: not of a picture that has an alt, even an empty one.
function titleIn(el, role, c) {
  if (role === 'none' || c.untitled || NO_TITLE.has(role) || has(el, 'alt') && localName(el) === 'img') return '';
  return c.inside && !role && takesNoRoom(el) ? '' : titleOf(el);
}

// takesNoRoom reports whether el is a block without a height, whose title nobody can see.
const takesNoRoom = (el) => styleOf(el).display !== 'inline' && rectOf(el).height === 0;

// NO_TITLE are the phrases that ARIA lets nobody name: their title says more about them, and Chromium has it so.
const NO_TITLE = wordSet('code deletion emphasis insertion mark strong subscript superscript term time');

// APART are the roles whose content is no part of the name of what is around them:
// only their author names them (Chromium's AXObject::SupportsNameFromContents).
const APART = wordSet('alert alertdialog application article banner blockquote comment complementary contentinfo dialog document feed ' +
  'figure form graphics-document grid group img log main marquee navigation note radiogroup row rowgroup search separator status suggestion ' +
  'table tabpanel timer toolbar treegrid');

// PICKED are the inputs of a date or time, which say what they are called before what they hold.
const PICKED = wordSet('date time month week datetime-local');

export const titleOf = (el) => (has(el, 'title') ? fold(attr(el, 'title')) : '') ||
  (has(el, 'placeholder') && holdsPlaceholder(el) ? fold(attr(el, 'placeholder')) : '') ||
  (has(el, 'aria-placeholder') && /^(textbox|searchbox)$/.test(roleOf(el)) ? fold(attr(el, 'aria-placeholder')) : '');

// holdsPlaceholder reports whether el shows its placeholder: others have it in vain.
const holdsPlaceholder = (el) => localName(el) === 'textarea' || localName(el) === 'input' && /^(text|search|url|tel|email|password|number)$/.test(el.type);

// labelledBy joins the names of the elements that aria-labelledby lists.
export function labelledBy(el) {
  const root = getRootNode(el);
  if (!root.getElementById) return '';
  const parts = [];
  for (const id of attr(el, 'aria-labelledby').trim().split(/\s+/)) {
    const e = root.getElementById(id);
    if (!e) continue;
    parts.push(accname(e, roleOf(e), { seen: new Set(e === el || localName(el) === 'button' ? [] : [el]), referred: true, inside: e !== el, hidden: !rendered(e), self: e === el }));
  }
  return fold(parts.join(' '));
}

// embedded returns what a control contributes to the name of something else: its
// value; null if el is no such control.
function embedded(el, role, c) {
  switch (role) {
    case 'textbox': case 'searchbox':
      return isField(el) ? valueOf(el, role) : textContent(el);
    case 'combobox': case 'listbox': {
      if (localName(el) === 'select') return Array.from(el.selectedOptions, (o) => o.text).join(' ');
      if (localName(el) === 'input') return valueOf(el, role);
      const on = Array.from(queryAll(el, '[role=option][aria-selected=true]'));
      if (on.length) return on.map((o) => accname(o, 'option', { seen: new Set(), inside: true })).join(' ');
      return role === 'combobox' || c.referred ? null : '';
    }
    case 'menu': case 'menubar': case 'tree': case 'tablist': return c.referred ? null : '';
    case 'slider': case 'spinbutton': case 'progressbar': case 'meter': case 'scrollbar':
      return attr(el, 'aria-valuetext') || attr(el, 'aria-valuenow') || (el.value === undefined ? '' : String(el.value));
  }
  return null;
}

// nativeName returns the name that HTML gives el (HTML-AAM 4.1), '' for none.
export function nativeName(el, role, c) {
  const tag = tagOf(el);
  if (namespaceURI(el) === SVG) {
    const t = svgTitle(el);
    return t ? fold(textContent(t)) : '';
  }
  switch (tag) {
    case 'input':
      switch (el.type) {
        case 'button': return labelName(el, c) || el.value;
        case 'submit': case 'reset': return labelName(el, c) || (has(el, 'value') ? el.value : el.type === 'submit' ? 'Submit' : 'Reset');
        case 'image': return labelName(el, c) || fold(attr(el, 'alt') || '') || fold(attr(el, 'value') || '') || titleOf(el) || 'Submit';
        case 'file': return labelName(el, c) || titleOf(el) || (el.multiple ? 'Choose Files' : 'Choose File');
      }
      return labelName(el, c);
    case 'select': case 'textarea': case 'meter': case 'progress': case 'output': case 'button':
      return labelName(el, c);
    case 'img': case 'area': return fold(attr(el, 'alt') || '');
    case 'fieldset': return childName(el, 'legend', c);
    case 'table': return childName(el, 'caption', c) || fold(attr(el, 'summary') || '');
    case 'details': return '';
    case 'optgroup': return fold(attr(el, 'label') || '');
    case 'option': return fold(el.label || '');
  }
  return '';
}

// optionName returns the name of an option or a group of them, whose frame is f.
export const optionName = (el, role, f = frameOf(el)) => (f.bits & (LABEL | LABELLEDBY) && nameFor(el, role, f) || cutName(withoutGlyphs(fold(el.label))));

function childName(el, tag, c) {
  for (let k = firstElementChild(el); k; k = nextElementSibling(k)) {
    if (localName(k) === tag) return fold(contentName(k, { seen: c.seen, inside: true }));
  }
  return '';
}

// labelName joins the names of el's labels.
function labelName(el, c) {
  const parts = [];
  for (const l of labelsOf(el)) {
    if (c.seen.has(l) || !rendered(l) || attr(l, 'aria-hidden') === 'true') continue;
    const own = has(l, 'aria-label') ? attr(l, 'aria-label').trim() : '';
    parts.push(own || contentName(l, { seen: new Set([el]), inside: true, untitled: true }));
  }
  return fold(parts.join(' '));
}

// contentName joins the names of what el contains, as it is laid out.
export function contentName(el, c) {
  let out = generated(el, '::before');
  const root = shadowOf(el), s = styleOf(el);
  for (const k of flatList(el) || childNodes(el)) {
    const type = nodeType(k);
    if (type === TEXT) out += laidOut(textData(k), s);
    else if (type === ELEMENT) out += partName(k, c);
  }
  if (!root) for (const o of owned(el)) out += ' ' + partName(o, c) + ' ';
  return out + generated(el, '::after');
}

// laidOut returns text as it is laid out in an element of style s: text-transform changes it, and
// -webkit-text-security masks it.
function laidOut(text, s) {
  if (s.webkitTextSecurity !== 'none') return text.replace(/\S/g, '\u2022');
  switch (s.textTransform) {
    case 'uppercase': return text.toUpperCase();
    case 'lowercase': return text.toLowerCase();
    case 'capitalize': return text.replace(/(^|[^\p{L}\p{N}\p{M}'\u2019])(\p{L})/gu, (all, before, letter) => before + letter.toUpperCase());
  }
  return text;
}

function owned(el) {
  if (!has(el, 'aria-owns')) return [];
  const root = getRootNode(el);
  return attr(el, 'aria-owns').trim().split(/\s+/).map((id) => root.getElementById && root.getElementById(id)).filter((e) => e && !contains(el, e));
}

// partName returns what the element k contributes to a name from content, with
// spaces around it where it is no inline box.
function partName(k, c) {
  const tag = tagOf(k);
  if (tag === 'br' || tag === 'wbr') return ' ';
  if (SILENT_TAGS.has(tag) && !(c.hidden && tag !== 'script' && tag !== 'style')) return '';
  if (!c.hidden && (attr(k, 'aria-hidden') === 'true' || has(k, 'inert'))) return '';
  const s = styleOf(k);
  const shows = c.hidden || rendered(k);
  if (!shows && s.display === 'none') return '';
  const inline = (s.display === 'inline' && tag !== 'img') || s.display === 'contents';
  const border = c.parts && isPart(s.display) ? BORDER : ' ';
  let n;
  if (shows) n = accname(k, roleOf(k), { seen: c.seen, inside: true, referred: c.referred, hidden: c.hidden, parts: c.parts, untitled: c.untitled });
  else n = s.visibility === 'visible' ? '' : contentHidden(k, c);
  if (!n) return inline ? '' : border;
  return inline && !namedApart(k, n) ? n : border + n + border;
}

// namedApart reports whether n, the name of k, is not the text that k shows: Chromium sets such a name apart.
const namedApart = (k, n) => has(k, 'aria-label') && fold(attr(k, 'aria-label')) !== '' || has(k, 'aria-labelledby') || has(k, 'title') && n === titleOf(k) && textContent(k).trim() === '';

// contentHidden reads what is visible within an element that is visibility:hidden.
function contentHidden(el, c) {
  let out = '';
  for (const k of flatList(el) || childNodes(el)) if (nodeType(k) === ELEMENT) out += partName(k, c);
  return out;
}

// BORDER stands between the parts of what is read, until joinParts.
export const BORDER = '\x1f';

// isPart reports whether what has this display is a part by itself: a cell, or a line of its own.
export const isPart = (display) => !display.startsWith('inline') && display !== 'contents' && !display.startsWith('ruby');

// joinParts writes the borders between parts as those between the cells of a table.
export function joinParts(s) {
  if (!s.includes(BORDER)) return withoutGlyphs(fold(s));
  return s.split(BORDER).map((part) => withoutGlyphs(fold(part))).filter((part) => part !== '').join(' | ');
}

const QUOTED = /"(?:[^"\\]|\\.)*"|\//gs;

// generated returns the text that a style sheet puts before or after el.
function generated(el, which) {
  const s = styleOf(el, which);
  const content = s.content;
  if (content === 'none' || content === 'normal' || !content) return '';
  const parts = content.match(QUOTED) || [];
  const text = parts.slice(parts.lastIndexOf('/') + 1).map((p) => p.slice(1, -1).replace(/\\(.)/gs, '$1')).join('');
  if (!text) return '';
  return s.display.startsWith('inline') && s.position !== 'absolute' ? text : ' ' + text + ' ';
}
