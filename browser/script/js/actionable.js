// Where an element can be hit, and what keeps a person from acting on it.

import {
  activeOf, activeOfTree, animationsOf, atPoint, attr, bodyOf, checkVisibility, closest, contains, documentElementOf, ELEMENT, getRootNode, getter, has,
  isConnected, isContentEditable, localName, matches, nextElementSibling, nodeType, query, rectOf, rectsOf, TEXT, textContent, textData,
} from './dom.js';
import { editorOf } from './editors.js';
import { flatChildren, flatContains, flatParent, shadowOf } from './flat-tree.js';
import { imageOf } from './image-map.js';
import { inertNow } from './inert.js';
import { cutName, joinParts } from './name.js';
import { styleOf } from './node-cache.js';
import { onTop } from './overlays.js';
import { page } from './page.js';
import { allIn, record } from './refs.js';
import { roleOf } from './role.js';
import { shownText } from './shown-name.js';
import { blank, fold } from './text.js';
import { rendered, unseen } from './visibility.js';
import { opened } from './walk-parts.js';

export const inputType = getter(HTMLInputElement, 'type');
export const activeIn = (root) => (root instanceof Document ? activeOf : activeOfTree)(root);

// isDisabled reports HTML's disabled state, with fieldsets and option groups, and ARIA's,
// which applies to descendants too (WAI-ARIA 1.2, aria-disabled).
export const isDisabled = (el) => {
  if (matches(el, ':disabled')) return true;
  for (let e = el; e; e = flatParent(e)) if (attr(e, 'aria-disabled') === 'true') return true;
  return !!closest(el, '[inert]');
};

const TEXT_TYPES = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number', 'date', 'time', 'week', 'month', 'datetime-local']);
const readonly = (el) => {
  if (localName(el) === 'textarea' || el instanceof HTMLInputElement && TEXT_TYPES.has(inputType(el))) return has(el, 'readonly');
  return attr(el, 'aria-readonly') === 'true' && !(el instanceof HTMLElement && isContentEditable(el));
};

// PAINT are animated properties that move nothing.
const PAINT = /^(opacity|color|background.*|box-?[sS]hadow|border.*[cC]olor|outline.*|filter|backdrop-?[fF]ilter|visibility|text-?[sS]hadow|text-?[dD]ecoration.*|fill|stroke.*|caret-?[cC]olor|offset|computedOffset|easing|composite|accent-?[cC]olor)$/;

// moving returns the animations that may move the element now; endless ones apart.
export const moving = (el) => {
  const finite = [], endless = [];
  for (let e = el; e; e = flatParent(e)) {
    for (const a of animationsOf(e)) {
      if (a.playState !== 'running' || !a.effect) continue;
      let moves = true;
      try {
        moves = a.effect.getKeyframes().some((k) => Object.keys(k).some((p) => !PAINT.test(p)));
      } catch { /* an effect without keyframes: take it as one that moves */ }
      if (!moves) continue;
      const end = a.effect.getComputedTiming().endTime;
      (end === Infinity ? endless : finite).push(a);
    }
  }
  return { finite, endless };
};

export const boxKey = (el) => {
  const b = rectOf(el);
  return b.left + ',' + b.top + ',' + b.width + ',' + b.height;
};

// boxesOf returns the places on which the element can be hit: its boxes, one per
// line for inline text; those of its text if it has none of its own; those
// of what is in it where they are empty.
export const boxesOf = (el) => {
  if (localName(el) === 'area') return areaBoxes(el);
  let list = [...rectsOf(el)].filter((r) => r.width > 0 && r.height > 0);
  if (list.length) return list;
  const style = styleOf(el);
  if (style.display === 'contents' || rectsOf(el).length) {
    const visit = (n) => {
      for (const c of flatChildren(n)) {
        if (list.length > 20) return;
        if (nodeType(c) === TEXT) {
          const range = new Range();
          range.selectNodeContents(c);
          list.push(...[...range.getClientRects()].filter((r) => r.width > 0 && r.height > 0));
        } else if (nodeType(c) === ELEMENT) {
          const rects = [...rectsOf(c)].filter((r) => r.width > 0 && r.height > 0);
          if (rects.length && checkVisibility(c, { visibilityProperty: true })) list.push(...rects);
          else visit(c);
        }
      }
    };
    visit(el);
  }
  return list;
};

