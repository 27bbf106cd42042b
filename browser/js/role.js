// role.js: the ARIA role of an element, by HTML-AAM's table and WAI-ARIA's rules.
//
// roleOf returns '' where an element has no role that says something (generic),
// 'none' where its author took the role away. Roles of Chromium's tree that are
// not ARIA's are written as the nearest ARIA role or, where there is none, as the
// tag: image → img, DisclosureTriangle and ColorWell → button, Date, DateTime and
// InputTime → textbox (its type says which), Iframe, Video, Audio, Canvas, Abbr
// and Ruby → iframe, video, audio, canvas, abbr and ruby.

const words = (s) => new Set(s.split(' '));

// Roles that a person operates.
const CONTROLS = words('button link textbox searchbox checkbox radio combobox listbox option menuitem ' +
  'menuitemcheckbox menuitemradio slider spinbutton switch tab treeitem');
const LANDMARKS = words('banner navigation main complementary contentinfo region search form');
// Containers that interactive_only shows where their author has named them.
const GROUPS = words('group radiogroup toolbar tablist tabpanel menu menubar tree grid treegrid table feed application');
// Text-level semantics: in running text they are text.
const PHRASES = words('emphasis strong code subscript superscript deletion insertion mark time term abbr ruby');
const FROM_CONTENT = words('button link checkbox radio option menuitem menuitemcheckbox menuitemradio switch tab ' +
  'treeitem heading cell gridcell columnheader rowheader tooltip term');
// Controls whose children are part of them (WAI-ARIA "children presentational").
const ATOMS = words('button checkbox radio option menuitem menuitemcheckbox menuitemradio switch tab link heading');

// kindOf tells in which of these a role is, one bit for each.
const CONTROL = 1, LANDMARK = 2, GROUP = 4, PHRASE = 8, CONTENT = 16, ATOM = 32;
const kinds = new Map();
const kindOf = (role) => kinds.get(role) || 0;
for (const [set, bit] of [[CONTROLS, CONTROL], [LANDMARKS, LANDMARK], [GROUPS, GROUP], [PHRASES, PHRASE], [FROM_CONTENT, CONTENT], [ATOMS, ATOM]]) {
  for (const role of set) kinds.set(role, kindOf(role) | bit);
}

