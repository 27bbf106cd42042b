// Readying a control for the keyboard: focus, caret and selection.

import { activeIn, replacementsOf } from './actionable.js';
import { assign, contents, CONTROL_SELECTORS, deepActive, editable, FIELD, fillKind, FORMATS, hasFocus, mask } from './controls.js';
import { currentAction } from './current-action.js';
import {
  bodyOf, documentElementOf, ELEMENT, focus, has, isConnected, isContentEditable, lastChild, localName, matches, nodeType, rectOf, rectsOf,
  tabIndexOf, TEXT,
} from './dom.js';
import { editorOf, isTerminal, isWrittenAsWhole } from './editors.js';
import { flatContains } from './flat-tree.js';
import { endHitTest } from './hit-test.js';
import { armKeys, endKeys } from './key-guard.js';
import { idOf, node } from './node-ids.js';
import { forget, page } from './page.js';
import { everyElement, record } from './refs.js';
import { roleOf } from './role.js';
import { keepSecret, secret } from './secrets.js';
import { settle } from './settle.js';
import { contextOf } from './shown-name.js';
import { nextFrame } from './tasks.js';
import { fold } from './text.js';
import { visible } from './visibility.js';

// caret readies a text control for typing: focused, and its text selected
// where it is to be replaced, else the caret behind it. It answers what the
// daemon needs to know to type: plain, where the control shows its own value;
// keys, where the selection must be made with the keyboard because the text is
// kept elsewhere (editors that read a hidden textarea). From then on the keyboard is
// for it alone, until keysResult: guarded says so.
/** @type {import('./functions.js').ElementFunctions['caret']} */
export const caret = (el, { clear, clicked }) => {
  let active = deepActive(el);
  if (!(active && (flatContains(el, active) || flatContains(active, el) && editable(active)))) {
    if (clicked && active && active !== bodyOf(page) && active !== documentElementOf(page) && (matches(active, FIELD) || editable(active))) {
      // The click took the focus to another field. One that lies in the same
      // widget is where this widget is typed into.
      if (!replacementsOf(el).some((box) => flatContains(box, active))) return { elsewhere: record(active) };
    }
    focus(el, { preventScroll: true });
    active = deepActive(el);
  }
  const focused = !!active && (flatContains(el, active) || flatContains(active, el));
  /** @type {any} */
  const answer = { focused, kind: fillKind(el), before: null, keys: false };
  const editor = editorOf(el);
  if (isWrittenAsWhole(el)) answer.whole = true;
  if (editor) {
    answer.keys = clear && !isTerminal(editor); // all is selected by the keyboard, which the editor reads
    if (!isTerminal(editor)) {
      answer.kind = 'editor';
      answer.before = '';
    } else answer.kind = '';
    answer.guarded = armKeys(el, { text: true });
    return answer;
  }
  const text = el instanceof HTMLTextAreaElement || el instanceof HTMLInputElement && rectsOf(el).length;
  if (text) {
    const value = contents(el), b = rectOf(el);
    answer.before = secret(el) ? null : value;
    answer.length = value.length;
    if (el instanceof HTMLTextAreaElement && (b.height < 4 || b.width < 8)) {
      answer.keys = true; // the hidden textarea of an editor
      answer.before = null;
    } else if (clear) {
      el.select();
    } else {
      try {
        el.setSelectionRange(value.length, value.length);
      } catch {
        answer.end = true; // email and number have no selection: the End key
      }
    }
  } else if (isContentEditable(el)) {
    const value = contents(el);
    answer.before = secret(el) ? null : value;
    answer.length = value.length;
    const s = getSelection();
    if (clear) answer.keys = value !== '';
    else {
      const range = new Range();
      let last = el;
      for (let end; (end = lastChild(last)) && (nodeType(end) === TEXT || nodeType(end) === ELEMENT && localName(end) !== 'br' && editable(end));) last = end;
      range.selectNodeContents(last);
      const end = nodeType(last) === ELEMENT ? lastChild(last) : null, broken = end !== null && nodeType(end) === ELEMENT && localName(end) === 'br';
      if (broken) range.setStartBefore(end);
      range.collapse(broken);
      if (s) {
        s.removeAllRanges();
        s.addRange(range);
      }
    }
  }
  answer.guarded = armKeys(el, { text: true });
  return answer;
};

/** @type {import('./functions.js').Functions['caretIn']} */
export const caretIn = ({ node: id, clear }) => caret(node(id), { text: '', clear, keys: false });

// NOT_TEXT are the inputs that take no text, and the command that fits.
const NOT_TEXT = { checkbox: 'check', radio: 'check', file: 'upload', button: 'click', submit: 'click', reset: 'click', image: 'click' };

// prepare does with a control that was found what needs no mouse: its value is
// set whole, or, where it has the focus already, the caret is put in place.
/** @type {import('./functions.js').ElementFunctions['prepare']} */
export const prepare = (el, q) => {
  const kind = fillKind(el);
  if (q.secret) keepSecret(el, q.text);
  if (kind === 'select') return {};
  if (roleOf(el) === 'iframe') return { framed: true };
  if (NOT_TEXT[kind]) return { textless: NOT_TEXT[kind] };
  if (kind === '' && !acceptsKeys(el) && !editorOf(el)) return { textless: localName(el) === 'button' || roleOf(el) === 'button' || roleOf(el) === 'link' ? 'click' : 'none' };
  if (FORMATS[kind] || kind === 'number' && !q.keys) {
    endHitTest();
    return { ...assign(el, q), assigned: true };
  }
  const active = hasFocus(page) && deepActive(el); // in a frame that has not the focus, what would have it
  if (active && (active === el || kind === 'editable' && (flatContains(el, active) || flatContains(active, el) && isContentEditable(active)))) {
    endHitTest();
    return { ...caret(el, q), ready: true };
  }
  return {};
};

