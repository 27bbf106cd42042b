// The options of a select that a person opens who drives the session. Chromium lists them in a
// window of its own, which is in no picture: the view lists them instead. The page hears of the
// press or the key as ever.

import { elementUnder } from './actionable.js';
import { fire } from './controls.js';
import { closest, focus, isConnected } from './dom.js';
import { secret, driven } from './secrets.js';
import { listen } from './window-listeners.js';

const MAX_OPTIONS = 2000;
const MAX_TEXT = 200; // characters of an option

let asked = new WeakRef(document.createElement('select')); // the select that was opened last

// menuOf returns the select that el is or is in, if its list opens in a window of its own.
const menuOf = (el) => {
  const s = el instanceof Element && closest(el, 'select');
  return s instanceof HTMLSelectElement && !s.disabled && !s.multiple && s.size <= 1 && getComputedStyle(s).appearance !== 'base-select' ? s : null;
};

function ask(e, select) {
  e.preventDefault(); // of which opening is the default
  focus(select, { preventScroll: true });
  asked = new WeakRef(select);
  const tell = /** @type {any} */ (globalThis).__bdAsks; // a binding of CDP
  const group = (o) => o.parentElement instanceof HTMLOptGroupElement ? o.parentElement : null;
  const hidden = secret(select);
  tell(JSON.stringify({
    options: [...select.options].slice(0, MAX_OPTIONS).map((o) => ({
      text: o.label.slice(0, MAX_TEXT), group: group(o)?.label.slice(0, MAX_TEXT), selected: !hidden && o.selected, disabled: o.disabled || !!group(o)?.disabled,
    })),
  }));
}

listen(['mousedown'], (e) => {
  if (!driven || !e.isTrusted || e.button !== 0) return;
  const select = menuOf(e.composedPath()[0]) || menuOf(elementUnder(e.clientX, e.clientY, null));
  if (select) ask(e, select);
});

// The keys that open it (MenuListSelectType::ShouldOpenPopupForKeyDownEvent and the key press after it).
listen(['keydown'], (e) => {
  const opens = e.altKey && (e.key === 'ArrowDown' || e.key === 'ArrowUp') || e.key === 'F4' || e.key === ' ' || e.key === 'Enter';
  if (!driven || !e.isTrusted || !opens) return;
  const select = menuOf(e.composedPath()[0]);
  if (select) ask(e, select);
});

// personChooses selects an option of the select that was opened last, by its place.
/** @type {import('./functions.js').Functions['personChooses']} */
export const personChooses = (i) => {
  const select = asked.deref(), option = select?.options[i];
  if (!select || !option || !driven || !isConnected(select) || select.disabled || option.disabled || select.selectedIndex === i) return true;
  select.selectedIndex = i;
  fire(select, 'input');
  fire(select, 'change');
  return true;
};
