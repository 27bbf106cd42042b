// The states that a line shows, in the order of PROTOCOL.md section 5.

import { ARIA, COMMAND, EDITABLE, POPOVER } from './attributes.js';
import { attr, closest, has, localName, matches, parentNode } from './dom.js';
import { flatContains } from './flat-tree.js';
import { isHost, isSummary } from './role.js';
import { wordSet } from './word-set.js';

const is = (el, a) => { const v = attr(el, a); return v !== null && v !== 'false' && v !== ''; };

// statesOf returns the words of PROTOCOL.md section 5 that hold for el, in its
// order, with a space before each. f is its frame, the others are what only the walk
// knows.
export function statesOf(el, role, f, focused, invisible, covered) {
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
  if (f.loading || aria && attr(el, 'aria-busy') === 'true') out += ' busy';
  if ((aria && attr(el, 'aria-modal') === 'true') || (tag === 'dialog' && matches(el, ':modal'))) out += ' modal';
  if (tag === 'textarea' || (aria && attr(el, 'aria-multiline') === 'true')) out += ' multiline';
  if (bits & EDITABLE && isHost(el)) out += ' editable';
  if (f.clicks) out += ' clickable';
  if (invisible) out += ' invisible';
  if (covered) out += ' covered';
  return out;
}

const DISABLING = wordSet('button input select textarea option optgroup fieldset');
const TYPED = wordSet('text search url tel email password date month week time datetime-local number');

// disabled reports whether el is disabled, by itself, its fieldset or aria-disabled
// on it or around it.
function disabled(el, tag = localName(el), off = true) {
  if (DISABLING.has(tag) && matches(el, ':disabled')) return true;
  return off && closest(el, '[aria-disabled=true]') !== null;
}

// expanded reports whether what el opens is open; null if it opens nothing.
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
// button's, before what its author says (Chromium); null if el stands in it.
function popoverOf(el, tag, bits) {
  if (tag !== 'button' && tag !== 'input' || matches(el, ':disabled') || el.form && /^(submit|image)$/.test(el.type)) return null;
  const target = !(bits & COMMAND) ? el.popoverTargetElement : /^(toggle|show|hide)-popover$/i.test(attr(el, 'command')) ? el.commandForElement : null;
  return target && has(target, 'popover') && !flatContains(target, el) ? target : null;
}
