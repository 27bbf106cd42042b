// Finding elements by a chain of steps, each of which goes on from what the one before
// found: by CSS, role and name, text, label, or a filter.

import { isDisabled } from './actionable.js';
import { checkedOf } from './controls.js';
import {
  activeOf, attr, checkVisibility, contains, documentElementOf, ELEMENT, has, innerText, isContentEditable, localName, matches, nodeType, parentNode, position,
  queryAll, rectOf, textContent, textData, FOLLOWING, TEXT,
} from './dom.js';
import { flatChildren } from './flat-tree.js';
import { labelsOf } from './labels.js';
import { page } from './page.js';
import { FRAME_TAGS, laidOut, SKIPPED_TAGS } from './read-text.js';
import { readOf } from './read.js';
import { styleOf } from './node-cache.js';
import { roleOf } from './role.js';
import { hidesText } from './secrets.js';
import { nameOf } from './shown-name.js';
import { fold } from './text.js';
import { VISIBLE } from './visibility.js';

const seen = (el) => {
  if (!checkVisibility(el, VISIBLE)) return false;
  const r = rectOf(el);
  return r.width > 0 && r.height > 0;
};

// fits reports whether a text is the wanted one: a string, or {re, flags}.
const fits = (want, text, exact) => {
  const s = fold(text || '');
  if (want && typeof want === 'object') return new RegExp(want.re, want.flags || '').test(s);
  return exact ? s === fold(String(want)) : s.toLowerCase().includes(fold(String(want)).toLowerCase());
};

const says = (el) => {
  if (hidesText(el)) return '';
  if (el instanceof HTMLInputElement && /^(button|submit|reset)$/.test(el.type)) return el.value;
  return SKIPPED_TAGS.has(localName(el)) && localName(el) !== 'option' ? '' : flatChildren(el).map((k) => (nodeType(k) === TEXT ? textData(k) : nodeType(k) === ELEMENT ? says(k) : '')).join('');
};

// within returns all elements below a scope, through shadow roots, in order.
const within = (scope) => {
  const list = [];
  const visit = (el) => {
    for (const k of flatChildren(el)) if (nodeType(k) === ELEMENT) { list.push(k); if (!FRAME_TAGS.has(localName(k))) visit(k); }
  };
  visit(scope);
  return list;
};

const stateOf = (el, s) => {
  switch (s) {
    case 'checked': return el instanceof HTMLInputElement ? checkedOf(el) : attr(el, 'aria-checked') === 'true';
    case 'disabled': return isDisabled(el);
    case 'selected': return el instanceof HTMLOptionElement ? el.selected : attr(el, 'aria-selected') === 'true';
    case 'expanded': return has(el, 'aria-expanded') ? attr(el, 'aria-expanded') === 'true' : localName(el) === 'summary' ? has(/** @type {any} */ (parentNode(el)), 'open') : undefined;
    case 'pressed': return attr(el, 'aria-pressed') === 'true';
  }
  return Number(attr(el, 'aria-level') || (/^h[1-6]$/.test(localName(el)) ? localName(el)[1] : 0));
};

const labelText = (el) => {
  const by = (attr(el, 'aria-labelledby') || '').split(/\s+/).filter(Boolean).map((id) => { const e = page.getElementById(id); return e ? textContent(e) : ''; }).join(' ');
  return [attr(el, 'aria-label') || '', by, ...[...labelsOf(el)].map((l) => says(l))].filter((t) => fold(t));
};

const innermost = (list) => list.filter((el) => !list.some((o) => o !== el && contains(el, o)));

