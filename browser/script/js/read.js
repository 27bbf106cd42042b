// What is in an element, as text, Markdown, markup or values.

import { checkState } from './choosing.js';
import { contents, controlOf, mask } from './controls.js';
import { attr, bodyOf, documentElementOf, getter, has, hasAny, isContentEditable, localName, matches, queryAll, textContent } from './dom.js';
import { tagOf } from './flat-tree.js';
import { markdown } from './markdown.js';
import { hasGeneratedContent } from './name.js';
import { styleOf } from './node-cache.js';
import { node } from './node-ids.js';
import { forget, page } from './page.js';
import { Out, readUnseen, say } from './read-text.js';
import { allIn } from './refs.js';
import { drawnAsDots } from './secrets.js';
import { fold } from './text.js';
import { rendered, visible } from './visibility.js';

const ASIDE = 'nav,aside,footer,form,dialog,button,input,select,textarea,[role=navigation],[role=complementary],[role=banner],[role=contentinfo],[role=search],[role=dialog],[aria-hidden=true],[hidden]';
const article = () => {
  const size = (e) => fold(textContent(e)).length;
  const body = bodyOf(page) || documentElementOf(page);
  const of = (selector) => [...allIn(page, selector)].filter((e) => rendered(e)).sort((a, b) => size(b) - size(a))[0];
  const main = of('main,[role=main]'), best = of('article,[role=article],[itemprop=articleBody]');
  const whole = size(body);
  let root = body;
  if (main && size(main) > Math.min(200, whole / 4)) root = main;
  if (best && size(best) > Math.max(200, size(root) * 0.4)) root = best;
  return markdown(root, (e) => matches(e, ASIDE) || localName(e) === 'header' && root === body || (localName(e) === 'svg'));
};

const readValue = (el) => {
  const tag = tagOf(el);
  if (tag === 'select') return [...el.selectedOptions].map((o) => fold(attr(o, 'label') || textContent(o))).join('\n');
  const state = checkState(el);
  if (state !== null && !(tag === 'option')) return String(state);
  if (el instanceof HTMLInputElement && el.type === 'file') return [...el.files || []].map((f) => f.name).join('\n');
  if (tag === 'input' || tag === 'textarea') return mask(el, contents(el));
  if (tag === 'option' || tag === 'progress' || tag === 'meter' || tag === 'output' || tag === 'data' || tag === 'li' || tag === 'button') return String(el.value);
  if (el instanceof HTMLElement && isContentEditable(el)) return mask(el, contents(el));
  const inner = controlOf(el, 'field');
  if (inner && inner !== el) return readValue(inner);
  for (const a of ['aria-valuetext', 'aria-valuenow']) if (has(el, a)) return attr(el, a);
  return null;
};

const attributes = (el) => {
  const all = {};
  for (const { name, value: v } of Element.prototype.getAttributeNames.call(el).map((n) => ({ name: n, value: attr(el, n) }))) all[name] = name === 'value' ? mask(el, v) : v;
  return all;
};

// html returns the markup, with the secrets in it masked.
const html = (el) => {
  const of = getter(Element, 'outerHTML');
  let s = of(el);
  for (const e of [el, ...allIn(el, 'input[value]')]) {
    if (!(e instanceof HTMLInputElement) || !attr(e, 'value') || mask(e, attr(e, 'value')) === attr(e, 'value')) continue;
    const shell = of(e.cloneNode(false)), masked = shell.replace(/ value="[^"]*"/, ' value="' + mask(e, 'x') + '"');
    s = s.split(shell).join(masked);
  }
  for (const e of [el, ...allIn(el, 'textarea,[contenteditable]')]) {
    if (!(e instanceof HTMLTextAreaElement || has(e, 'contenteditable')) || !textContent(e) || mask(e, 'x') === 'x') continue;
    s = s.split(of(e)).join(of(e.cloneNode(false)).replace(/(?=<\/)/, mask(e, 'x')));
  }
  return s;
};

// readOf returns one of an element's value, attributes and html, with secrets masked.
export const readOf = (el, kind) => (kind === 'value' ? readValue(el) : kind === 'attrs' ? attributes(el) : html(el));

// drawn returns what a picture of the document may say: its text with what style sheets add to it, and beside
// that what fields hold and what stands for pictures. Of what is drawn as dots nothing, nor of a frame without a size.
// Of a secret that is not drawn as dots it is the text: whoever asks tells nobody.
const drawn = () => {
  const root = documentElementOf(page);
  if (!root || !innerWidth || !innerHeight) return [];
  const pass = (made) => {
    const elements = [], out = new Out(elements, made);
    say(out, root, false);
    return { elements, pieces: out.end() };
  };
  let { elements, pieces } = pass(null);
  const adorned = elements.some(hasGeneratedContent);
  if (adorned) ({ elements, pieces } = pass(madeAt));
  const also = [];
  for (const el of elements) {
    const tag = localName(el);
    if (tag === 'input' || tag === 'textarea') also.push(drawnAsDots(el) ? mask(el, contents(el)) : contents(el));
    if (tag === 'select') for (const o of queryAll(el, 'option,optgroup')) also.push(attr(o, 'label') || textContent(o));
    if (adorned && (tag === 'input' || tag === 'img' || tag === 'select')) also.push(madeAt(el, '::before'), madeAt(el, '::after'));
    if (hasAny(el)) for (const a of SAYING) if (has(el, a)) also.push(attr(el, a));
  }
  return [...pieces, also.join('\n')].filter((p) => p !== '');
};
const SAYING = ['placeholder', 'alt', 'label', 'aria-label', 'aria-valuetext', 'title'];
// madeAt returns what a style sheet puts before or after el (CSS Generated Content 3, 2).
const madeAt = (el, which) => {
  let text = '';
  for (const [part, , name] of styleOf(el, which).content.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(([^\s,)]+)/g)) text += name ? attr(el, name) || '' : part.slice(1, -1).replace(/\\(.)/gs, '$1');
  return text;
};

const answer = (pieces) => ({ pieces: pieces.map((p) => (typeof p === 'string' ? { text: p } : p)) });

/** @type {import('./functions.js').Functions['read']} */
export const read = ({ node: id, kind, attr: name }) => {
  forget();
  const el = id ? node(id) : documentElementOf(page);
  if (!el) return kind === 'drawn' ? answer([]) : { gone: true };
  if (id && !visible(el)) readUnseen(el);
  switch (kind) {
    case 'markdown': return answer(markdown(id ? el : bodyOf(page) || el));
    case 'article': return answer(id ? markdown(el, (e) => e !== el && matches(e, ASIDE)) : article());
    case 'drawn': return answer(drawn());
    case 'html': return answer([html(el)]);
    case 'value': {
      const v = readValue(el);
      return v === null ? { none: true } : answer([v]);
    }
    case 'attrs': {
      const all = attributes(el);
      if (!name) return answer([JSON.stringify(all)]);
      return name.toLowerCase() in all ? answer([all[name.toLowerCase()]]) : { none: true };
    }
  }
  if (id && /^(input|textarea|select)$/.test(tagOf(el))) return answer([readValue(el) || '']);
  const out = new Out();
  say(out, id ? el : bodyOf(page) || el, false);
  return answer(out.end());
};
