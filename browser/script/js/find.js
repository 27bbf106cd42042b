// Finding what shows a text, or has a role and a name.

import { follow } from './chain.js';
import { nodeLine } from './capture.js';
import { OPERABLE } from './clickable.js';
import { bodyOf, closest, documentElementOf, ELEMENT, localName, matches, nodeType, parentNode, TEXT, textData } from './dom.js';
import { flatChildren, flatParent } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { idOf } from './node-ids.js';
import { forget, page } from './page.js';
import { childElements, FRAME_TAGS, laidOut, SKIPPED_TAGS, isNotRendered } from './read-text.js';
import { allIn, everyElement } from './refs.js';
import { roleOf, shownRole } from './role.js';
import { hidesText, secret } from './secrets.js';
import { contextOf, nameOf, operable } from './shown-name.js';
import { fold, headOf } from './text.js';
import { rendered } from './visibility.js';

// seek looks in the whole document, shadow roots included, for the elements that the query
// fits by role, name and text, letter case and white space aside.
export const seek = (q) => {
  const text = fold(q.text || '').toLowerCase(), name = fold(q.name || '').toLowerCase(), role = (q.role || '').toLowerCase();
  const label = labelWords(q.label || ''), byItself = role || name || label;
  const same = (said, asked) => (q.whole ? said === asked : said.includes(asked));
  const found = [], texts = new Map();
  let count = 0;
  const fits = (el) => {
    if (label) return isField(el) && labelWords(nameOf(el) || '') === label;
    const r = shownRole(roleOf(el));
    if (role && r !== role) return false;
    return !name || same(fold(nameOf(el) || '').toLowerCase(), name);
  };
  // visit returns the text of n and whether something in it was found.
  const visit = (n) => {
    if (nodeType(n) === TEXT) return { says: textData(n), hit: false };
    if (nodeType(n) !== ELEMENT || count >= q.limit) return { says: '', hit: false };
    const tag = localName(n), hides = tag === 'textarea' ? secret(n) : hidesText(n); // what it holds is not searched
    if (SKIPPED_TAGS.has(tag) && tag !== 'option' && tag !== 'optgroup' && tag !== 'video' && tag !== 'audio') return { says: '', hit: false };
    if (tag !== 'option' && tag !== 'optgroup' && (!laidOut(n) || tag === 'select' && isNotRendered(n))) return { says: '', hit: false };
    if (FRAME_TAGS.has(tag)) {
      if (isNotRendered(n)) return { says: '', hit: false };
      if (byItself && !text && fits(n)) add(n);
      found.push({ frame: idOf(n) });
      return { says: '', hit: false };
    }
    // An element comes before those in it: its place is kept.
    const place = found.length;
    const shown = tag === 'option' || tag === 'optgroup' || !isNotRendered(n);
    const mine = shown && byItself && fits(n);
    if (mine && !text) add(n);
    let says = '', hit = false;
    const inlined = /^inline/.test(styleOf(n).display);
    for (const k of hides ? [] : shown ? flatChildren(n) : childElements(n)) {
      const got = visit(k);
      says += got.says;
      hit = hit || got.hit;
    }
    if (text && shown) {
      if (n instanceof HTMLInputElement && /^(button|submit|reset)$/.test(n.type)) says = n.value;
      const here = same(fold(says).toLowerCase(), text);
      // By text alone the innermost element is meant; with a role or a name the
      // innermost that has them.
      // A slot has no place of its own: what shows the text is what it stands in.
      if (here && !hit && (mine || !byItself && tag !== 'slot')) {
        const is = mine ? n : q.whole ? labelled(n) : controlOf(n);
        if (!found.includes(is)) {
          found.splice(place, 0, is);
          if (!q.whole) texts.set(is, cutText(fold(says))); // else it is the text asked for
          count++;
        }
        hit = true;
      }
    }
    return { says: inlined ? says : ' ' + says + ' ', hit };
  };
  const add = (n) => {
    found.push(n);
    count++;
  };
  const root = documentElementOf(page); // none while another document takes its place
  if (root) visit(root);
  return { found, texts };
};

const TEXT_MAX = 300; // characters of what was found
const cutText = (s) => (s.length > TEXT_MAX ? headOf(s, TEXT_MAX) : s);

// controlOf returns what is acted on where n, which shows a text, is meant: the field whose label
// it is, else the nearest thing around it that a snapshot shows as something to act on; n
// if there is none.
const controlOf = (n) => {
  const field = labelled(n);
  if (field !== n) return field;
  for (let e = n, up = 0; e && up < CONTROL_AROUND && e !== bodyOf(page); e = flatParent(e), up++) if (operable(e)) return e;
  return n;
};
const CONTROL_AROUND = 8; // elements

// labelWords returns the words of a label, without the marks that often end one: "Email: *".
const labelWords = (s) => fold(s).toLowerCase().replace(/[\s:*\uff1a]+$/, '');

const FIELDS = new Set(['checkbox', 'combobox', 'listbox', 'menuitemcheckbox', 'menuitemradio', 'radio', 'searchbox', 'slider', 'spinbutton', 'switch', 'textbox']);
const isField = (el) => {
  const tag = localName(el);
  if (tag === 'input') return !/^(button|hidden|image|reset|submit)$/.test(el.type);
  return tag === 'select' || tag === 'textarea' || FIELDS.has(roleOf(el));
};

// select finds by a selector, or by the attribute data-testid, in the document and its shadow
// trees. What is not rendered counts only where q.unrendered says so, and nothing else fits.
const select = (q) => {
  const selector = q.css || `[data-testid="${CSS.escape(q.testid)}"]`, fit = [], frames = [];
  try {
    allIn(page, selector);
  } catch {
    return { found: [{ bad: true }], texts: new Map() };
  }
  everyElement(page, (el) => {
    if (matches(el, selector)) fit.push(el);
    if (FRAME_TAGS.has(localName(el)) && rendered(el)) frames.push({ frame: idOf(el) });
  });
  const seen = fit.filter(rendered);
  return { found: [...(seen.length || !q.unrendered ? seen : fit).slice(0, q.limit), ...frames], texts: new Map() };
};

// labelled returns the field whose label n is, or is part of, as a snapshot shows it by
// that name; n where it is none's, or another control's in the label.
const labelled = (n) => {
  const label = closest(n, 'label'), c = label && label.control;
  if (!c || !rendered(c)) return n;
  for (let e = n; e !== label; e = parentNode(e)) if (matches(e, OPERABLE)) return n;
  return c;
};

/** @type {import('./functions.js').Functions['find']} */
export const find = (q) => {
  forget();
  if (q.chain) {
    let found;
    try {
      found = follow(q);
    } catch (e) {
      if (e instanceof DOMException) return [{ bad: true }]; // a step's css or xpath
      throw e;
    }
    const { count, elements, read, frame, rest } = found;
    if (frame) return [{ frame: idOf(frame), rest }];
    return [...elements.map((el) => ({ line: nodeLine(el, q.attrs), context: contextOf(el), read: read(el) })), { count }];
  }
  const { found, texts } = q.css || q.testid ? select(q) : seek(q);
  return found.map((n) => {
    if (n.frame || n.bad) return n;
    const text = texts.get(n) || '', said = text !== '' && fold(nameOf(n) || '').replaceAll(' | ', ' ').toLowerCase().includes(text.replaceAll(' | ', ' ').toLowerCase());
    return { line: nodeLine(n, q.attrs), context: contextOf(n), says: said ? '' : text };
  });
};
