// core.js: node numbers, and what is true of a node whoever asks.
//
// The scripts core, role, looks, name, frame, walk and the others are joined in this order in
// one function and run once per document, at its start, in the isolated world
// "browserd" of every frame. The only global is __bd. Nothing here writes to
// the page's DOM.
//
// An isolated world has built-ins of its own, but the page's elements shadow
// properties of forms and documents by name (<input name="firstChild">), here
// as there. So nodes are read through the accessors below, taken from the
// prototypes before any element exists.

const uncurry = (f) => Function.prototype.call.bind(f);
const getter = (owner, name) => uncurry(Object.getOwnPropertyDescriptor(owner.prototype, name).get);
const method = (owner, name) => uncurry(owner.prototype[name]);

const nodeType = getter(Node, 'nodeType');
const firstChild = getter(Node, 'firstChild');
const lastChild = getter(Node, 'lastChild');
const nextSibling = getter(Node, 'nextSibling');
const previousSibling = getter(Node, 'previousSibling');
const parentNode = getter(Node, 'parentNode');
const childNodes = getter(Node, 'childNodes');
const isConnected = getter(Node, 'isConnected');
const textContent = getter(Node, 'textContent');
const contains = method(Node, 'contains');
const getRootNode = method(Node, 'getRootNode');
const position = method(Node, 'compareDocumentPosition');
const localName = getter(Element, 'localName');
const namespaceURI = getter(Element, 'namespaceURI');
const childElementCount = getter(Element, 'childElementCount');
const firstElementChild = getter(Element, 'firstElementChild');
const nextElementSibling = getter(Element, 'nextElementSibling');
const previousElementSibling = getter(Element, 'previousElementSibling');
const openRoot = getter(Element, 'shadowRoot');
const assignedSlot = getter(Element, 'assignedSlot');
const textSlot = getter(Text, 'assignedSlot');
const attr = method(Element, 'getAttribute');
const has = method(Element, 'hasAttribute');
const hasAny = method(Element, 'hasAttributes');
const attributeNames = method(Element, 'getAttributeNames');
const matches = method(Element, 'matches');
const closest = method(Element, 'closest');
const query = method(Element, 'querySelector');
const queryAll = method(Element, 'querySelectorAll');
const rectOf = method(Element, 'getBoundingClientRect');
const rectsOf = method(Element, 'getClientRects');
const checkVisibility = method(Element, 'checkVisibility');
const textData = getter(CharacterData, 'data');
const assignedNodes = method(HTMLSlotElement, 'assignedNodes');
const tabIndexOf = getter(HTMLElement, 'tabIndex');
const svgTabIndex = getter(SVGElement, 'tabIndex');
const isContentEditable = getter(HTMLElement, 'isContentEditable');
const innerText = getter(HTMLElement, 'innerText');
const elementsIn = method(Element, 'getElementsByTagName');
const animationsOf = method(Element, 'getAnimations');
const visibilityOf = getter(Document, 'visibilityState');
const scrollLeft = getter(Element, 'scrollLeft');
const scrollTop = getter(Element, 'scrollTop');
const scrollWidth = getter(Element, 'scrollWidth');
const scrollHeight = getter(Element, 'scrollHeight');
const clientWidth = getter(Element, 'clientWidth');
const clientHeight = getter(Element, 'clientHeight');
const focus = method(HTMLElement, 'focus');
const dispatch = method(EventTarget, 'dispatchEvent');
const bodyOf = getter(Document, 'body');
const documentElementOf = getter(Document, 'documentElement');
const byId = method(Document, 'getElementById');
const allOf = method(Document, 'getElementsByTagName');
const queryPage = method(Document, 'querySelector');
const queryAllOf = method(Document, 'querySelectorAll');
const titleOfPage = getter(Document, 'title');
const readyState = getter(Document, 'readyState');
const scriptsOf = getter(Document, 'scripts');
const scrollerOf = getter(Document, 'scrollingElement');
const activeOf = getter(Document, 'activeElement');
const atPoint = method(Document, 'elementFromPoint');
const baseOf = getter(Node, 'baseURI');
const computedStyle = window.getComputedStyle.bind(window);

