// The ARIA role of an element, by HTML-AAM's table and WAI-ARIA's rules.
//
// roleOf returns '' where an element has no role that says something (generic),
// 'none' where its author took the role away. Roles of Chromium's tree that are
// not ARIA's are written as the nearest ARIA role or, if there is none, as the
// tag: image → img, DisclosureTriangle and ColorWell → button, Date, DateTime and
// InputTime → textbox (its type says which), Iframe, Video, Audio, Canvas, Abbr
// and Ruby → iframe, video, audio, canvas, abbr and ruby.

import { bitsOf, EDITABLE, HREF, LABEL, LABELLEDBY, ROLE, TABINDEX, TITLE } from './attributes.js';
import {
  attr, closest, ELEMENT, firstElementChild, getter, has, localName, namespaceURI, nextElementSibling, nodeType, parentNode,
  previousElementSibling, queryPage, SVG,
} from './dom.js';
import { holdsData } from './data-table.js';
import { flatParent, isHTML, tagOf } from './flat-tree.js';
import { hasListener } from './listeners.js';
import { onForget, onNewDocument, page } from './page.js';
import { wordSet } from './word-set.js';

// Roles that a person operates.
export const CONTROLS = wordSet('button link textbox searchbox checkbox radio combobox listbox option menuitem ' +
  'menuitemcheckbox menuitemradio slider spinbutton switch tab treeitem');
export const LANDMARKS = wordSet('banner navigation main complementary contentinfo region search form');
// Containers that interactive_only shows where their author has named them.
export const GROUPS = wordSet('group radiogroup toolbar tablist tabpanel menu menubar tree grid treegrid table feed application');
// Text-level semantics: in running text they are text.
const PHRASES = wordSet('emphasis strong code subscript superscript deletion insertion mark time term abbr ruby');
export const FROM_CONTENT = wordSet('button link checkbox radio option menuitem menuitemcheckbox menuitemradio switch tab ' +
  'treeitem heading cell gridcell columnheader rowheader tooltip term');
// Controls whose children are part of them (WAI-ARIA "children presentational").
export const ATOMS = wordSet('button checkbox radio option menuitem menuitemcheckbox menuitemradio switch tab link heading');

export const CONTROL = 1, LANDMARK = 2, GROUP = 4, PHRASE = 8, CONTENT = 16, ATOM = 32;
const kinds = new Map();
// kindOf tells in which of these sets a role is, one bit for each.
export const kindOf = (role) => kinds.get(role) || 0;
for (const [set, bit] of /** @type {[Set<string>, number][]} */ ([[CONTROLS, CONTROL], [LANDMARKS, LANDMARK], [GROUPS, GROUP], [PHRASES, PHRASE], [FROM_CONTENT, CONTENT], [ATOMS, ATOM]])) {
  for (const role of set) kinds.set(role, kindOf(role) | bit);
}

const KNOWN = wordSet([...CONTROLS, ...LANDMARKS, ...GROUPS].join(' ') + ' alert alertdialog article blockquote caption cell ' +
  'code columnheader comment definition deletion dialog directory document emphasis figure generic gridcell ' +
  'heading image img insertion list listitem log mark marquee math meter none note paragraph presentation progressbar ' +
  'row rowgroup rowheader scrollbar separator status strong subscript suggestion superscript term time timer tooltip');

const TAG_ROLE = {
  __proto__: null,
  article: 'article', nav: 'navigation', main: 'main', search: 'search', ul: 'list', ol: 'list', menu: 'list',
  h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading', p: 'paragraph',
  figure: 'figure', fieldset: 'group', details: 'group', optgroup: 'group', address: 'group', hgroup: 'group',
  dialog: 'dialog', hr: 'separator', progress: 'progressbar', meter: 'meter', output: 'status', button: 'button',
  textarea: 'textbox', option: 'option', blockquote: 'blockquote', dd: 'definition', dt: 'term', dfn: 'term',
  code: 'code', em: 'emphasis', strong: 'strong', sub: 'subscript', sup: 'superscript', del: 'deletion', s: 'deletion',
  ins: 'insertion', mark: 'mark', time: 'time', abbr: 'abbr', ruby: 'ruby', form: 'form',
  video: 'video', audio: 'audio', canvas: 'canvas', iframe: 'iframe', frame: 'iframe', math: 'math',
};