// acceptsKeys reports whether an element that holds no text of its own may listen
// to the keyboard: it can have the focus, and is no button or link.
const acceptsKeys = (el) => (el instanceof HTMLElement ? tabIndexOf(el) : has(el, 'tabindex') ? 0 : -1) >= 0 && !['button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'menuitem', 'option', 'slider'].includes(roleOf(el)) || ['application', 'textbox', 'combobox', 'searchbox', 'document'].includes(roleOf(el));

// fieldWithin is what takes text in the document of a frame: its only field, or that
// which has the focus, or the page where all of it is edited (designMode). It answers
// {field}, {frame: the only frame in it, if nothing else takes text}, {several}, or {}.
/** @type {import('./functions.js').Functions['fieldWithin']} */
export const fieldWithin = () => {
  forget();
  const fields = [], frames = [], body = bodyOf(page);
  everyElement(page, (e) => {
    if (matches(e, CONTROL_SELECTORS.field)) { if (fields.length < MAX_FIELDS && visible(e)) fields.push(e); }
    else if (roleOf(e) === 'iframe' && visible(e)) frames.push(e);
  });
  const active = deepActive(null);
  if (fields.length === 1) return { field: record(fields[0]) };
  if (active && active !== body && (matches(active, CONTROL_SELECTORS.field) || editable(active))) return { field: record(active) };
  if (fields.length) return { several: fields.map(record) };
  if (body && editable(body)) return { field: record(rectOf(body).height >= 1 ? body : documentElementOf(page)) };
  return frames.length === 1 ? { frame: idOf(frames[0]) } : {};
};
const MAX_FIELDS = 12; // that are told

const PAINTED_WITHIN = 30; // frames
const joined = (s) => s.replace(/\s+/g, '');
// paints reports whether what an editor has painted is what was wanted, or a part of it.
const paints = (value, wanted) => joined(value) === joined(wanted) || value.length > 400 && joined(wanted).includes(joined(value));

// compare reports whether controls hold what was asked, without telling a secret. An editor
// paints with the next frames, and of a long text a part.
const compare = async (boxes, { wanted, loose }) => {
  if (!boxes.every(isConnected)) return null;
  let value = boxes.map(contents).join('');
  if (editorOf(boxes[0])) {
    for (let i = 0; i < PAINTED_WITHIN && isConnected(boxes[0]) && !paints(value, wanted); i++) {
      await nextFrame();
      forget();
      value = contents(boxes[0]);
    }
    return { asked: paints(value, wanted), value: mask(boxes[0], value) };
  }
  const asked = value === wanted || loose && fold(value) === fold(wanted);
  return { asked, value: mask(boxes[0], value) };
};

// keysResult ends the guard of the keyboard, or with keep goes on where the element has kept
// the focus. It says who has got keys and who would have, what the control holds, and, where
// all keys came to it and nothing follows them, what they set off.
/** @type {import('./functions.js').Functions['keysResult']} */
export const keysResult = async (q) => {
  const g = endKeys(), action = currentAction();
  if (!g) return { got: 0, lost: false };
  const answer = { got: g.got, chars: g.chars, lost: g.lost, by: g.refused && isConnected(g.refused) ? record(g.refused) : null };
  const active = g.lost && hasFocus(page) ? deepActive(null) : null;
  if (!answer.by && active && active !== bodyOf(page) && matches(active, FIELD)) answer.to = record(active);
  if (q && q.compare) answer.compared = await compare(g.boxes, q.compare);
  if (q && q.keep && !g.lost && action === currentAction()) answer.kept = armKeys(g.el);
  if (q && q.settle && !g.lost) answer.settled = await settle({ shown: q.shown });
  return answer;
};

/** @type {import('./functions.js').Functions['contextNow']} */
export const contextNow = (id) => {
  forget();
  const el = node(id);
  return el ? contextOf(el) : null;
};

/** @type {import('./functions.js').ElementFunctions['focusOn']} */
export const focusOn = (el, { keys }) => {
  const framed = roleOf(el) === 'iframe';
  // The focus anew would be the frame's own, and not that of the field in it.
  if (!(framed && hasFocus(page) && deepActive(el) === el)) focus(el, { preventScroll: false });
  const active = deepActive(el);
  const focused = !!active && (active === el || flatContains(el, active));
  return { focused, framed, guarded: keys && focused && !framed && armKeys(el) };
};

// focusEdited puts the caret into a page that is edited as a whole: with the focus of
// its frame alone it has none.
/** @type {import('./functions.js').Functions['focusEdited']} */
export const focusEdited = () => {
  const body = bodyOf(page), active = activeIn(page), s = getSelection();
  if (!body || !editable(body) || active && active !== body) return;
  focus(body, { preventScroll: true });
  if (s && s.rangeCount === 0) s.collapse(body, 0);
};
