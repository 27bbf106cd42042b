// What form controls hold, and setting it. Values are set through the prototypes' own
// setters, so that a page that watches its element's property (React's value tracker)
// sees the change when the events come, as it would after typing.

import { activeIn, inputType } from './actionable.js';
import { bodyOf, closest, dispatch, focus, getRootNode, getter, innerText, isContentEditable, localName, matches, method } from './dom.js';
import { editorOf, isTerminal, painted } from './editors.js';
import { flatParent, shadowOf } from './flat-tree.js';
import { page } from './page.js';
import { everyElement } from './refs.js';
import { secret } from './secrets.js';
import { MASK } from './values.js';

const setter = (proto, name) => {
  const set = /** @type {any} */ (Object.getOwnPropertyDescriptor(proto, name)).set;
  return (o, v) => set.call(o, v);
};
export const valueSetters = {
  input: setter(HTMLInputElement.prototype, 'value'),
  textarea: setter(HTMLTextAreaElement.prototype, 'value'),
};
const valueGetters = {
  input: getter(HTMLInputElement, 'value'),
  textarea: getter(HTMLTextAreaElement, 'value'),
  select: getter(HTMLSelectElement, 'value'),
};
export const checkedOf = getter(HTMLInputElement, 'checked');

export const hasFocus = method(Document, 'hasFocus');
export const scrollInto = method(Element, 'scrollTo'), scrollOn = method(Element, 'scrollBy');
export const editable = (el) => el instanceof HTMLElement && isContentEditable(el);

export const fire = (el, type) => dispatch(el, new Event(type, { bubbles: true, composed: true }));

export const mask = (el, v) => (v && secret(el) ? MASK : v);

// contents returns what a control holds: its value, or an editable element's text.
export const contents = (el) => {
  const editor = editorOf(el);
  if (editor && !isTerminal(editor)) return painted(editor);
  const value = valueGetters[localName(el)];
  if (value) return value(el);
  return (el instanceof HTMLElement ? innerText(el) : '').replace(/\u00a0/g, ' ').replace(/\u200b|\ufeff/g, '').replace(/\n$/, '');
};

// deepActive returns the focused element, through shadow roots.
export const deepActive = (el) => {
  let a = activeIn(page);
  const roots = new Map();
  for (let r = el && getRootNode(el); r instanceof ShadowRoot; r = getRootNode(r.host)) roots.set(r.host, r);
  for (;;) {
    const root = a && (roots.get(a) || shadowOf(a));
    const inner = root && activeIn(root);
    if (!inner) return a;
    a = inner;
  }
};

export const FIELD = 'input:not([type=hidden]):not([type=button]):not([type=submit]):not([type=reset]):not([type=image]):not([type=checkbox]):not([type=radio]):not([type=file]),textarea,[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only]';
export const CONTROL_SELECTORS = { field: FIELD + ',select', select: 'select', file: 'input[type=file]', check: 'input[type=checkbox],input[type=radio]' };

// controlOf returns the control that el stands for: itself, a label's, the only one
// in it; for a file also the only one beside it.
export const controlOf = (el, what) => {
  const selector = CONTROL_SELECTORS[what];
  if (matches(el, selector) || what === 'field' && el instanceof HTMLElement && isContentEditable(el)) return el;
  if (el instanceof HTMLLabelElement && el.control && matches(el.control, selector)) return el.control;
  const within = (box) => {
    const list = [];
    everyElement(box, (e) => { if (matches(e, selector)) list.push(e); });
    return list;
  };
  const root = shadowOf(el);
  let list = [...within(el), ...(root ? within(root) : [])];
  if (list.length === 1) return list[0];
  if (what !== 'file') return null;
  const label = closest(el, 'label');
  if (label && label.control && matches(label.control, selector)) return label.control;
  for (let e = flatParent(el), depth = 0; e && depth < 3 && e !== bodyOf(page); e = flatParent(e), depth++) {
    list = within(e);
    if (list.length === 1) return list[0];
    if (list.length) return null;
  }
  return null;
};

// fillKind returns how a control is filled in.
export const fillKind = (el) => {
  const tag = localName(el);
  if (tag === 'select' || tag === 'textarea') return tag;
  if (el instanceof HTMLInputElement) return inputType(el);
  if (el instanceof HTMLElement && isContentEditable(el)) return 'editable';
  return '';
};

// FORMATS are the inputs whose value is set whole (HTML, 4.10.5.1), and what
// each takes.
export const FORMATS = {
  date: [/^\d{4,}-\d\d-\d\d$/, 'a date such as 2026-03-31'],
  month: [/^\d{4,}-\d\d$/, 'a month such as 2026-03'],
  week: [/^\d{4,}-W\d\d$/, 'a week such as 2026-W05'],
  time: [/^\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/, 'a time such as 13:45'],
  'datetime-local': [/^\d{4,}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/, 'a date and time such as 2026-03-31T13:45'],
  color: [/^#[0-9a-fA-F]{6}$/, 'a colour such as #1a2b3c'],
  range: [/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/, 'a number'],
};

// assign sets the value of an input whole and tells the page, as its picker does.
export const assign = (el, { text, clear }) => {
  const type = inputType(el), format = FORMATS[type];
  if (format && text !== '' && !format[0].test(text)) return { accepts: format[1] };
  if (text === '' && !clear) return { value: mask(el, contents(el)), asked: true };
  const before = contents(el), wanted = type === 'number' && !clear ? before + text : text;
  focus(el, { preventScroll: true });
  valueSetters.input(el, wanted);
  const value = contents(el);
  if (format && wanted !== '' && value === '' ) {
    // Well written and no such day: what was there stays.
    valueSetters.input(el, before);
    return { accepts: format[1] };
  }
  if (value !== before) fire(el, 'input');
  if (value !== before) fire(el, 'change');
  const after = contents(el);
  return { value: mask(el, after), asked: alikeValue(after, wanted, type) };
};
const alikeValue = (value, wanted, type) => value === wanted || type === 'color' && value === wanted.toLowerCase() || (type === 'range' || type === 'number') && wanted !== '' && Number(value) === Number(wanted) && value !== '' || type === 'datetime-local' && value === wanted.replace(' ', 'T') || type === 'time' && wanted.startsWith(value) && /^[:0.]*$/.test(wanted.slice(value.length));