// page is the document. A window keeps its worlds when its initial empty document
// is left for one of the same origin (HTML, 7.4.2.2): now() finds the new one.
let page = document;
const HTML = 'http://www.w3.org/1999/xhtml';
const SVG = 'http://www.w3.org/2000/svg';
const ELEMENT = 1;
const TEXT = 3;
const FOLLOWING = Node.DOCUMENT_POSITION_FOLLOWING;

// ---- which attributes an element has

// Attributes are asked for often and mostly in vain, so bitsOf reads their names
// once: a bit for each that is asked for, which is passed on to who asks.
const SOME = 1, LABEL = 2, LABELLEDBY = 4, TITLE = 8, TABINDEX = 16, EDITABLE = 32, HUSHED = 64, INERT = 128, HANDLER = 256,
  DRAGGABLE = 512, OWNS = 1024, ARIA = 2048, ID = 4096;
const LASTING_SHIFT = 13, FIRST_LASTING = 1 << LASTING_SHIFT; // from there on one for each of LASTING
const POPOVER = 1 << 29, COMMAND = 1 << 30; // behind those of LASTING
const HANDLERS = ['onclick', 'ondblclick', 'onmousedown', 'onmouseup', 'onpointerdown', 'onpointerup', 'ontouchstart'];
const LASTING = ['type', 'name', 'href', 'for', 'role', 'placeholder', 'alt', 'action', 'src', 'data-testid', 'data-test',
  'data-id', 'data-key', 'data-value', 'data-action', 'value'];
const LASTING_KEYS = LASTING.map((a) => '\0' + a + '='); // as identOf digests them
const ALL_LASTING = FIRST_LASTING * ((1 << LASTING.length) - 1);
const BITS = new Map([
  ['aria-label', LABEL], ['aria-labelledby', LABELLEDBY], ['title', TITLE], ['tabindex', TABINDEX], ['contenteditable', EDITABLE],
  ['aria-hidden', HUSHED], ['inert', INERT], ['draggable', DRAGGABLE], ['aria-owns', OWNS], ['id', ID],
  ['popovertarget', POPOVER], ['commandfor', COMMAND],
  ...HANDLERS.map((h) => [h, HANDLER]), ...LASTING.map((a, i) => [a, FIRST_LASTING << i]),
]);
const ROLE = BITS.get('role'), HREF = BITS.get('href');

// bitsOf returns the bits of what el has. ARIA is any other aria- attribute.
function bitsOf(el) {
  if (!hasAny(el)) return 0;
  let bits = SOME;
  for (const name of attributeNames(el)) {
    const bit = BITS.get(name);
    if (bit !== undefined) bits |= bit;
    else if (name.startsWith('aria-')) bits |= ARIA;
  }
  return bits;
}

// ---- numbers

const numbers = new WeakMap(); // node → local id
const nodes = new Map(); // local id → WeakRef
let lastNumber = 0;
const gone = new FinalizationRegistry((id) => nodes.delete(id));

// idOf returns the node's number in this document, from 1; the same for as long
// as the node exists.
function idOf(node) {
  let id = numbers.get(node);
  if (id === undefined) {
    id = ++lastNumber;
    numbers.set(node, id);
    nodes.set(id, new WeakRef(node));
    gone.register(node, id);
  }
  return id;
}

// node returns the node with that number, or null where it is no longer in the
// document (it may come back: a number is never given to another node).
function node(id) {
  const ref = nodes.get(id);
  const n = ref && ref.deref();
  return n && isConnected(n) ? n : null;
}

// ---- the flat tree

const closedRoots = new WeakMap(); // host → closed shadow root, handed over by CDP
let anyClosed = false;

// closed registers the closed shadow root of host, which script cannot reach.
function closed(host, root) {
  closedRoots.set(host, root);
  anyClosed = true;
}

const shadowOf = (el) => openRoot(el) || (anyClosed && closedRoots.get(el)) || null;

const isElement = (n) => nodeType(n) === ELEMENT;
const isHTML = (el) => namespaceURI(el) === HTML;
const tagOf = (el) => localName(el).toLowerCase();