const INPUT_ROLE = {
  __proto__: null,
  button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', color: 'button',
  checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox', hidden: 'none',
};

const GLOBAL_ARIA = ['aria-label', 'aria-labelledby', 'aria-describedby', 'aria-controls', 'aria-owns', 'aria-live',
  'aria-details', 'aria-flowto', 'aria-roledescription', 'aria-atomic', 'aria-busy', 'aria-relevant', 'aria-current', 'aria-keyshortcuts'];

// What Chromium's accessibility says of an element (ComputedAccessibilityInfo), '' where it is not asked: only in a
// document with custom elements, for which the daemon enables it. Without that each question builds the tree of the page.
const [roleComputed, nameComputed] = 'computedRole' in Element.prototype ? [getter(Element, 'computedRole'), getter(Element, 'computedName')] : [() => '', () => ''];
let asksChromium = false;
const computedRole = (el) => asksChromium ? roleComputed(el) : '';
export const computedName = (el) => asksChromium ? nameComputed(el) : '';
// foundCustomElements says that the document has custom elements.
export const foundCustomElements = () => { asksChromium = true; };
onNewDocument(() => { asksChromium = false; });

let layouts = new Map(); // table → whether it only lays out; of one walk or question
onForget(() => { layouts = new Map(); });

// FRAMES are the tags of what may hold another document: it does so whatever role its
// author gives it.
export const FRAMES = wordSet('iframe frame embed object');

// shownRole returns the role that a line shows, of what roleOf returned.
export const shownRole = (role) => (role && role !== 'none' ? role : 'generic');

// roleOf returns the role of el.
export function roleOf(el, bits = bitsOf(el), tag = localName(el), html = isHTML(el)) {
  if (html && FRAMES.has(tag) && (tag !== 'object' || el.contentWindow)) return 'iframe';
  const given = bits & ROLE ? authorRole(el) : '';
  if (given) return given === 'generic' ? '' : given;
  const role = nativeRole(el, bits, tag.toLowerCase(), html) || (html && tag.includes('-') ? ownRole(el, bits) : '');
  if (html && role && inherited[role] && losesRole(el, role)) return 'none';
  return role;
}

// What a custom element says of itself by its ElementInternals, Chromium alone can
// tell, and of states that no attribute has it tells nothing: a role that is not
// understood without its state, such as checkbox, is not taken.
const OWN_ROLES = wordSet('button link menuitem slider spinbutton');

// ownRole returns the role that a custom element has by itself, of those that can
// be acted on. Not each is asked about: a page may consist of them.
function ownRole(el, bits) {
  if (!(bits & TABINDEX) && !hasListener.has(el)) return '';
  const r = computedRole(el);
  return OWN_ROLES.has(r) ? r : '';
}

// authorRole returns the first role of the role attribute that ARIA knows and
// that holds, '' where none does.
function authorRole(el) {
  for (const r of attr(el, 'role').toLowerCase().trim().split(/\s+/)) {
    if (!KNOWN.has(r) && !/^(doc|graphics)-[a-z]+$/.test(r)) continue;
    if (r === 'none' || r === 'presentation') return keepsRole(el) ? '' : 'none';
    if ((r === 'region' || r === 'form') && !authorName(el)) return /^(section|form)$/.test(localName(el)) && nativeRole(el) === r ? '' : 'generic';
    if (r === 'image') return 'img';
    if (r === 'directory') return 'list';
    if (HOLDERS[r] && orphan(el, r)) continue;
    return r;
  }
  return '';
}

// What items stand in. Chromium takes none by its word that stands in nothing of which it could be one.
const HOLDERS = { __proto__: null, option: 'listbox', listitem: 'list', treeitem: 'tree' };

// OF_THEIR_OWN are elements that have a role for Chromium, but none of ARIA's: they end the search.
const OF_THEIR_OWN = wordSet('section aside header footer label legend figcaption summary table tbody tr td th');
const MAX_AROUND = 50; // elements around an item that are looked at