const KNOWN = words([...CONTROLS, ...LANDMARKS, ...GROUPS].join(' ') + ' alert alertdialog article blockquote caption cell ' +
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

let useComputed = false; // whether to ask Chromium itself; of the last walk's options
const canCompute = 'computedRole' in Element.prototype;
const computedRole = canCompute ? getter(Element, 'computedRole') : () => '';
const computedName = canCompute ? getter(Element, 'computedName') : () => '';

let layouts = new WeakMap(); // table → whether it only lays out; of one walk

// FRAMES are the tags of what may hold another document: it does so whatever role its
// author gives it.
const FRAMES = words('iframe frame embed object');

// roleOf returns the role of el.
function roleOf(el, bits = bitsOf(el), tag = localName(el), html = isHTML(el)) {
  if (html && FRAMES.has(tag) && (tag !== 'object' || el.contentWindow)) return 'iframe';
  const given = bits & ROLE ? authorRole(el) : '';
  if (given) return given === 'generic' ? '' : given;
  const role = nativeRole(el, bits, tag.toLowerCase(), html) || (html && tag.includes('-') ? ownRole(el, bits) : '');
  if (html && role && inherited[role] && takenAway(el, role)) return 'none';
  return role;
}

// What a custom element says of itself by its ElementInternals, Chromium alone can
// tell, and of states that no attribute has it tells nothing: a role that is not
// understood without its state, such as checkbox, is not taken.
const OWN_ROLES = words('button link menuitem slider spinbutton');

// ownRole returns the role that a custom element has by itself, of those that can
// be acted on. Not each is asked about: a page may consist of them.
function ownRole(el, bits) {
  if (!useComputed || !(bits & TABINDEX) && !marked.has(el)) return '';
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

// What items stand in. Chromium takes no role=option by its word where it stands in
// nothing of which it could be an option.
const HOLDERS = { __proto__: null, option: 'listbox', listitem: 'list', treeitem: 'tree' };

// orphan tells whether el, which its author calls such an item, is none. Chromium is
// asked where what is around el does not say plainly that it is one.
function orphan(el, role) {
  if (!canCompute) return false;
  for (let p = flatParent(el), i = 0; p && i < 20; p = flatParent(p), i++) {
    const given = has(p, 'role') ? attr(p, 'role') : '', tag = localName(p);
    if (given === HOLDERS[role] || given === 'group') return false;
    if (role === 'listitem' && !given && (tag === 'ul' || tag === 'ol')) return false;
    if (given ? given !== 'none' && given !== 'presentation' && given !== role : tag !== 'div' && tag !== 'span') break;
  }
  const r = computedRole(el);
  return r !== role && r !== '' && r !== 'none';
}

// keepsRole tells whether role=none does not hold: on what can be focused or has
// a global ARIA attribute (WAI-ARIA 1.2, presentational roles conflict resolution).
function keepsRole(el) {
  return focusable(el) || GLOBAL_ARIA.some((a) => has(el, a));
}

// focusable tells whether el can take the focus by itself or by tabindex.
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

function takenAway(el, role) {
  return role === 'listitem' ? deprives(parentNode(el)) : tableOf(el).deprives;
}

const deprives = (owner) => !!owner && nodeType(owner) === ELEMENT && has(owner, 'role') && authorRole(owner) === 'none';

let tables = new Map(); // parent → what its children are parts of; of one walk or question

// tableOf tells of what table el, that is no table, is a part: {data: of one, and
// of none that only lays out; grid: of a grid; deprives: of one without a role}.
function tableOf(el) {
  const p = parentNode(el);
  let t = tables.get(p);
  if (t === undefined) {
    const any = closest(el, 'table,[role=table],[role=grid],[role=treegrid]'), grid = closest(el, 'table,[role=grid],[role=treegrid]');
    t = {
      data: any !== null && (localName(any) !== 'table' || !layoutTable(any)),
      grid: grid !== null && /^(grid|treegrid)$/.test(attr(grid, 'role') || ''),
      deprives: deprives(closest(el, 'table')),
    };
    tables.set(p, t);
  }
  return t;
}

const NAMING = LABEL | LABELLEDBY | TITLE;

// authorName tells whether the author named el, as region and form need.
function authorName(el, bits = NAMING) {
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
      return alt === '' && !authorName(el) && !has(el, 'aria-label') ? 'none' : 'img';
    }
    case 'li': return 'listitem';
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

const DATES = words('date time month week datetime-local');

// isHost tells whether el is where editing begins (contenteditable).
function isHost(el) {
  if (!has(el, 'contenteditable') || !isHTML(el)) return false;
  const v = attr(el, 'contenteditable').toLowerCase();
  return v === '' || v === 'true' || v === 'plaintext-only';
}

function isSummary(el) {
  const p = parentNode(el);
  if (!p || nodeType(p) !== ELEMENT || localName(p) !== 'details') return false;
  let c = firstElementChild(p);
  while (c && localName(c) !== 'summary') c = nextElementSibling(c);
  return c === el;
}

const svgTitle = (el) => {
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

// layoutTable tells whether a table only places things. Chromium is asked where
// it can be; otherwise a table is one of data where it is marked up as such or
// has two rows and two columns and no table within.
function layoutTable(t) {
  if (has(t, 'role') && authorRole(t) && authorRole(t) !== 'none') return false;
  const known = layouts.get(t);
  if (known !== undefined) return known;
  const v = !marksData(t) && (useComputed ? computedRole(t) !== 'table' : !looksData(t));
  layouts.set(t, v);
  return v;
}

function marksData(t) {
  if (authorName(t) || has(t, 'summary')) return true;
  for (let c = firstElementChild(t); c; c = nextElementSibling(c)) {
    const tag = localName(c);
    if (tag === 'caption' || tag === 'thead' || tag === 'tfoot' || tag === 'colgroup') return true;
    const row = tag === 'tbody' ? firstElementChild(c) : tag === 'tr' ? c : null;
    for (let d = row && firstElementChild(row); d; d = nextElementSibling(d)) if (localName(d) === 'th') return true;
  }
  return false;
}

function looksData(t) {
  const rows = t.rows;
  return !!rows && rows.length > 1 && rows[0].cells.length > 1 && rows[1].cells.length > 1 && !query(t, 'table');
}

// headingLevel returns the level of a heading, 2 where nobody says (WAI-ARIA).
function headingLevel(el) {
  const n = parseInt(attr(el, 'aria-level'), 10);
  if (n > 0) return n;
  const tag = tagOf(el);
  return /^h[1-6]$/.test(tag) ? +tag[1] : 2;
}

// ---- states and properties

const CURSORS = words('pointer grab -webkit-grab move zoom-in');
const OPERABLE = 'a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link],[role=tab],' +
  '[role=menuitem],[role=option],[role=checkbox],[role=switch],[role=radio],[tabindex]:not([tabindex="-1"]),[onclick],[contenteditable]';

const listens = (el, bits = bitsOf(el)) => (bits & HANDLER) !== 0 || marked.has(el);

// clickable tells whether el, which is no control by its role, is one by its
// listeners, by the cursor that begins at it, by tabindex or by draggable.
// s is its style; around tells {el: what is around it, pointer: the cursor of that is
// such a one, forItems: that is a list which listens for its items, inControl: the
// control it stands in}.
function clickable(el, tag, s, around, bits = bitsOf(el)) {
  if (tag === 'body' || tag === 'html') return false;
  const own = listens(el, bits);
  if (around.inControl) return own && fold(someText(el, 200)) !== fold(someText(around.inControl, 200)) && touchable(el);
  const begins = CURSORS.has(s.cursor) && !pointed(around);
  const tab = (bits & TABINDEX) !== 0 && (isHTML(el) ? tabIndexOf(el) : namespaceURI(el) === SVG ? svgTabIndex(el) : -1) >= 0;
  const drag = (bits & DRAGGABLE) !== 0 && attr(el, 'draggable') === 'true' && tag !== 'a';
  if (tag === 'label' && !own && el.control) return !rendered(el.control); // else its control has the ref
  if (!own && !begins && !tab && !drag) return tag === 'li' && forItems(around);
  if (begins && !own && LISTS.has(tag)) return false; // its items are what is clicked
  if (own && !tab && listensForItems(el)) return false; // or dragged
  if (!drag && shell(el, tag)) return false;
  if (!operablesIn(el)) return own && !begins && !tab ? someText(el, 1001).length <= 1000 && !listensFor(el, s) : true;
  // A listener around other controls listens for them, unless each of a series
  // has one, or what it has to say is its own.
  if (begins || drag) return !wide(el);
  return own && !wide(el) && (seriesListens(el) || ownText(el));
}

// shell tells whether el is a web component around one control, which says all that el
// says.
function shell(el, tag) {
  const root = rootOf(el, tag), inner = root && root.querySelector(OPERABLE);
  return !!inner && rendered(inner) && !authorName(el) && fold(someText(inner, 200)) === fold(someText(el, 200));
}

// touchable tells whether there is a place of el, or of what is in it, that takes a
// click. A ripple that is drawn over a button has none.
function touchable(el) {
  if (sized(el)) return true;
  const all = queryAll(el, '*');
  for (let i = 0; i < all.length && i < 20; i++) if (sized(all[i]) && styleOf(all[i]).pointerEvents !== 'none') return true;
  return false;
}

function sized(el) {
  const r = rectOf(el);
  return r.width >= 1 && r.height >= 1;
}

// pointed tells whether such a cursor has begun around what is in the frame f of
// the walk. Few have to know.
function pointed(f) {
  if (f.pointer === undefined) f.pointer = CURSORS.has(f.s.cursor) && !(passesCursor(f.tag) && !listens(f.el));
  return f.pointer;
}

function forItems(f) {
  if (f.forItems === undefined) f.forItems = listensForItems(f.el);
  return f.forItems;
}

const LISTS = words('ul ol dl menu table thead tbody tfoot');

// listensForItems tells whether el is a list whose listener is meant for its
// items: several, with nothing to operate in them.
function listensForItems(el) {
  if (!el || !/^(ul|ol|menu)$/.test(localName(el)) || !listens(el) || aroundMarked.has(el)) return false;
  const first = firstElementChild(el);
  return first !== null && nextElementSibling(first) !== null && localName(first) === 'li' && !operablesIn(first);
}

// passesCursor tells whether a cursor that begins at such an element is meant for
// its items.
const passesCursor = (tag) => LISTS.has(tag);

function operablesIn(el) {
  if (aroundMarked.has(el)) return true;
  const all = queryAll(el, OPERABLE);
  for (let i = 0; i < all.length && i < 20; i++) if (rendered(all[i])) return true;
  return false;
}

// listensFor tells whether el listens for what is in it and not for itself: the
// pointer, or a place in the order of focus, begins further in.
function listensFor(el, s) {
  if (CURSORS.has(s.cursor)) return false;
  const all = queryAll(el, '*');
  for (let i = 0; i < all.length && i < 60; i++) {
    if (rendered(all[i]) && (has(all[i], 'tabindex') || CURSORS.has(styleOf(all[i]).cursor))) return true;
  }
  return false;
}

function wide(el) {
  const r = rectOf(el);
  return r.width * r.height > innerWidth * innerHeight / 2;
}

function seriesListens(el) {
  const cls = attr(el, 'class');
  return (!!cls || !isHTML(el) || localName(el) !== 'div') &&
    [nextElementSibling(el), previousElementSibling(el)].some((s) => s && marked.has(s) && localName(s) === localName(el) && attr(s, 'class') === cls);
}

function ownText(el) {
  for (let c = firstChild(el), n = 0; c && n < 20; c = nextSibling(c), n++) if (nodeType(c) === TEXT && !blank(textData(c))) return true;
  return false;
}

const MASK = '\u2022\u2022\u2022';
const SECRET = /\b(one-time-code|cc-[a-z-]+|current-password|new-password)\b/;
const secret = (el) => el.type === 'password' || SECRET.test((attr(el, 'autocomplete') || '').toLowerCase());

// htmlTag returns the tag of an element of HTML, '' for others.
const htmlTag = (el) => (isHTML(el) ? localName(el) : '');

// valueOf returns a control's value as it may be shown.
function valueOf(el, role, tag = htmlTag(el), bits = EDITABLE) {
  switch (tag) {
    case 'input':
      if (/^(checkbox|radio|submit|button|reset|image|hidden)$/.test(el.type)) return '';
      if (el.type === 'file') return Array.from(el.files || [], (f) => f.name).join(', ');
      return el.value && secret(el) ? MASK : el.value;
    case 'textarea': return el.value && secret(el) ? MASK : headOf(el.value, NAME_MAX);
    case 'select': return fold(Array.from(el.selectedOptions, (o) => o.label).join(', '));
    case 'progress': return el.position < 0 ? '' : String(el.value);
    case 'meter': return String(el.value);
  }
  if (bits & EDITABLE && isHost(el) || (role === 'textbox' && isHTML(el) && isContentEditable(el))) return fold(writtenText(el, NAME_MAX));
  switch (role) {
    case 'slider': case 'spinbutton': case 'progressbar': case 'meter': case 'scrollbar':
      return fold(attr(el, 'aria-valuetext') || attr(el, 'aria-valuenow') || '');
    case 'textbox': case 'searchbox': return fold(writtenText(el, NAME_MAX));
  }
  return '';
}

// Input types that the role says already.
const SAID_TYPE = words('text checkbox radio range number search submit button');

// wantedOf is a list of attributes for attrsOf: of each its name and the bit that says
// whether an element may have it; `any` has the bits of all.
function wantedOf(list) {
  const wanted = { list: [], any: 0, src: list.includes('src') };
  for (const name of list) {
    if (name === 'value') continue; // valueOf says it
    const bit = BITS.get(name), own = bit !== undefined && bit !== HANDLER;
    wanted.list.push({ name, bit: own ? bit : SOME, own });
    wanted.any |= own ? bit : SOME;
  }
  return wanted;
}

// attrsOf returns the attributes to be shown, of those wanted, as key, value,
// key, value; a number stands for a bare value.
function attrsOf(el, role, name, wanted, bits, tag) {
  const out = [];
  if (role === 'heading') out.push('level', headingLevel(el));
  if (bits & wanted.any) {
    for (const w of wanted.list) if (bits & w.bit && (w.own || has(el, w.name))) attribute(el, w.name, role, name, tag, out);
  }
  if ((tag === 'iframe' || tag === 'frame') && has(el, 'src') && !wanted.src) out.push('src', headOf(attr(el, 'src'), NAME_MAX));
  if (tag === 'select') out.push('options', el.options.length);
  const rows = bits & ARIA ? rowsSaid(el, role) : 0;
  if (rows) out.push('rows', rows);
  if (bits & ARIA && sorted(el, role)) out.push('sort', attr(el, 'aria-sort').toLowerCase());
  if (role === 'slider' || role === 'spinbutton') {
    number(out, 'min', tag === 'input' ? attr(el, 'min') : attr(el, 'aria-valuemin'));
    number(out, 'max', tag === 'input' ? attr(el, 'max') : attr(el, 'aria-valuemax'));
  }
  return out;
}

// rowsSaid is how many rows a table says that it has, of which a part may be there; 0
// where it does not say.
const rowsSaid = (el, role) => ((role === 'grid' || role === 'treegrid' || role === 'table') && /^[1-9]\d{0,8}$/.test(attr(el, 'aria-rowcount')) ? +attr(el, 'aria-rowcount') : 0);

// sorted tells whether el is the header by which its table is sorted.
const sorted = (el, role) => (role === 'columnheader' || role === 'rowheader') && /^(ascending|descending|other)$/i.test(attr(el, 'aria-sort'));

// ofItsOwn tells whether a cell of a grid is something by itself: its author names it, as
// the days of a calendar, or has it take the focus, as what is edited in place.
const ofItsOwn = (el, role, bits) => role === 'gridcell' && (bits & ROLE) !== 0 &&
  ((bits & (LABEL | LABELLEDBY)) !== 0 || (bits & TABINDEX) !== 0 && !operablesIn(el));

// attribute adds the attribute a of el to out, unless something else says it.
function attribute(el, a, role, name, tag, out) {
  if (a === 'name' && (tag === 'button' || !FIELD_TAGS.has(tag)) || a === 'type' && !FIELD_TAGS.has(tag)) return;
  let v = attr(el, a);
  switch (a) {
    case 'type': v = v.toLowerCase(); if (SAID_TYPE.has(v) || v === '') return; break;
    case 'placeholder': case 'aria-label': if (fold(v) === name) return; break;
    case 'role': if (v.trim().toLowerCase() === role || (role === 'img' && /^(img|image)$/.test(v.trim()))) return; break;
    case 'href': v = v.trim(); if (/^(javascript|data):/i.test(v)) v = v.slice(0, v.indexOf(':') + 1); break;
  }
  out.push(a, headOf(v, NAME_MAX));
}

function number(out, key, v) {
  if (v !== null && v.trim() !== '' && isFinite(+v)) out.push(key, +v);
}

const is = (el, a) => { const v = attr(el, a); return v !== null && v !== 'false' && v !== ''; };

// statesOf returns the words of PROTOCOL.md section 5 that hold for el, in its
// order, with a space before each. f is its frame, the others are what only the walk
// knows.
function statesOf(el, role, f, focused, invisible, covered) {
  const tag = f.html ? f.tag : '', bits = f.bits;
  let out = '';
  const field = tag === 'input' || tag === 'textarea' || tag === 'select';
  const aria = (bits & ARIA) !== 0;
  const typed = tag === 'textarea' || (tag === 'input' && TYPED.has(el.type));
  if (disabled(el, tag, f.off)) out += ' disabled';
  if ((typed && el.readOnly) || (aria && is(el, 'aria-readonly'))) out += ' readonly';
  if ((field && el.required) || (aria && is(el, 'aria-required'))) out += ' required';
  if ((aria && is(el, 'aria-invalid')) || (field && matches(el, ':user-invalid'))) out += ' invalid';
  if (tag === 'input' && (el.type === 'checkbox' || el.type === 'radio')) {
    out += el.type === 'checkbox' && el.indeterminate ? ' mixed' : el.checked ? ' checked' : '';
  } else if (aria && has(el, 'aria-checked')) {
    const v = attr(el, 'aria-checked');
    if (v === 'true') out += ' checked'; else if (v === 'mixed') out += ' mixed';
  }
  if (aria && has(el, 'aria-pressed')) {
    const v = attr(el, 'aria-pressed');
    if (v === 'true') out += ' pressed'; else if (v === 'mixed') out += ' mixed';
  }
  if (tag === 'option' ? el.selected : aria && attr(el, 'aria-selected') === 'true') out += ' selected';
  const open = expanded(el, tag, role, bits);
  if (open !== null) out += open ? ' expanded' : ' collapsed';
  if (aria && is(el, 'aria-current')) out += ' current';
  if (focused) out += ' focused';
  if (aria && attr(el, 'aria-busy') === 'true') out += ' busy';
  if ((aria && attr(el, 'aria-modal') === 'true') || (tag === 'dialog' && matches(el, ':modal'))) out += ' modal';
  if (tag === 'textarea' || (aria && attr(el, 'aria-multiline') === 'true')) out += ' multiline';
  if (bits & EDITABLE && isHost(el)) out += ' editable';
  if (f.clicks) out += ' clickable';
  if (invisible) out += ' invisible';
  if (covered) out += ' covered';
  return out;
}

const DISABLING = words('button input select textarea option optgroup fieldset');
const TYPED = words('text search url tel email password date month week time datetime-local number');

// disabled tells whether el is disabled, by itself, its fieldset or aria-disabled
// on it or around it.
function disabled(el, tag = localName(el), off = true) {
  if (DISABLING.has(tag) && matches(el, ':disabled')) return true;
  return off && closest(el, '[aria-disabled=true]') !== null;
}

// expanded tells whether what el opens is open; null where it opens nothing.
function expanded(el, tag, role, bits) {
  const popover = bits & (POPOVER | COMMAND) ? popoverOf(el, tag, bits) : null;
  if (popover) return matches(popover, ':popover-open');
  if (bits & ARIA && has(el, 'aria-expanded')) {
    const v = attr(el, 'aria-expanded');
    if (v === 'true' || v === 'false') return v === 'true';
  }
  if (tag === 'summary' && isSummary(el)) return parentNode(el).open;
  if (tag === 'select' && role === 'combobox') return matches(el, ':open');
  return null;
}

// popoverOf returns the popover that the button el shows or hides, whose state is the
// button's, before what its author says (Chromium); null where el stands in it.
function popoverOf(el, tag, bits) {
  if (tag !== 'button' && tag !== 'input' || matches(el, ':disabled') || el.form && /^(submit|image)$/.test(el.type)) return null;
  const target = !(bits & COMMAND) ? el.popoverTargetElement : /^(toggle|show|hide)-popover$/i.test(attr(el, 'command')) ? el.commandForElement : null;
  return target && has(target, 'popover') && !flatContains(target, el) ? target : null;
}

Object.assign(__bd, { roleOf: (el) => roleOf(el) || 'generic', disabled });