// slotOf returns the slot that shows n, a child of a shadow host; null where none does.
function slotOf(n) {
  const type = nodeType(n);
  const slot = type === ELEMENT ? assignedSlot(n) : type === TEXT ? textSlot(n) : null;
  if (slot) return slot;
  const root = anyClosed && closedRoots.get(parentNode(n)); // assignedSlot says nothing of a closed one
  if (!root) return null;
  for (const s of root.querySelectorAll('slot')) if (assignedNodes(s).includes(n)) return s;
  return null;
}

// flatParent returns the node's parent as it is laid out: the slot of a slotted
// node, the host of a shadow root's child; null at the document and for what no
// slot shows.
function flatParent(n) {
  const p = parentNode(n);
  if (!p) return null;
  const type = nodeType(p);
  if (type === 11) return p.host || null;
  if (type !== ELEMENT) return null;
  return shadowOf(p) ? slotOf(n) : p;
}

// HOSTS are the tags that attachShadow takes beside those of custom elements, which
// have a hyphen.
const HOSTS = new Set('article aside blockquote body div footer h1 h2 h3 h4 h5 h6 header main nav p section span'.split(' '));

// rootOf is shadowOf for who knows the tag of el.
const rootOf = (el, tag) => (anyClosed || HOSTS.has(tag) || tag.includes('-') ? shadowOf(el) : null);

// The shadow roots that have been looked into: who watches the document watches them.
const MAX_MET = 300;
const met = new Set(); // of WeakRefs
const metBefore = new WeakSet();

function meet(root) {
  if (met.size >= MAX_MET || metBefore.has(root)) return;
  metBefore.add(root);
  met.add(new WeakRef(root));
}

// rootsMet returns those that are in the document.
function rootsMet() {
  const list = [];
  for (const ref of met) {
    const root = ref.deref();
    if (root && isConnected(root)) {
      list.push(root);
      continue;
    }
    met.delete(ref);
    if (root) metBefore.delete(root);
  }
  return list;
}

// flatList returns the children of el as they are laid out where they are not
// simply its own children, otherwise null: they are then read one by one, so
// that a million siblings cost only those that are looked at.
function flatList(el, tag = localName(el), root = rootOf(el, tag)) {
  if (root) {
    meet(root);
    return childNodes(root);
  }
  if (tag === 'slot' && isHTML(el)) {
    const assigned = assignedNodes(el);
    if (assigned.length) return assigned;
  }
  return null;
}

// flatChildren returns the children of el as they are laid out.
function flatChildren(el) {
  return Array.from(flatList(el) || childNodes(el));
}

// flatContains tells whether n is outer or stands in it in the flat tree.
function flatContains(outer, n) {
  for (; n; n = flatParent(n)) if (n === outer) return true;
  return false;
}

// ---- visibility

const VISIBLE = { visibilityProperty: true, opacityProperty: true };

// boxOf returns where el is, in viewport pixels: its own box or, where that is
// empty (display:contents, an inline around floats), that of what it contains.
function boxOf(el) {
  const r = rectOf(el);
  return r.width >= 1 && r.height >= 1 ? r : fullBox(el, r);
}

// fullBox returns where el is, whose own box r is empty.
function fullBox(el, r) {
  if (!firstChild(el)) return r;
  const range = new Range();
  range.selectNodeContents(el);
  const c = range.getBoundingClientRect();
  return c.width >= 1 && c.height >= 1 ? c : r;
}

// transparent tells whether nothing of el is painted because of its opacity.
function transparent(el) {
  return !checkVisibility(el, { opacityProperty: true }) && checkVisibility(el);
}

// scrolled tells whether a scroller around el has been moved, so that el may lie
// before the page's edge and still be reached.
function scrolled(el) {
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if ((scrollTop(p) || scrollLeft(p)) && p !== scrollerOf(page)) return true;
  }
  return false;
}

let view = null; // the page's extent; of one walk or question, for asking is dear

function extent() {
  const s = scrollerOf(page) || documentElementOf(page);
  if (!s) return null;
  const wide = scrollWidth(s), left = wide > clientWidth(s) && styleOf(s).direction === 'rtl' ? clientWidth(s) - wide : 0;
  return { x: scrollX, y: scrollY, left, right: left + wide, bottom: scrollHeight(s) };
}