// orphan reports whether el, an item by its role attribute, stands in no container of such items. What
// has no role, and items around items, may stand between.
function orphan(el, role) {
  if (role === 'listitem' && localName(el) === 'li') return false;
  let p = flatParent(el);
  for (let i = 0; p && i < MAX_AROUND; p = flatParent(p), i++) {
    const given = has(p, 'role') ? attr(p, 'role').toLowerCase().trim().split(/\s+/) : [];
    if (given.some((r) => HOLDERS[r])) {
      if (role === 'treeitem' && given[0] === role) continue;
      return isOwnedByNone(el);
    }
    const r = roleOf(p), tag = localName(p);
    if (r === '' || r === 'none') {
      if (role === 'option' && tag === 'li') return false; // Chromium takes it for none there, and it acts as one
      if (role === 'listitem' && (tag === 'ul' || tag === 'ol')) return false;
      if (r === '' && isHTML(p) && OF_THEIR_OWN.has(tag)) return isOwnedByNone(el);
    } else if (r === 'listitem') return (role !== 'option' || given.length > 0) && isOwnedByNone(el);
    else if (r === 'group') return given.length === 0 && isOwnedByNone(el);
    else return r !== HOLDERS[role] && isOwnedByNone(el);
  }
  return !p && isOwnedByNone(el);
}

// isOwnedByNone reports whether no element has el among its aria-owns.
function isOwnedByNone(el) {
  const id = has(el, 'id') ? attr(el, 'id') : '';
  return !id || queryPage(page, `[aria-owns~="${CSS.escape(id)}"]`) === null;
}

// keepsRole reports whether role=none is ignored because el is focusable or has a global
// ARIA attribute (WAI-ARIA 1.2, presentational roles conflict resolution).
function keepsRole(el) {
  return focusable(el) || GLOBAL_ARIA.some((a) => has(el, a));
}

// focusable reports whether el can take the focus by itself or by tabindex.
function focusable(el) {
  if (has(el, 'tabindex') && !isNaN(parseInt(attr(el, 'tabindex'), 10))) return true;
  switch (localName(el)) {
    case 'a': case 'area': return has(el, 'href');
    case 'input': return el.type !== 'hidden' && !el.disabled;
    case 'button': case 'select': case 'textarea': return !el.disabled;
    case 'iframe': return true;
    case 'summary': return isSummary(el);
  }
  return has(el, 'contenteditable') && attr(el, 'contenteditable') !== 'false';
}

// A child that belongs to its container loses its role with it.
const inherited = { __proto__: null, listitem: 1, row: 1, rowgroup: 1, cell: 1, gridcell: 1, columnheader: 1, rowheader: 1, caption: 1 };

function losesRole(el, role) {
  return role === 'listitem' ? removesChildRoles(parentNode(el)) : tableOf(el).removesChildRoles;
}

const removesChildRoles = (owner) => !!owner && nodeType(owner) === ELEMENT && has(owner, 'role') && authorRole(owner) === 'none';

let tables = new Map(); // parent → what its children are parts of; of one walk or question
onForget(() => { tables = new Map(); });

// tableOf describes the table that el is part of: {data: it is not for layout only, grid: it
// is a grid, removesChildRoles: it has no role, and so its parts have none}.
export function tableOf(el) {
  const p = parentNode(el);
  let t = tables.get(p);
  if (t === undefined) {
    const any = closest(el, 'table,[role=table],[role=grid],[role=treegrid]'), grid = closest(el, 'table,[role=grid],[role=treegrid]');
    t = {
      data: any !== null && (localName(any) !== 'table' || !layoutTable(any)),
      grid: grid !== null && /^(grid|treegrid)$/.test(attr(grid, 'role') || ''),
      removesChildRoles: removesChildRoles(closest(el, 'table')),
    };
    tables.set(p, t);
  }
  return t;
}

export const NAMING = LABEL | LABELLEDBY | TITLE;

// authorName reports whether the author named el, as region and form need.
export function authorName(el, bits = NAMING) {
  if (!(bits & NAMING)) return false;
  return (has(el, 'aria-label') && attr(el, 'aria-label').trim() !== '') || has(el, 'aria-labelledby') ||
    (has(el, 'title') && attr(el, 'title').trim() !== '');
}