// descendants returns the parts of a selector between which an element may be anywhere below the
// one before, in a shadow root too, where no selector reaches from outside.
const descendants = (css) => (/^[^"'[\](),]*$/.test(css) ? css.trim().split(/(?<![>+~\s])\s+(?![>+~\s])/) : []);

// below returns the elements in scope that one step names.
const below = (scope, s) => {
  const all = () => (scope === documentElementOf(page) ? [scope, ...within(scope)] : within(scope));
  if (s.css !== undefined) {
    if (s.css.includes(':scope')) return [...queryAll(scope, s.css)];
    const whole = all().filter((el) => matches(el, s.css)), pieces = whole.length ? [] : descendants(s.css);
    return pieces.length < 2 ? whole : pieces.reduce((from, css) => [...new Set(from.flatMap((el) => within(el).filter((k) => matches(k, css))))], [scope]);
  }
  if (s.xpath !== undefined) {
    const got = page.evaluate(s.xpath, scope === documentElementOf(page) && !s.xpath.startsWith('.') ? page : scope, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
    return Array.from({ length: got.snapshotLength }, (_, i) => got.snapshotItem(i)).filter((n) => n && nodeType(n) === ELEMENT);
  }
  if (s.role !== undefined) {
    return all().filter((el) => (roleOf(el) || 'generic') === s.role.toLowerCase() && (s.include_hidden || laidOut(el)) && (s.name === undefined || fits(s.name, nameOf(el) || (s.role === 'row' && !hidesText(el) ? innerText(el) : ''), s.exact)) &&
      ['checked', 'disabled', 'selected', 'expanded', 'pressed', 'level'].every((k) => s[k] === undefined || (stateOf(el, k) || false) === s[k]));
  }
  if (s.text !== undefined || s.own_text !== undefined) return innermost(all().filter((el) => !/^(script|style|noscript|head|title|html|body)$/.test(localName(el)) && fits(s.text ?? s.own_text, says(el), s.exact)));
  if (s.label !== undefined) return all().filter((el) => labelText(el).some((t) => fits(s.label, t, s.exact)));
  for (const [key, name] of [['placeholder', 'placeholder'], ['alt', 'alt'], ['title', 'title']]) if (s[key] !== undefined) return all().filter((el) => has(el, name) && fits(s[key], attr(el, name), s.exact));
  if (s.testid !== undefined) return all().filter((el) => has(el, 'data-testid') && fits(s.testid, attr(el, 'data-testid'), true));
  return [];
};

const chain = (scopes, steps) => {
  let now = scopes;
  for (const s of steps) {
    if (s.has_text !== undefined) now = now.filter((el) => fits(s.has_text, says(el)));
    else if (s.has_not_text !== undefined) now = now.filter((el) => !fits(s.has_not_text, says(el)));
    else if (s.own_text !== undefined) now = innermost(now.filter((el) => fits(s.own_text, says(el), s.exact)));
    else if (s.has !== undefined) now = now.filter((el) => chain([el], s.has).length);
    else if (s.has_not !== undefined) now = now.filter((el) => !chain([el], s.has_not).length);
    else if (s.is !== undefined) now = now.filter((el) => matches(el, s.is));
    else if (s.visible !== undefined) now = now.filter((el) => seen(el) === s.visible);
    else if (s.nth !== undefined) now = now.slice(s.nth < 0 ? now.length + s.nth : s.nth).slice(0, s.nth < 0 && now.length + s.nth < 0 ? 0 : 1);
    else if (s.and !== undefined) { const other = new Set(chain(scopes, s.and)); now = now.filter((el) => other.has(el)); }
    else if (s.or !== undefined) now = [...new Set([...now, ...chain(scopes, s.or)])].sort((a, b) => (position(a, b) & FOLLOWING ? -1 : 1));
    else now = [...new Set(now.flatMap((el) => below(el, s)))];
  }
  return now;
};

const readKey = (el, key) => {
  if (key.startsWith('attr:')) return readOf(el, 'attrs')[key.slice(5).toLowerCase()] ?? null;
  if (key.startsWith('css:')) return styleOf(el).getPropertyValue(key.slice(4));
  switch (key) {
    case 'text': return hidesText(el) || localName(el) === 'textarea' ? '' : textContent(el);
    case 'inner_text': return hidesText(el) ? '' : el instanceof HTMLElement ? innerText(el) : textContent(el);
    case 'value': return el instanceof HTMLSelectElement ? el.value : readOf(el, 'value') ?? '';
    case 'values': return el instanceof HTMLSelectElement ? Array.from(el.selectedOptions, (o) => o.value) : [];
    case 'html': { const whole = readOf(el, 'html'); return whole.slice(whole.indexOf('>') + 1, Math.max(whole.lastIndexOf('</'), 0)); }
    case 'visible': return seen(el);
    case 'enabled': return !isDisabled(el);
    case 'editable': return !isDisabled(el) && !has(el, 'readonly') && (/^(input|textarea|select)$/.test(localName(el)) || el instanceof HTMLElement && isContentEditable(el));
    case 'checked': return stateOf(el, 'checked');
    case 'focused': return activeOf(page) === el;
    case 'caret': return caretOf(el);
  }
  return null;
};

// caretOf says where in a field the next key goes: 'all' (it replaces what is there), 'end', or
// 'within'.
const caretOf = (el) => {
  if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) {
    const { selectionStart: from, selectionEnd: to, value: { length } } = el;
    return from === null || from === length ? 'end' : from === 0 && to === length ? 'all' : 'within';
  }
  const s = getSelection();
  if (!s || !s.rangeCount || !contains(el, s.anchorNode)) return 'end';
  const text = textContent(el).trim(), range = s.getRangeAt(0), after = page.createRange();
  if (text && range.toString().trim() === text) return 'all';
  after.selectNodeContents(el);
  after.setStart(range.endContainer, range.endOffset);
  return after.toString().trim() ? 'within' : 'end';
};

// follow finds what the chain names, in the whole document, and what is to be read of
// the first q.limit of it. A step {frame} says that the rest is for the document of the one
// frame that was found.
export const follow = (q) => {
  const root = documentElementOf(page), at = q.chain.findIndex((s) => s.frame), steps = at < 0 ? q.chain : q.chain.slice(0, at);
  const all = root ? chain([root], steps) : [];
  if (at >= 0 && all.length === 1 && FRAME_TAGS.has(localName(all[0]))) return { count: 0, elements: [], read: () => ({}), frame: all[0], rest: q.chain.slice(at + 1) };
  if (at >= 0 && all.length === 1) all.length = 0;
  return { count: all.length, elements: all.slice(0, q.limit), read: (el) => Object.fromEntries((q.read || []).map((key) => [key, readKey(el, key)])) };
};