// inScroller tells whether a scroller around el that is no more than its own
// box on the page can be moved further down or to the right.
function inScroller(el) {
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if (p === scrollerOf(page) || localName(p) === 'body') return false;
    if (scrollHeight(p) <= clientHeight(p) && scrollWidth(p) <= clientWidth(p)) continue;
    const s = styleOf(p);
    if (/auto|scroll/.test(s.overflowY + s.overflowX)) return true;
  }
  return false;
}

// offPage tells whether a box lies where no scrolling brings it.
const offPage = (r, el) => outside(r.left, r.top, r.width, r.height, el);

// outside is offPage by the numbers of the box: to read one costs as much as to ask
// an element for its tag.
function outside(x, y, width, height, el) {
  if (!view) view = extent();
  if (!view) return false;
  const left = x + view.x, top = y + view.y;
  if (left + width <= view.left || top + height <= 0) return !scrolled(el);
  return (left >= view.right || top >= view.bottom) && !inScroller(el) && !scrolled(el);
}

const NO_INSET = /^inset\((100|50)%|^(circle|ellipse)\(0/;

// cutAway tells whether el itself, by its own style, shows nothing of what it
// contains: the ways in which text is kept for screen readers only. All of them
// take it out of the flow or hide its overflow.
function cutAway(el, s, display = s.display) {
  const shown = s.overflowX === 'visible';
  if (display === 'inline') return !shown && NO_INSET.test(s.clipPath); // never out of the flow
  const position = s.position;
  const out = position === 'absolute' || position === 'fixed';
  if (shown && !out) return false;
  if (out && s.clip !== 'auto') {
    const n = s.clip.match(/-?[\d.]+/g);
    if (n && n.length === 4 && (n[1] - n[3] <= 1 || n[2] - n[0] <= 1)) return true;
  }
  if (NO_INSET.test(s.clipPath)) return true;
  if (shown || display === 'contents') return false;
  const r = rectOf(el);
  return r.width <= 1 || r.height <= 1;
}

let clips = new Map(); // element → whether it or something around it cuts it away; of one walk or question

// clipped tells whether el is cut away by its own style or by what is around it.
function clipped(el) {
  const path = [];
  let known = false;
  for (let p = el; p; p = flatParent(p)) {
    const c = clips.get(p);
    if (c !== undefined) { known = c; break; }
    path.push(p);
  }
  while (path.length) {
    const p = path.pop();
    if (!known) {
      const tag = localName(p);
      known = tag !== 'html' && tag !== 'body' && cutAway(p, styleOf(p));
    }
    clips.set(p, known);
  }
  return known;
}

// rendered tells whether el has a box or, with display:contents, shows its
// children, and is not visibility:hidden.
function rendered(el) {
  if (checkVisibility(el, { visibilityProperty: true })) return true;
  const s = styleOf(el), image = imageOf(el);
  if (image) return rendered(image);
  if (s.display !== 'contents' || s.visibility !== 'visible') return false;
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if (checkVisibility(p)) return true;
    if (styleOf(p).display !== 'contents') return false;
  }
  return true;
}

let imageMaps = new Map(); // root → name → {areas, image} of its image maps; of one walk or question

// imageMap returns the areas that link of the image map with that name and the image
// that shows them: of those that use it the first that is laid out.
function imageMap(root, name) {
  let all = imageMaps.get(root);
  if (!all) {
    imageMaps.set(root, all = new Map());
    const find = (selector) => (root === page ? queryAllOf(page, selector) : nodeType(root) === 11 ? root.querySelectorAll(selector) : []);
    for (const m of find('map[name]')) {
      if (!all.has(attr(m, 'name'))) all.set(attr(m, 'name'), { areas: [...queryAll(m, 'area[href]')], image: null });
    }
    for (const i of all.size ? find('img[usemap^="#"]') : []) {
      const m = all.get(attr(i, 'usemap').slice(1));
      if (m && (!m.image || !checkVisibility(m.image))) m.image = i;
    }
  }
  return all.get(name);
}

// areasOf returns the areas that the image el shows.
function areasOf(el) {
  const m = imageMap(getRootNode(el), attr(el, 'usemap').slice(1));
  return m && m.image === el ? m.areas : [];
}

// imageOf returns the image in which el is seen, where it is an area of an image map.
function imageOf(el) {
  const map = localName(el) === 'area' ? closest(el, 'map') : null;
  const m = map && imageMap(getRootNode(el), attr(map, 'name'));
  return m ? m.image : null;
}

// unseen tells whether a person could not see el although it is rendered:
// transparent, without size, cut away, or where scrolling does not reach.
function unseen(el) {
  el = imageOf(el) || el;
  return (!checkVisibility(el, VISIBLE) && transparent(el)) || outOfSight(el);
}

// outOfSight is unseen without transparency.
function outOfSight(el) {
  const out = outOfPlace(el);
  return out === null ? clipped(el) : out;
}

// outOfPlace is outOfSight as far as the box of el tells; null where it is to be
// seen unless it is cut away.
function outOfPlace(el) {
  const own = rectOf(el), width = own.width, height = own.height;
  if (width >= 1 && height >= 1) return outside(own.left, own.top, width, height, el) || null;
  const r = fullBox(el, own);
  if (r.width < 1 || r.height < 1) return styleOf(el).display !== 'contents';
  return offPage(r, el) || null;
}

// visible tells whether a person could see el, now or after scrolling.
function visible(el) {
  return rendered(el) && !unseen(el);
}

// standIn returns what a person clicks in the place of a checkbox, radio, select
// or file input that is itself hidden: its label, or the styled twin beside or
// around it. null where there is none, or where el is not such a control.
function standIn(el) {
  const tag = localName(el);
  if (tag !== 'select' && !(tag === 'input' && /^(checkbox|radio|file)$/.test(el.type))) return null;
  for (const l of labelsOf(el)) if (visible(l)) return l;
  for (const s of [nextElementSibling(el), previousElementSibling(el)]) {
    if (s && !isField(s) && localName(s) !== 'label' && seenSmall(s)) return s;
  }
  const p = flatParent(el);
  if (p && p !== bodyOf(page) && localName(p) !== 'form' && seenSmall(p) && !Array.prototype.some.call(queryAll(p, FIELDS), (f) => f !== el && rendered(f))) return p;
  return null;
}

// standsFor tells whether el is, or is around, an input in whose place something
// else is clicked. Of those in it the first few are looked at.
function standsFor(el) {
  if (localName(el) === 'input') return standIn(el) !== null;
  const inputs = queryAll(el, 'input');
  for (let i = 0; i < inputs.length && i < 20; i++) if (standIn(inputs[i])) return true;
  return false;
}

let labelling = null; // id → the labels that are for it; of one walk or question

// labelsOf returns the labels of el in tree order. For el.labels Blink goes through
// the whole document, for each el after each change of it.
function labelsOf(el, bits = bitsOf(el)) {
  if (getRootNode(el) !== page) return el.labels || [];
  const list = [];
  for (let l = closest(el, 'label'); l; l = nodeType(parentNode(l)) === ELEMENT ? closest(parentNode(l), 'label') : null) {
    if (l.control === el) list.push(l);
  }
  if (bits & ID) {
    if (labelling === null) {
      labelling = new Map();
      for (const l of queryAll(documentElementOf(page), 'label[for]')) {
        const id = attr(l, 'for');
        if (labelling.has(id)) labelling.get(id).push(l);
        else labelling.set(id, [l]);
      }
    }
    for (const l of labelling.get(attr(el, 'id')) || []) if (l.control === el && !list.includes(l)) list.push(l);
  }
  return list.length > 1 ? list.sort((a, b) => (position(a, b) & FOLLOWING ? -1 : 1)) : list;
}

const FIELDS = 'input,select,textarea,button';
const FIELD_TAGS = new Set(FIELDS.split(','));
const isField = (el) => FIELD_TAGS.has(localName(el));

function seenSmall(el) {
  if (!visible(el)) return false;
  const r = rectOf(el);
  return r.width >= 8 && r.height >= 8 && r.width <= 600 && r.height <= 200;
}

// hiddenFromAX tells whether Chromium leaves el out of its accessibility tree
// for aria-hidden on it or around it.
function hiddenFromAX(el) {
  for (let p = el; p; p = flatParent(p)) if (attr(p, 'aria-hidden') === 'true') return true;
  return false;
}

// inertNow tells whether el is inert by the attribute.
function inertNow(el) {
  for (let p = el; p; p = flatParent(p)) {
    if (has(p, 'inert')) return true;
    if (localName(p) === 'dialog' && matches(p, ':modal')) return false;
  }
  return false;
}

// activeElement returns the focused element, in whatever shadow root it is.
function activeElement() {
  let a = activeOf(page);
  for (let root; a && (root = shadowOf(a)) && root.activeElement;) a = root.activeElement;
  return a;
}

// hitAt returns the innermost element at a point of the viewport, through shadow
// roots, null outside of it.
function hitAt(x, y) {
  let hit = atPoint(page, x, y);
  for (let root; hit && (root = shadowOf(hit));) {
    const inner = root.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
}

// onTop returns what lies over the page and takes its clicks, and what its author
// says does, wherever it lies: {tops, modal, all}.
function onTop() {
  const top = hitOnTop();
  if (!top.modal) for (const d of modals()) if (!top.tops.some((t) => flatContains(t, d))) top.tops.push(d);
  return top;
}

// Elements that have aria-modal, as they come (news): to look for them at each walk
// costs what the document has elements, 5 ms with 50,000.
const saysModal = new Set();

// seekModals looks for them in what has come.
function seekModals(el) {
  if (has(el, 'aria-modal')) saysModal.add(el);
  for (const e of queryAll(el, '[aria-modal]')) saysModal.add(e);
}

// modals returns the dialogs that a person can see and that aria-modal says are
// modal, the last one first: it lies over those before it.
function modals() {
  const open = [];
  for (const el of saysModal) {
    if (!isConnected(el)) saysModal.delete(el);
    else if (attr(el, 'aria-modal') === 'true' && /^(alert)?dialog$/.test(roleOf(el)) && visible(el) && !hiddenFromAX(el) && !inertNow(el)) open.push(el);
  }
  return open.sort((a, b) => (position(a, b) & FOLLOWING ? 1 : -1));
}

// hitOnTop is onTop by what five points of the viewport hit.
function hitOnTop() {
  const none = { tops: [], modal: false, all: false };
  const w = innerWidth, h = innerHeight;
  if (w < 50 || h < 50) return none;
  const counts = new Map();
  const chains = [];
  for (const [x, y] of [[0.5, 0.5], [0.12, 0.12], [0.88, 0.12], [0.12, 0.88], [0.88, 0.88]]) {
    if (chains.length === 2 && !chains.some((c) => c.some(lifted))) return none; // four of five can no longer be under one
    const chain = [];
    for (let p = hitAt(w * x, h * y); p; p = flatParent(p)) {
      if (localName(p) === 'dialog' && matches(p, ':modal')) return { tops: [p], modal: true, all: true };
      chain.push(p);
      counts.set(p, (counts.get(p) || 0) + 1);
    }
    chains.push(chain);
  }
  let over = null;
  for (const chain of chains.slice(0, 2)) { // a dialog may stand before the middle of it
    for (const p of chain) {
      if (over || p === bodyOf(page) || localName(p) === 'html') break;
      if (counts.get(p) < 4 || !lifted(p)) continue;
      const r = rectOf(p);
      if (r.width >= w * 0.7 && r.height >= h * 0.7) over = p;
    }
  }
  const dialog = chains[0].find((p) => matches(p, '[aria-modal=true],[role=dialog],[role=alertdialog],dialog[open]'));
  const tops = [];
  if (dialog && (over || attr(dialog, 'aria-modal') === 'true')) tops.push(dialog);
  if (over && !(dialog && flatContains(dialog, over))) tops.push(over);
  return { tops, modal: false, all: over !== null && styleOf(over).position === 'fixed' };
}

// lifted tells whether el is taken out of the flow to lie over what it is beside. Without
// an order of its own (z-index) it may as well be a part of the layout, which lies over nothing.
function lifted(el) {
  const s = styleOf(el);
  const position = s.position;
  return position === 'fixed' || (position === 'absolute' && (+s.zIndex > 0 || (!(s.zIndex < 0) && liesOver(el))));
}

// liesOver tells whether more than half of something beside el, which has no order of
// its own, is painted under it (CSS 2.2 appendix E).
function liesOver(el) {
  const r = rectOf(el);
  for (const [step, before] of [[previousElementSibling, true], [nextElementSibling, false]]) {
    for (let b = step(el), n = 0; b && n < 20; b = step(b), n++) {
      const s = rectOf(b);
      const w = Math.min(r.right, s.right) - Math.max(r.left, s.left);
      const h = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
      if (w <= 0 || h <= 0 || w * h * 2 <= s.width * s.height) continue;
      const { position, zIndex } = styleOf(b);
      if (position === 'static' || zIndex < 0 || before && !(zIndex > 0)) return true;
    }
  }
  return false;
}

const LOOSE = /[^\S ]| {2}|^ | $/; // white space that fold changes

// fold folds white space as HTML shows it; a no-break space counts as one.
function fold(s) {
  if (!LOOSE.test(s)) return s;
  const inner = s.trim();
  return LOOSE.test(inner) ? inner.replace(/\s+/g, ' ') : inner;
}

// headOf returns the first n code units of s, without half a character at the end.
const headOf = (s, n) => s.slice(0, (s.charCodeAt(n - 1) & 0xfc00) === 0xd800 ? n - 1 : n);

// blank tells whether s is nothing but white space.
function blank(s) {
  const first = s.charCodeAt(0);
  return !(first > 32 && first < 128) && !/\S/.test(s);
}

// ---- listeners

const marked = new WeakSet(); // have click-like listeners of their own
const aroundMarked = new WeakSet(); // contain such

// mark tells the script which elements have click-like listeners of their own,
// which only CDP sees (DOMDebugger.getEventListeners).
function mark(...els) {
  for (const el of els) {
    if (!el || nodeType(el) !== ELEMENT || marked.has(el)) continue;
    marked.add(el);
    for (let p = flatParent(el); p && !aroundMarked.has(p); p = flatParent(p)) aroundMarked.add(p);
  }
}

// ---- who a node is, for when it has gone and another stands in its place

// identOf returns a digest of the element's tag and of those attributes that
// outlive a new rendering of the same thing.
function identOf(el, bits = bitsOf(el), tag = tagOf(el)) {
  if (!(bits & (ID | ALL_LASTING))) {
    let s = tagIdents.get(tag);
    if (s === undefined) tagIdents.set(tag, s = digits(fnv(0x811c9dc5, tag)));
    return s;
  }
  let h = fnv(0x811c9dc5, tag);
  if (bits & ID) {
    const id = attr(el, 'id');
    if (id && !/\d|^:|--|__/.test(id)) h = fnv(fnv(h, '#'), id); // others are numbered by a machine
  }
  for (let left = bits & ALL_LASTING; left; left &= left - 1) { // the lowest bit first
    const i = 31 - Math.clz32(left & -left) - LASTING_SHIFT, a = LASTING[i];
    if (a === 'value' && !/^(radio|checkbox|submit|button)$/.test(attr(el, 'type'))) continue;
    h = fnv(fnv(h, LASTING_KEYS[i]), attr(el, a).slice(0, 500));
  }
  return digits(h);
}

const tagIdents = new Map(); // of elements that have nothing lasting but their tag
const digits = (h) => (h >>> 0).toString(36);

// fnv is FNV-1a over UTF-16 code units.
function fnv(h, s) {
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193);
  return h;
}

const ROW_TAG = new Set(['li', 'tr', 'article', 'dd', 'dt', 'option']);
const ROW_ROLE = /^(row|listitem|article|option|treeitem)$/;
const CONTEXT_MAX = 120; // characters

// The context of el is the folded text of the row that it stands in: the nearest
// list item, row or article, or where there is none the nearest of a series of
// like siblings that says more than el itself. Values of form controls are no
// part of it. Empty where there is no row.

let rows = new Map(); // parent → the row of its children; of one walk or question

function rowOf(el, parent = flatParent(el)) {
  if (!parent) return null;
  let row = rows.get(parent);
  if (row === undefined) rows.set(parent, row = rowAround(parent));
  if (row && row.series && row.text === fold(someText(el, CONTEXT_MAX)).slice(0, CONTEXT_MAX)) return rowOf(row.node);
  return row && row.node;
}

// rowAround returns the row that p is or stands in.
function rowAround(p) {
  let series = null;
  for (let up = 0; p && up < 40; p = flatParent(p), up++) {
    const tag = localName(p);
    if (tag === 'body' || tag === 'html') break;
    if (ROW_TAG.has(tag) || (has(p, 'role') && ROW_ROLE.test(attr(p, 'role')))) return { node: p, series: false, text: '' };
    if (!series && inSeries(p, tag)) series = p;
  }
  return series && { node: series, series: true, text: rowText(series) };
}

// inSeries tells whether a sibling right beside p has the same tag and classes.
function inSeries(p, tag) {
  const cls = attr(p, 'class');
  for (const s of [nextElementSibling(p), previousElementSibling(p)]) {
    if (s && localName(s) === tag && attr(s, 'class') === cls) return true;
  }
  return false;
}

let rowTexts = new Map(); // of one walk or question
let controlsAt = new Map(); // element → the control that it is or stands in (name.js); of one walk or question
let composites = new Map(); // parent → whether its children stand in one (name.js); of one walk or question

function rowText(row) {
  let s = rowTexts.get(row);
  if (s !== undefined) return s;
  s = fold(someText(row, CONTEXT_MAX)).slice(0, CONTEXT_MAX);
  rowTexts.set(row, s);
  return s;
}

// writtenText is someText with a space only where a line ends: what is written in el, as
// it stands there.
const writtenText = (el, max) => someText(el, max, true);

// someText returns the text in el, at least max characters of it if there are so
// many, without looking at more nodes than that needs. Styles are not asked, unless
// the text is to be tight.
function someText(el, max, tight = false) {
  const only = firstChild(el);
  const tag = localName(el);
  if (only && !nextSibling(only) && nodeType(only) === TEXT && !rootOf(el, tag)) return textData(only).slice(0, 2 * max + 200);
  const so = { out: '', max, left: 400, tight };
  const list = flatList(el, tag);
  moreText(list, list ? list[0] : only, so);
  return so.out;
}

// moreText adds the text from n on to so.out, with a space between nodes; tight, with
// one between lines. list begins with n, and is null where n and its siblings are read
// one by one.
function moreText(list, n, so) {
  let first = true;
  for (let i = 0; n && so.out.length < so.max && so.left > 0; n = list ? list[++i] : nextSibling(n)) {
    so.left--;
    const type = nodeType(n);
    const apart = !so.tight || type === ELEMENT && (localName(n) === 'br' || !/^(inline|contents)/.test(styleOf(n).display));
    if (!first && apart) so.out += ' ';
    first = false;
    if (type === TEXT) {
      const data = textData(n);
      if (blank(data)) {
        if (so.tight && data) so.out += ' ';
        continue;
      }
      const part = data.slice(0, so.max + 50);
      so.out += LOOSE.test(part) ? part.replace(/\s+/g, ' ') : part;
    } else if (type === ELEMENT) {
      const tag = localName(n);
      if (WORDLESS.has(tag)) continue;
      const inner = flatList(n, tag), start = inner ? inner[0] : firstChild(n);
      if (!start) continue;
      if (apart) so.out += ' ';
      moreText(inner, start, so);
      if (so.tight && apart) so.out += ' ';
    }
  }
}

const WORDLESS = new Set(['script', 'style', 'noscript', 'template', 'select', 'textarea', 'datalist', 'svg', 'iframe', 'video', 'audio', 'canvas']);

// forget drops what was remembered about the page as it was. Whoever asks
// about boxes, names or contexts in a new turn calls it first.
function forget() {
  memory = new WeakMap();
  clips = new Map();
  imageMaps = new Map();
  tables = new Map();
  rows = new Map();
  rowTexts = new Map();
  composites = new Map();
  controlsAt = new Map();
  labelling = null;
  view = null;
}

const __bd = Object.create(null); // made known when the whole program has run
const leftBehind = []; // what is called when the document is another

// now returns __bd for the document as it is now: every call begins with it.
__bd.now = () => {
  unasked = null; // a walk may have been ended in the middle
  if (page !== document) {
    page = document;
    forget();
    for (const f of leftBehind) f();
  }
  return __bd;
};
Object.assign(__bd, { idOf, node, closed, mark, visible });
