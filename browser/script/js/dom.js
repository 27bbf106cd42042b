// Accessors of the DOM, taken from the prototypes before any element exists.
//
// An isolated world has built-ins of its own, but the page's elements shadow
// properties of forms and documents by name (<input name="firstChild">), here as
// there. So nodes are read through these accessors.

const uncurry = (f) => Function.prototype.call.bind(f);
export const getter = (owner, name) => uncurry(/** @type {any} */ (Object.getOwnPropertyDescriptor(owner.prototype, name)).get);
export const method = (owner, name) => uncurry(owner.prototype[name]);

export const nodeType = getter(Node, 'nodeType');
export const firstChild = getter(Node, 'firstChild');
export const lastChild = getter(Node, 'lastChild');
export const nextSibling = getter(Node, 'nextSibling');
export const parentNode = getter(Node, 'parentNode');
export const childNodes = getter(Node, 'childNodes');
export const isConnected = getter(Node, 'isConnected');
export const textContent = getter(Node, 'textContent');
export const contains = method(Node, 'contains');
export const getRootNode = method(Node, 'getRootNode');
export const position = method(Node, 'compareDocumentPosition');
export const localName = getter(Element, 'localName');
export const namespaceURI = getter(Element, 'namespaceURI');
export const childElementCount = getter(Element, 'childElementCount');
export const firstElementChild = getter(Element, 'firstElementChild');
export const lastElementChild = getter(Element, 'lastElementChild');
export const nextElementSibling = getter(Element, 'nextElementSibling');
export const previousElementSibling = getter(Element, 'previousElementSibling');
export const openRoot = getter(Element, 'shadowRoot');
export const assignedSlot = getter(Element, 'assignedSlot');
export const textSlot = getter(Text, 'assignedSlot');
export const attr = method(Element, 'getAttribute');
export const setAttr = method(Element, 'setAttribute');
export const has = method(Element, 'hasAttribute');
export const hasAny = method(Element, 'hasAttributes');
export const attributeNames = method(Element, 'getAttributeNames');
export const matches = method(Element, 'matches');
export const closest = method(Element, 'closest');
export const query = method(Element, 'querySelector');
export const queryAll = method(Element, 'querySelectorAll');
export const rectOf = method(Element, 'getBoundingClientRect');
export const rectsOf = method(Element, 'getClientRects');
export const checkVisibility = method(Element, 'checkVisibility');
export const textData = getter(CharacterData, 'data');
export const assignedNodes = method(HTMLSlotElement, 'assignedNodes');
export const tabIndexOf = getter(HTMLElement, 'tabIndex');
export const svgTabIndex = getter(SVGElement, 'tabIndex');
export const isContentEditable = getter(HTMLElement, 'isContentEditable');
export const innerText = getter(HTMLElement, 'innerText');
export const elementsIn = method(Element, 'getElementsByTagName');
export const animationsOf = method(Element, 'getAnimations');
export const visibilityOf = getter(Document, 'visibilityState');
export const scrollLeft = getter(Element, 'scrollLeft');
export const scrollTop = getter(Element, 'scrollTop');
export const scrollWidth = getter(Element, 'scrollWidth');
export const scrollHeight = getter(Element, 'scrollHeight');
export const clientLeft = getter(Element, 'clientLeft');
export const clientTop = getter(Element, 'clientTop');
export const clientWidth = getter(Element, 'clientWidth');
export const clientHeight = getter(Element, 'clientHeight');
export const focus = method(HTMLElement, 'focus');
export const dispatch = method(EventTarget, 'dispatchEvent');
export const bodyOf = getter(Document, 'body');
export const documentElementOf = getter(Document, 'documentElement');
export const execute = method(Document, 'execCommand');
export const byId = method(Document, 'getElementById');
export const allOf = method(Document, 'getElementsByTagName');
export const allOfClass = method(Document, 'getElementsByClassName');
export const queryPage = method(Document, 'querySelector');
export const queryAllOf = method(Document, 'querySelectorAll');
export const queryTree = method(DocumentFragment, 'querySelectorAll');
export const designModeOf = getter(Document, 'designMode');
export const titleOfPage = getter(Document, 'title');
export const readyState = getter(Document, 'readyState');
export const evaluateXPath = method(Document, 'evaluate');
export const scriptsOf = getter(Document, 'scripts');
export const scrollerOf = getter(Document, 'scrollingElement');
export const activeOf = getter(Document, 'activeElement');
export const pointerLockOf = getter(Document, 'pointerLockElement');
export const exitPointerLock = method(Document, 'exitPointerLock');
export const atPoint = method(Document, 'elementFromPoint');
export const baseOf = getter(Node, 'baseURI');
export const computedStyle = window.getComputedStyle.bind(window);

// What a window says of its viewport. Reading these as global variables takes V8 several times as long.
const ofWindow = (name) => /** @type {any} */ (Object.getOwnPropertyDescriptor(window, name)).get.bind(window);
export const viewWidth = ofWindow('innerWidth');
export const viewHeight = ofWindow('innerHeight');
export const scrolledX = ofWindow('scrollX');
export const scrolledY = ofWindow('scrollY');

const styleOfHTML = getter(HTMLElement, 'style'), styleOfSVG = getter(SVGElement, 'style');
export const activeOfTree = getter(ShadowRoot, 'activeElement');
const idInTree = method(DocumentFragment, 'getElementById');

export const HTML = 'http://www.w3.org/1999/xhtml';
export const SVG = 'http://www.w3.org/2000/svg';
export const ELEMENT = 1;
export const TEXT = 3;
const DOCUMENT = 9, FRAGMENT = 11;
export const FOLLOWING = Node.DOCUMENT_POSITION_FOLLOWING;

// inlineStyle returns the style attribute of el, null for an element that has none.
export const inlineStyle = (el) => {
  const ns = namespaceURI(el);
  return ns === HTML ? styleOfHTML(el) : ns === SVG ? styleOfSVG(el) : null;
};

// idIn returns the element with that id in the tree of that root, null for none.
export const idIn = (root, id) => (nodeType(root) === DOCUMENT ? byId(root, id) : nodeType(root) === FRAGMENT ? idInTree(root, id) : null);

// outermost returns those of the nodes that stand in no other of them, in as much time as there are nodes and
// what they stand in.
/** @param {Set<any>} nodes @returns {any[]} */
export function outermost(nodes) {
  const inside = new Map(); // what the nodes stand in → whether that is, or stands in, one of them
  return [...nodes].filter((n) => {
    const path = [];
    let p = parentNode(n);
    for (; p && !inside.has(p) && !nodes.has(p); p = parentNode(p)) path.push(p);
    const is = p !== null && (nodes.has(p) || inside.get(p));
    for (const q of path) inside.set(q, is);
    return !is;
  });
}
