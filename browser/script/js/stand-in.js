// What a person clicks in the place of a control that is hidden.

import { bodyOf, localName, matches, nextElementSibling, previousElementSibling, queryAll, rectOf } from './dom.js';
import { flatParent } from './flat-tree.js';
import { operablesIn } from './clickable.js';
import { isField, labelsOf } from './labels.js';
import { hasListener } from './listeners.js';
import { page } from './page.js';
import { rendered, unseen, visible } from './visibility.js';
import { receivesClick } from './walk-parts.js';

// replacementOf returns what a person clicks in the place of a checkbox, radio, select
// or file input that is itself hidden: its label, or the styled twin beside or
// around it. null if there is none, or where el is not such a control.
export function replacementOf(el) {
  const tag = localName(el);
  if (tag !== 'select' && !(tag === 'input' && /^(checkbox|radio|file)$/.test(el.type))) return null;
  for (const l of labelsOf(el)) if (visible(l)) return l;
  for (const s of [nextElementSibling(el), previousElementSibling(el)]) {
    if (s && !isField(s) && (localName(s) !== 'label' || !s.control) && seenSmall(s)) return s;
  }
  const p = flatParent(el);
  if (p && p !== bodyOf(page) && localName(p) !== 'form' && seenSmall(p) && !Array.prototype.some.call(queryAll(p, ENTERED), (f) => f !== el && rendered(f))) return p;
  return null;
}

// What is filled in or chosen: a button that comes beside el when the pointer does is not.
const ENTERED = 'input:not([type=hidden]):not([type=button]):not([type=submit]):not([type=reset]),select,textarea';

// styledSelect returns what stands beside a select that nobody sees and has handlers of its
// own: a widget which is operated in the place of the select, and may not hear of a choice
// made there. null if there is none.
export function styledSelect(el) {
  if (localName(el) !== 'select' || !unseen(el) || receivesClick(el)) return null;
  for (const s of [nextElementSibling(el), previousElementSibling(el)]) {
    if (s && !isField(s) && localName(s) !== 'label' && visible(s) && rectOf(s).height <= 200 && (matches(s, WIDGET) || hasListener.has(s) || operablesIn(s))) return s;
  }
  return null;
}
const WIDGET = '[role=combobox],[role=button],[role=listbox],[tabindex],[onclick],[onmousedown]';

// isReplacementFor reports whether el is, or is around, an input in whose place something
// else is clicked. Of those in it the first few are looked at.
export function isReplacementFor(el) {
  if (localName(el) === 'input') return replacementOf(el) !== null;
  const inputs = queryAll(el, 'input');
  for (let i = 0; i < inputs.length && i < 20; i++) if (replacementOf(inputs[i])) return true;
  return false;
}

function seenSmall(el) {
  if (!visible(el)) return false;
  const r = rectOf(el);
  return r.width >= 8 && r.height >= 8 && r.width <= 600 && r.height <= 200;
}