// nativeRole returns the role that HTML gives el.
function nativeRole(el, bits = bitsOf(el), tag = tagOf(el), html = isHTML(el)) {
  if (!html && namespaceURI(el) === SVG) {
    if (tag === 'a') return has(el, 'href') || has(el, 'xlink:href') ? 'link' : '';
    if (tag === 'svg') return authorName(el) || svgTitle(el) ? 'img' : '';
    return '';
  }
  const role = TAG_ROLE[tag];
  if (role) {
    if (bits & EDITABLE && role !== 'textbox' && isHost(el)) return role === 'paragraph' || role === 'list' ? 'textbox' : role;
    return role;
  }
  switch (tag) {
    case 'a': case 'area': return bits & HREF ? 'link' : bits & EDITABLE && isHost(el) ? 'textbox' : '';
    case 'input': {
      const r = INPUT_ROLE[el.type] || 'textbox';
      return has(el, 'list') && el.list && (r === 'textbox' || r === 'searchbox') && !DATES.has(el.type) ? 'combobox' : r;
    }
    case 'select': return el.multiple || el.size > 1 ? 'listbox' : 'combobox';
    case 'img': {
      const alt = attr(el, 'alt');
      return alt === '' && !authorName(el) && !has(el, 'aria-label') && !focusable(el) ? 'none' : 'img';
    }
    case 'li': return 'listitem';
    case 'dl': return authorName(el, bits) ? 'list' : '';
    case 'summary': return isSummary(el) ? 'button' : '';
    case 'header': return sectioned(el) ? '' : 'banner';
    case 'footer': return sectioned(el) ? '' : 'contentinfo';
    case 'aside': return asidePlain(el) ? '' : 'complementary';
    case 'section': return authorName(el, bits) ? 'region' : '';
    case 'table': return layoutTable(el) ? '' : 'table';
    case 'caption': return 'caption';
    case 'thead': case 'tbody': case 'tfoot': return tableOf(el).data ? 'rowgroup' : '';
    case 'tr': return tableOf(el).data ? 'row' : '';
    case 'td': {
      const t = tableOf(el);
      return t.data ? (t.grid ? 'gridcell' : 'cell') : '';
    }
    case 'th': return tableOf(el).data ? headerRole(el) : '';
  }
  return bits & EDITABLE && isHost(el) ? 'textbox' : '';
}

const DATES = wordSet('date time month week datetime-local');

// isHost reports whether el is where editing begins (contenteditable).
export function isHost(el) {
  if (!has(el, 'contenteditable') || !isHTML(el)) return false;
  const v = attr(el, 'contenteditable').toLowerCase();
  return v === '' || v === 'true' || v === 'plaintext-only';
}

export function isSummary(el) {
  const p = parentNode(el);
  if (!p || nodeType(p) !== ELEMENT || localName(p) !== 'details') return false;
  let c = firstElementChild(p);
  while (c && localName(c) !== 'summary') c = nextElementSibling(c);
  return c === el;
}

export const svgTitle = (el) => {
  for (let c = firstElementChild(el); c; c = nextElementSibling(c)) if (localName(c) === 'title') return c;
  return null;
};

const SECTIONS = 'article,aside,main,nav,section,[role=article],[role=complementary],[role=main],[role=navigation],[role=region]';
const sectioned = (el) => closest(el, SECTIONS) !== null;

function asidePlain(el) {
  if (authorName(el)) return false;
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if (/^(article|aside|nav|section)$/.test(localName(p)) && !(has(p, 'role') && authorRole(p))) return true;
  }
  return false;
}

// headerRole decides between column and row header as Blink does: by scope, else
// by the cells beside it.
function headerRole(th) {
  const scope = (attr(th, 'scope') || '').toLowerCase();
  if (scope === 'row' || scope === 'rowgroup') return 'rowheader';
  if (scope === 'col' || scope === 'colgroup') return 'columnheader';
  const next = nextElementSibling(th), before = previousElementSibling(th);
  if ((next && localName(next) === 'th') || (before && localName(before) === 'th')) return 'columnheader';
  return (next && localName(next) === 'td') || (before && localName(before) === 'td') ? 'rowheader' : 'columnheader';
}

// layoutTable reports whether a table only places things.
function layoutTable(t) {
  if (has(t, 'role') && authorRole(t) && authorRole(t) !== 'none') return false;
  let v = layouts.get(t);
  if (v === undefined) layouts.set(t, v = !holdsData(t));
  return v;
}

// headingLevel returns the level of a heading, 2 if nobody says (WAI-ARIA).
export function headingLevel(el) {
  const n = parseInt(attr(el, 'aria-level'), 10);
  if (n > 0) return n;
  const tag = tagOf(el);
  return /^h[1-6]$/.test(tag) ? +tag[1] : 2;
}
