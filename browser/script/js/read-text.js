// The text of an element from the live document, through shadow trees and slots as they
// are laid out, without what is not rendered. A frame's place is kept for the daemon to
// fill in.

import { checkVisibility, ELEMENT, localName, nodeType, TEXT, textContent, textData } from './dom.js';
import { flatChildren, flatParent } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { idOf } from './node-ids.js';
import { onForget } from './page.js';
import { drawnAsDots, hidesText } from './secrets.js';
import { blank, fold } from './text.js';
import { MASK } from './values.js';
import { rendered, showsText, transparent, VISIBLE } from './visibility.js';

// A regular expression for the end of a text is tried at each space in it.
const endsInSpace = (s) => /\s/.test(s.charAt(s.length - 1));
// withoutEnd takes spaces and tabs off the end.
const withoutEnd = (s) => {
  let n = s.length;
  while (n > 0 && (s.charCodeAt(n - 1) === 32 || s.charCodeAt(n - 1) === 9)) n--;
  return s.slice(0, n);
};

// Out collects pieces: strings, and {frame} where a frame's content belongs.
// Lines are broken as innerText does: at most as many breaks as were asked
// for, between things that say something.
export class Out {
  // elements takes those that are gone through; made returns what a style sheet puts before or after one.
  constructor(/** @type {Element[] | null} */ elements = null, /** @type {((el: Element, which: string) => string) | null} */ made = null) {
    this.elements = elements;
    this.made = made;
    this.pieces = [];
    this.text = []; // of the piece under way, none of it empty: only its end is looked at
    this.breaks = 0;
  }
  add(s) {
    if (s === '') return;
    if (this.breaks && this.text.length) {
      this.trim();
      this.text.push('\n'.repeat(this.breaks));
    }
    this.breaks = 0;
    this.text.push(s);
  }
  // trim takes spaces off the end.
  trim() {
    while (this.text.length) {
      const last = withoutEnd(this.text.pop());
      if (last) return this.text.push(last);
    }
  }
  // space adds one space between words.
  space() { if (this.text.length && !this.breaks && !endsInSpace(this.text[this.text.length - 1])) this.text.push(' '); }
  br(n) { this.breaks = Math.max(this.breaks, n); }
  frame(id) {
    this.pieces.push(this.text.join('').trimEnd(), { frame: id });
    this.text = [];
    this.breaks = 0;
  }
  end() {
    const s = withoutEnd(this.text.join(''));
    this.pieces.push(/[ \t][\n\r\u2028\u2029]/.test(s) ? s.replace(/[ \t]+$/gm, '') : s);
    return this.pieces.filter((p) => p !== '');
  }
}

export const SKIPPED_TAGS = new Set(['script', 'style', 'noscript', 'template', 'head', 'meta', 'link', 'title', 'datalist', 'audio', 'video', 'canvas', 'object', 'embed', 'param', 'source', 'track', 'option', 'optgroup']);
export const FRAME_TAGS = new Set(['iframe', 'frame']);
export const BLOCK = /^(block|flex|grid|table|list-item|flow-root|table-row|table-row-group|table-header-group|table-footer-group|table-caption|-webkit-box)$/;
export const isSilent = (el) => SKIPPED_TAGS.has(localName(el)) || !laidOut(el) || transparent(el);
// What is visibility:hidden says nothing itself, and may hold what is visible.
export const laidOut = (el) => rendered(el) || checkVisibility(el);
export const isNotRendered = (el) => !rendered(el);
export const childElements = (el) => flatChildren(el).filter((k) => nodeType(k) === ELEMENT);

let asked = null; // what was asked for where nobody sees it; of one question
onForget(() => { asked = null; });

// readUnseen has the text in el read although nobody sees el: who asks for it was told.
export const readUnseen = (el) => { asked = el; };

// seenText returns what a text says to a person: the text, or nothing but the space in it.
export const seenText = (n, p = flatParent(n)) => {
  const s = textData(n);
  return blank(s) || p === null || asked !== null || showsText(p, n) ? s : ' ';
};

// wholeText returns the text of n as it is written, of what a person sees.
export const wholeText = (n) => {
  if (nodeType(n) === TEXT) return seenText(n);
  if (nodeType(n) !== ELEMENT || isSilent(n)) return '';
  return flatChildren(n).map((k) => (nodeType(k) === TEXT && isNotRendered(n) ? '' : wholeText(k))).join('');
};

// say adds what n says, which stands in p.
export const say = (out, n, pre, p) => {
  if (nodeType(n) === TEXT) {
    const s = seenText(n, p);
    if (pre) return out.add(s);
    if (/^\s/.test(s)) out.space();
    const words = fold(s);
    out.add(words);
    if (words && endsInSpace(s)) out.space();
    return;
  }
  if (nodeType(n) !== ELEMENT || SKIPPED_TAGS.has(localName(n))) return;
  if (!checkVisibility(n, VISIBLE)) { // one question for most elements
    if (isSilent(n)) return;
    if (isNotRendered(n)) {
      for (const k of childElements(n)) say(out, k, false, n);
      return;
    }
  }
  if (out.elements) out.elements.push(n);
  if (hidesText(n) && (!out.elements || drawnAsDots(n))) return out.add(MASK);
  const tag = localName(n);
  if (FRAME_TAGS.has(tag)) return out.frame(idOf(n));
  if (tag === 'br') return out.br(Math.min(2, out.breaks + 1));
  if (tag === 'select') return out.add([...n.selectedOptions].map((o) => fold(textContent(o))).join(', '));
  if (tag === 'input' || tag === 'textarea') return;
  if (tag === 'img') return;
  const style = styleOf(n), display = style.display, block = BLOCK.test(display);
  const gap = tag === 'p' || /^h[1-6]$/.test(tag) || tag === 'pre' || tag === 'blockquote' || tag === 'ul' || tag === 'ol' || tag === 'table' ? 2 : 1;
  if (display === 'table-cell' && flatParent(n) && flatChildren(flatParent(n)).find((c) => nodeType(c) === ELEMENT) !== n) out.add('\t');
  if (block) out.br(gap);
  const keeps = /^(pre|pre-wrap|pre-line|break-spaces)$/.test(style.whiteSpace);
  if (out.made) out.add(out.made(n, '::before'));
  for (const c of flatChildren(n)) say(out, c, keeps, n);
  if (out.made) out.add(out.made(n, '::after'));
  if (block) out.br(gap);
};
