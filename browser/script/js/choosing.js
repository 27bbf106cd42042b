// Options of selects, the states of checkboxes, and file inputs.

import { CHOICE, inputType, isDisabled } from './actionable.js';
import { checkedOf, controlOf, fire, valueSetters } from './controls.js';
import { attr, closest, focus, has, isConnected, localName, matches, textContent } from './dom.js';
import { idOf, node } from './node-ids.js';
import { allIn, record } from './refs.js';
import { roleOf } from './role.js';
import { styledSelect } from './stand-in.js';
import { nextFrame } from './tasks.js';
import { fold } from './text.js';

// optionsOf returns the options of a select as a client may name them.
const optionsOf = (el) => /** @type {HTMLOptionElement[]} */ ([...allIn(el, 'option')]);
const labelOf = (o) => fold(attr(o, 'label') || textContent(o));

// choose selects options by label or value (HTML, 4.10.7). Nothing is selected
// unless all are there and enabled.
/** @type {import('./functions.js').ElementFunctions['choose']} */
export const choose = (el, { values }) => {
  if (localName(el) !== 'select') return { custom: true };
  const widget = styledSelect(el);
  if (widget) return { styled: record(widget) };
  const options = optionsOf(el), picked = new Set();
  for (const wanted of values) {
    const by = (f) => options.find((o) => f(o) && !picked.has(o));
    const option = by((o) => labelOf(o) === fold(wanted)) || by((o) => has(o, 'aria-label') && fold(attr(o, 'aria-label')) === fold(wanted)) || by((o) => o.value === wanted) || by((o) => labelOf(o).toLowerCase() === fold(wanted).toLowerCase());
    if (!option) return { missing: wanted, options: options.slice(0, 50).map(labelOf), count: options.length };
    if (matches(option, ':disabled') || option.disabled || closest(option, 'optgroup:disabled')) return { disabled: labelOf(option) };
    picked.add(option);
  }
  if (!el.multiple && picked.size !== 1) return { single: true };
  const before = options.map((o) => o.selected);
  focus(el, { preventScroll: true });
  if (el.multiple) for (const o of options) o.selected = picked.has(o);
  else for (const o of picked) o.selected = true;
  if (options.some((o, i) => o.selected !== before[i])) {
    fire(el, 'input');
    fire(el, 'change');
  }
  return { selected: optionsOf(el).filter((o) => o.selected).map(labelOf) };
};
/** @type {import('./functions.js').Functions['chooseIn']} */
export const chooseIn = ({ node: id, values }) => choose(node(id), { values });
/** @type {import('./functions.js').Functions['chooseOption']} */
export const chooseOption = (id) => {
  const option = node(id), el = closest(option, 'select');
  return choose(el, { values: [option.value] });
};

// checkState returns a checkbox's, radio button's or switch's state, native or ARIA:
// true, false, mixed, or null for what has none.
export const checkState = (el) => {
  if (el instanceof HTMLInputElement && ['checkbox', 'radio'].includes(inputType(el))) return el.indeterminate ? 'mixed' : checkedOf(el);
  const a = attr(el, 'aria-checked') || attr(el, 'aria-pressed') || attr(el, 'aria-selected');
  if (a === 'true' || a === 'false' || a === 'mixed') return a === 'mixed' ? a : a === 'true';
  const inner = controlOf(el, 'check');
  if (inner && inner !== el) return checkState(inner);
  return CHOICE.has(roleOf(el)) ? false : null;
};
/** @type {import('./functions.js').ElementFunctions['checked']} */
export const checked = (el) => ({ state: checkState(el), radio: el instanceof HTMLInputElement && inputType(el) === 'radio' || roleOf(el) === 'radio' });
// checkedNow waits a little for a state that a page sets later than its click.
/** @type {import('./functions.js').Functions['checkedNow']} */
export const checkedNow = async ({ id, wanted, ms }) => {
  const until = performance.now() + ms;
  for (;;) {
    const el = node(id);
    if (!el || !isConnected(el)) return { there: false };
    const state = checkState(el);
    if (state === wanted || performance.now() >= until) return { there: true, state };
    await nextFrame();
  }
};

// fileInput is the file input that el is or stands for. Emptied, it tells the page,
// as it does when a person chooses no file: DOM.setFileInputFiles leaves out no files.
/** @type {import('./functions.js').ElementFunctions['fileInput']} */
export const fileInput = (el, { empty }) => {
  const input = controlOf(el, 'file');
  if (input && empty && !isDisabled(input) && input.value !== '') {
    valueSetters.input(input, '');
    fire(input, 'input');
    fire(input, 'change');
  }
  return input ? { input: idOf(input), multiple: input.multiple, disabled: isDisabled(input), accept: attr(input, 'accept') || '' } : { input: 0 };
};