// areaBoxes returns the box of an image map's area, in its image.
const areaBoxes = (el) => {
  const img = imageOf(el);
  if (!img) return [];
  const r = rectOf(img), style = styleOf(img), scale = img.offsetWidth ? r.width / img.offsetWidth : 1;
  const b = new DOMRect(r.left + (img.clientLeft + parseFloat(style.paddingLeft)) * scale, r.top + (img.clientTop + parseFloat(style.paddingTop)) * scale, r.width, r.height);
  const n = (attr(el, 'coords') || '').split(/[\s,]+/).map((x) => Number(x) * scale);
  const shape = (attr(el, 'shape') || 'rect').toLowerCase();
  if (shape === 'default') return [r];
  if (shape.startsWith('circ')) return [new DOMRect(b.left + n[0] - n[2] * 0.7, b.top + n[1] - n[2] * 0.7, n[2] * 1.4, n[2] * 1.4)];
  const xs = n.filter((_, i) => i % 2 === 0), ys = n.filter((_, i) => i % 2 === 1);
  const x = Math.min(...xs), y = Math.min(...ys);
  return [new DOMRect(b.left + x, b.top + y, Math.max(...xs) - x, Math.max(...ys) - y)];
};

// elementUnder returns the innermost element at a point, through shadow roots. Those that
// contain el are entered even if they are closed.
export const elementUnder = (x, y, el) => {
  let hit = atPoint(page, x, y);
  const roots = new Map();
  for (let r = el && getRootNode(el); r instanceof ShadowRoot; r = getRootNode(r.host)) roots.set(r.host, r);
  for (let depth = 0; hit && depth < 64; depth++) {
    const root = roots.get(hit) || shadowOf(hit);
    const inner = root && root.elementFromPoint(x, y);
    if (!inner || inner === hit || getRootNode(inner) !== root) break;
    hit = inner;
  }
  return hit;
};

const CONTROL_SELECTOR = 'a[href],button,input:not([type=hidden]),select,textarea,summary,[contenteditable=""],[contenteditable=true],[role=button],[role=link],[role=checkbox],[role=switch],[role=radio],[role=tab],[role=menuitem],[role=option]';

// labelList returns the labels of a control.
const labelList = (el) => {
  const list = el.labels instanceof NodeList ? [...el.labels] : [];
  return list.filter((l) => l instanceof Element);
};

// acceptsInput reports whether input that lands on hit is input to el, as a person would
// see it: el itself and what is in it; its label, unless on another control in
// there; the styled twin that stands for a hidden control.
export const acceptsInput = (hit, el, { labels = labelList(el), twins = replacementsOf(el) } = {}) => {
  if (!hit) return false;
  if (flatContains(el, hit)) return true;
  for (const label of labels) if (flatContains(label, hit) && !between(hit, label, el)) return true;
  for (const twin of twins) if (flatContains(twin, hit) && !between(hit, twin, el)) return true;
  // The button or link that the element is a part of, where the element itself
  // takes no pointer events.
  if (flatContains(hit, el) && styleOf(el).pointerEvents === 'none') {
    if (matches(hit, CONTROL_SELECTOR)) return true;
    const box = closest(hit, '[role=combobox]'); // which passes its clicks to its field
    if (box && flatContains(box, el)) return true;
  }
  // A closed shadow tree shows only its host.
  const root = getRootNode(el);
  return root instanceof ShadowRoot && root.mode === 'closed' && root.host === hit;
};

// between reports whether another control than el lies between hit and box, which
// it is in: a link in a label is not the label.
const between = (hit, box, el) => {
  for (let e = hit; e && e !== box; e = flatParent(e)) if (e !== el && matches(e, CONTROL_SELECTOR)) return true;
  return false;
};

export const CHOICE = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);
const isNative = (el) => el instanceof HTMLInputElement || el instanceof HTMLSelectElement || el instanceof HTMLTextAreaElement;
const isChoice = (el) => isNative(el) || CHOICE.has(roleOf(el));
const GROUP_SELECTOR = 'form,main,section,article,li,td,th,tr,table,ul,ol,fieldset,dialog,body,[role=dialog],[role=group],[role=radiogroup]';

// replacementsOf returns what was drawn in place of a control that cannot be hit itself
// (transparent, clipped, under its own decoration), the nearest first: what
// follows a select, and the boxes around the control that hold no other one.
export const replacementsOf = (el) => {
  const list = [], editor = editorOf(el);
  if (editor) return [editor.box];
  if (!isChoice(el)) return list;
  if (el instanceof HTMLSelectElement) {
    const next = nextElementSibling(el);
    if (next && !matches(next, 'select,input,textarea,button,a[href],label,option') && boxesOf(next).length) list.push(next);
  }
  for (let e = flatParent(el), depth = 0; e && depth < 4 && !matches(e, GROUP_SELECTOR); e = flatParent(e), depth++) {
    for (const o of allIn(e, CONTROL_SELECTOR + ',[tabindex]:not([tabindex^="-"])')) if (o !== el && !contains(el, o) && !contains(o, el) && rendered(o) && attr(o, 'aria-hidden') !== 'true') return list;
    const b = rectOf(e);
    if (b.height > 160 && !(el instanceof HTMLTextAreaElement)) return list;
    if (b.width >= 8 && b.height >= 8) list.push(e);
  }
  return list;
};

// pointsIn returns the points of a box to try, the middle first.
const pointsIn = (r) => {
  const l = Math.max(r.left, 0), t = Math.max(r.top, 0), w = Math.min(r.right, innerWidth) - l, h = Math.min(r.bottom, innerHeight) - t;
  if (w <= 0 || h <= 0) return [];
  const at = (fx, fy) => [l + w * fx, t + h * fy];
  if (w < 3 && h < 3) return [at(0.5, 0.5)];
  return [[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.25], [0.5, 0.75], [0.25, 0.25], [0.75, 0.75], [0.75, 0.25], [0.25, 0.75], [0.05, 0.5], [0.95, 0.5], [0.5, 0.05], [0.5, 0.95], [0.05, 0.05], [0.95, 0.95], [0.95, 0.05], [0.05, 0.95]].map(([x, y]) => at(x, y));
};

// aim looks for a point in the viewport at which el is hit. It answers {x, y,
// hit}, or {by}: what is hit at its middle instead, or {} where no part of it
// is in the viewport.
export const aim = (el) => {
  const answer = {}, labels = labelList(el).filter(rendered);
  let twins = []; // costs a search: only where the element itself is not hit
  const tryBoxes = (boxes) => {
    for (const r of boxes.slice(0, 12)) {
      for (const [x, y] of pointsIn(r)) {
        const hit = elementUnder(x, y, el);
        if (acceptsInput(hit, el, { labels, twins })) return { x, y, hit };
        if (!answer.by && hit) answer.by = hit;
      }
    }
    return null;
  };
  let at = tryBoxes(boxesOf(el));
  if (at) return at;
  for (const label of labels) if ((at = tryBoxes(boxesOf(label)))) return at;
  twins = replacementsOf(el);
  for (const box of twins.length ? [el, ...twins] : []) if ((at = tryBoxes(boxesOf(box)))) return at;
  return answer;
};

export const ALIGN = ['center', 'start', 'end', 'nearest'];

// findPoint finds a point, scrolling where it must. Every scroller around the
// element is moved, at once, and other alignments are tried where something
// that does not scroll lies over it.
const findPoint = (el) => {
  let first = aim(el);
  if (first.hit) return first;
  const target = boxesOf(el).length ? el : labelList(el).find(rendered) || replacementsOf(el)[0] || el;
  for (const block of ALIGN) {
    scrollTo(target, block);
    const at = aim(el);
    if (at.hit) return at;
    if (at.by && (!first.by || first.by === documentElementOf(page))) first = at;
  }
  return first;
};

// scrollTo brings el into view in every scroller that it stands in.
export const scrollTo = (el, block) => {
  const img = imageOf(el);
  if (img) {
    scrollTo(img, block);
    const r = areaBoxes(el)[0]; // of an image larger than the viewport
    if (r && (r.top < 0 || r.left < 0 || r.bottom > innerHeight || r.right > innerWidth)) {
      window.scrollBy({ left: r.left + (r.width - innerWidth) / 2, top: r.top + (r.height - innerHeight) / 2, behavior: 'instant' });
    }
    return;
  }
  if (styleOf(el).display === 'contents') {
    const child = [...flatChildren(el)].find((c) => nodeType(c) === ELEMENT ? rectsOf(c).length : fold(textData(c)));
    if (child && nodeType(child) === ELEMENT) el = child;
    else if (child) {
      // Text without a box of its own: its place is where a range says.
      const range = new Range();
      range.selectNodeContents(child);
      const r = range.getBoundingClientRect();
      window.scrollBy({ left: 0, top: r.top - innerHeight / 2, behavior: 'instant' });
      return;
    }
  }
  Element.prototype.scrollIntoView.call(el, { block, inline: block === 'start' ? 'start' : block === 'end' ? 'end' : 'center', behavior: 'instant' });
};

// obstacle returns why el cannot be acted on now, as {reason}, or what an action needs.
export const obstacle = (el, want) => {
  if (!isConnected(el)) return { reason: 'detached' };
  if (want.enabled && isDisabled(el)) return inertNow(el) ? blockedByPopup(el, 'inert') : { reason: 'disabled' };
  if (want.editable && readonly(el)) return { reason: 'readonly' };
  if (want.hit || want.touch) {
    const at = findPoint(el);
    if (at.hit) return { at };
    // A field that nobody could see (an editor's own) is typed into by its focus.
    if (want.touch && rendered(el) && unseen(el)) return {};
    const place = boxesOf(el).length > 0 || labelList(el).some((l) => rendered(l) && boxesOf(l).length) || replacementsOf(el).length > 0;
    if (!place || !shown(el)) return { reason: 'hidden' };
    if (at.by && flatContains(at.by, el)) {
      const modal = allIn(page, 'dialog:modal');
      if (modal.length) return { reason: 'covered', by: modal[modal.length - 1] };
      // Its ancestor is hit in its place: it takes no input, or is clipped away.
      return hasNoPointerEvents(el) ? blockedByPopup(el, 'pointer-events: none') : { reason: 'hidden', because: 'clipped' };
    }
    if (!at.by) {
      const modal = allIn(page, 'dialog:modal');
      if (modal.length) return { reason: 'covered', by: modal[modal.length - 1] };
      return { reason: 'hidden', because: 'out of reach' };
    }
    return { reason: 'covered', by: coverOf(at.by) };
  }
  if (want.visible && (!shown(el) || !boxesOf(el).length)) return { reason: 'hidden' };
  return {};
};

// shown: not hidden by display, visibility or content-visibility, or else
// stood for by a label or a twin.
const shown = (el) => rendered(el) && styleOf(el).visibility === 'visible' || isChoice(el) && (labelList(el).some(rendered) || replacementsOf(el).length > 0);
const hasNoPointerEvents = (el) => {
  for (let e = el; e; e = flatParent(e)) if (styleOf(e).pointerEvents === 'none') return true;
  return false;
};

const DIALOGS = 'dialog,[role=dialog],[role=alertdialog]';

// blockedByPopup returns why el, which the page made inert, cannot be acted on: it is covered by the
// open menu, list or dialog that has the focus, if el is not in that; otherwise it is disabled.
const blockedByPopup = (el, because) => {
  const by = opened();
  return by && !flatContains(by, el) ? { reason: 'covered', by, because } : { reason: 'disabled', because };
};

// coverOf returns what to call the thing that was hit: the nearest thing around it
// with a role or a name, else the dialog that it lies around, or behind which it
// lies as its backdrop.
export const coverOf = (hit) => {
  for (let e = hit; e && e !== bodyOf(page) && e !== documentElementOf(page); e = flatParent(e)) {
    const role = roleOf(e);
    if (role && role !== 'generic' && role !== 'none' && role !== 'presentation' || has(e, 'aria-label') || has(e, 'id') || matches(e, 'dialog')) return e;
  }
  const inside = query(hit, DIALOGS);
  if (inside && shown(inside)) return inside;
  return blank(textContent(hit)) && onTop().tops.find((t) => matches(t, DIALOGS)) || hit;
};

// cover returns the record of what lies over something, with what it says where it has
// no name: it is to be recognised by whoever was shown neither.
export const cover = (el) => {
  const r = record(el);
  if (!r.name && el !== bodyOf(page) && el !== documentElementOf(page)) r.says = cutName(joinParts(shownText(el)));
  return r;
};
