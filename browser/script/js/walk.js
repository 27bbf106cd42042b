// A document as the lines that a model is shown, in one pass over its flat tree that
// ends when the budget is full, so that the cost is the budget's and not the page's.
//
// A node that is out of the viewport is not marked offscreen: an action scrolls to it,
// and the mark would change with every scroll. A modal dialog (showModal) makes the
// rest inert, so the rest is left out with a fold that says so; another overlay comes
// first, and what it covers is marked. Inside aria-hidden only such controls are shown
// as would take the click at their middle. What is transparent and lets clicks through
// is left out, controls included.

import { addAppearance } from './appearance.js';
import { ARIA, ARIA_HIDDEN, EDITABLE, INERT, ROLE } from './attributes.js';
import { Budget } from './budget.js';
import { plain } from './capture.js';
import { clickable, CURSORS, listens, OPERABLE, passesCursor } from './clickable.js';
import { Coverage, isCover } from './coverage.js';
import {
  attr, bodyOf, checkVisibility, childNodes, ELEMENT, firstChild, has, localName, matches,
  nextSibling, nodeType, parentNode, query, queryAll, queryAllOf, rectOf, TEXT,
} from './dom.js';
import { editorOf, isPainted } from './editors.js';
import { flatList, flatParent, shadowOf } from './flat-tree.js';
import { stableIdOf } from './identity.js';
import { areasOf, imageOf } from './image-map.js';
import { hiddenFromAX } from './inert.js';
import { foldEarly, MIN_RUN, resolve } from './folds.js';
import { FIELD_TAGS } from './labels.js';
import { containsListener, delegatedAround } from './listeners.js';
import { NAME_MAX, nameFor, optionName } from './name.js';
import { cached, cachedOf, CachedText, styleIn, styleOf } from './node-cache.js';
import { idOf } from './node-ids.js';
import { activeElement } from './overlays.js';
import { page } from './page.js';
import { ATOM, authorName, CONTENT, CONTROL, CONTROLS, GROUP, isHost, kindOf, LANDMARK, PHRASE, roleOf, shownRole } from './role.js';
import { rowOf, rowText } from './row-context.js';
import { attrsOf, ofItsOwn, rowsSaid, sorted, wantedOf } from './shown-attributes.js';
import { shownName } from './shown-name.js';
import { PLAIN, sightOf } from './sight.js';
import { replacementOf, isReplacementFor, styledSelect } from './stand-in.js';
import { statesOf } from './states.js';
import { blank, fold, headOf, withoutGlyphs } from './text.js';
import { valueOf } from './values.js';
import { outOfPlace, VISIBLE, visible } from './visibility.js';
import { INLINE, SPACED, WalkFrame } from './walk-frame.js';
import { descendantOf, inProse, hasLineForLabel, ownsDocument, receivesClick, shownOptions, isInertButVisible } from './walk-parts.js';
import { wordSet } from './word-set.js';

export const SKIPPED = wordSet('script style noscript template head meta link title base source track param col colgroup datalist rp area wbr');

const MAX_COUNT_BELOW_DEPTH = 500; // lines below max_depth that are counted
const BELOW_MAX_DEPTH = -2; // the line of an element that has it below max_depth
const LINE_OVERHEAD_CHARS = 12; // characters of a line beside its strings

// Of a whole page, these are left out where nothing of what they contain is shown.
const DROP_IF_EMPTY = wordSet('paragraph listitem list blockquote definition group figure article emphasis strong code');

const CELL = /^(grid)?cell$|^(column|row)header$/;

// In a walk that shows what can be acted on, these have no line by their tag.
const PLAIN_TAGS = wordSet('div span p li ul ol dl dt dd td th tr tbody thead tfoot b i em strong small u font center br pre blockquote figure figcaption code ' +
  'article caption label legend map body html');

export class Walk extends Budget {
  constructor(o) {
    super(o);
    this.full = !o.interactive;
    this.maxDepth = o.max_depth;
    this.maxText = o.max_text;
    this.wanted = wantedOf(o.attrs || []);
    this.values = (o.attrs || []).includes('value');
    this.dedupe = o.dedupe_text !== false;
    this.contextAt = new Map();
    this.visited = 0;
    this.below = 0; // lines below max_depth, as far as they were looked at
    this.run = ''; // text of the block under way
    this.gap = 0; // characters of text since the last line with a ref
    this.stack = [];
    this.coverage = new Coverage(!o.after);
    this.skip = new Set();
    this.active = activeElement();
    this.descendant = descendantOf(this.active);
    this.scope = null;
    this.last = null; // the element of the last line that has room
    this.labelled = new Map(); // control → its name, of those whose label has been met
    this.whole = !o.scope && !o.selector;
    this.behindOpen = 0; // controls in sight that the page withholds while something is open
  }

  // ---- the pass

  // segment walks the subtree of el, after the node `after` where one is given.
  segment(el, after, depth) {
    const p = flatParent(el);
    const s = p ? styleOf(p) : null;
    const base = new WalkFrame(p ? cachedOf(p) : null, null, s, p ? s.display : '');
    base.depth = depth;
    base.hidden = false;
    base.pointer = p !== null && !passesCursor(base.tag) && CURSORS.has(s.cursor);
    base.inAriaHidden = p !== null && hiddenFromAX(p);
    base.sight = p === null ? PLAIN : sightOf(p);
    base.cut = base.sight.gone;
    base.alpha = base.sight.opacity;
    base.off = p !== null;
    base.delegated = delegatedAround(p);
    if (after) this.resume(el, after, base);
    else this.element(cachedOf(el), base);
    for (const stack = this.stack; stack.length && !this.ended;) {
      if (this.pending || this.naming) resolve(this);
      const f = stack[stack.length - 1];
      const n = f.list === null && !f.resumed ? f.k.child(f.i++) : this.nextInList(f);
      if (n === null) this.leave(f);
      else if (n.el === null) this.text(n, f);
      else {
        if (this.mayFold) foldEarly(this, f, n);
        this.element(n, f);
      }
    }
    if (this.stack.length === 0) this.flush(base);
    if (this.naming || this.kept && this.mayFold) resolve(this, true);
    while (this.stack.length) this.prune(this.stack.pop()); // nobody knows what else is in it
    this.run = '';
  }

  // nextInList returns the next element or text in f, null behind the last one, where they are not read by f.k.
  nextInList(f) {
    for (;;) {
      const n = f.resumed ? f.next : f.list[f.i++];
      if (!n) return null;
      if (f.resumed) f.next = nextSibling(n);
      const type = nodeType(n);
      if (type === ELEMENT) return cached(n, f.k);
      if (type === TEXT) return new CachedText(n);
    }
  }

  // resume enters the elements around `after` without writing them, and goes on
  // behind it: the cost is that of the way down, not of what was shown before.
  resume(top, after, base) {
    const path = [];
    for (let p = after; p && p !== top; p = imageOf(p) || flatParent(p)) {
      if (localName(p) !== 'optgroup' || p === after) path.push(p);
    }
    path.push(top);
    this.silent = true;
    let f = base;
    for (let i = path.length - 1; i >= 0; i--) {
      const before = this.stack.length;
      this.element(f === base ? cachedOf(path[i]) : cached(path[i], f.k), f);
      if (this.stack.length === before) break; // it has no children to go on with
      f = this.stack[before];
      if (i === 0) break;
      if (f.list) f.i = Array.prototype.indexOf.call(f.list, path[i - 1]) + 1;
      else {
        f.resumed = true;
        f.next = nextSibling(path[i - 1]);
      }
    }
    this.silent = false;
  }

  leave(f) {
    this.stack.pop();
    if (this.mayFold && f.children >= MIN_RUN) {
      f.end = this.lines.length;
      this.wide.push(f);
    }
    if (this.run !== '') {
      if (f.block || f.names || f.shown) this.flush(f);
      else if (f.spaced) this.space();
    }
    if (f.line !== -1) this.prune(f);
  }

  prune(f) {
    if (f.line === BELOW_MAX_DEPTH && f.left === this.below) this.rest--;
    if (f.line >= 0 && f.line === this.lines.length - 1 && f.left === this.below) { // nothing in it
      this.unwrite();
      this.nodes--;
    }
  }

  // ---- text

  space() {
    if (this.run) this.run += ' ';
  }

  text(piece, f) {
    if (f.transparent || f.ariaHiddenInSegment || f.textOmitted) return;
    if (!this.full && this.gap > this.maxText) return;
    const data = piece.text();
    if (blank(data)) {
      if (this.run && !f.hides()) this.run += ' ';
      return;
    }
    if (f.names && this.dedupe && data.length <= f.names.length + 20 && f.names.includes(piece.lower())) return;
    if (this.run.length <= NAME_MAX && f.sees(piece.node, data)) this.run += data.length > 3 * NAME_MAX ? headOf(data.trimStart(), NAME_MAX) : data;
  }

  // flush writes the text of the block that ends here as a line.
  flush(f) {
    if (!this.run) return;
    let s = withoutGlyphs(fold(this.run));
    if (s.endsWith(' |')) s = s.replace(/( \|)+$/, '');
    this.run = '';
    if (!s) return;
    if (this.dedupe) {
      if (f.names && f.names.includes(s.toLowerCase())) return;
      // Text outside of f's element repeats the line before only where both are the same to the letter.
      const last = this.lines.length - 1;
      if (last >= 0 && this.depths[last] < 0 && this.said[last] === s && !this.folded[last]) return;
    }
    if (f.depth > this.maxDepth) {
      this.below++;
      if (!this.counting) this.reasons.add('max_depth');
      return;
    }
    if (!this.full) {
      const room = this.maxText - this.gap;
      this.gap += s.length;
      if (s.length > room) {
        if (!this.counting) this.reasons.add('max_text');
        if (room < 2) return;
        s = headOf(s, room - 1).trimEnd() + '\u2026';
      }
    } else if (s.length > this.maxText + 1) s = headOf(s, Math.max(this.maxText + 1, NAME_MAX));
    const chars = 2 * f.depth + s.length + 8;
    if (this.chars + chars > this.maxChars && this.nodes > 0) this.stop('max_chars', true);
    this.chars += chars;
    this.write('0\t' + f.depth + '\t' + s, s, f.depth, chars);
  }

  // ---- elements

  // element looks at an element: writes its line where it has one, and enters it.
  element(k, f) {
    const { el, tag, html } = k;
    k.start = this.lines.length;
    if (html && SKIPPED.has(tag)) {
      if (tag === 'area' && f.tag === 'img') this.area(k, f);
      return;
    }
    if (tag === 'br') { this.space(); return; }
    if (this.skip.size > 0 && this.skip.has(el)) return;
    if (isPainted(el)) return; // the editor's field says what it paints
    this.visited++;
    if (this.counting && --this.counting === 0) { this.counting = 1; this.ended = true; return; }
    if (f.tag === 'select' && (tag === 'option' || tag === 'optgroup')) { this.option(k, f); return; }

    const s = k.css || styleIn(k);
    const display = s.display;
    if (display === 'none') return;
    const child = new WalkFrame(k, f, s, display);
    if (!f.renders(child)) {
      child.hidden = false;
      if (!checkVisibility(el, VISIBLE)) {
        child.hidden = s.visibility !== 'visible';
        child.transparent = f.transparent || parseFloat(s.opacity) === 0;
        if (!child.hidden && !child.transparent && display !== 'contents' && !checkVisibility(el)) return; // content-visibility around it
        if (child.transparent && s.pointerEvents === 'none' && !isReplacementFor(el)) return;
      }
    }
    const bits = child.bits = k.bits < 0 ? k.bitset() : k.bits;
    if (bits & INERT && !this.silent) {
      if (this.whole && isInertButVisible(el, child)) this.behindOpen += queryAll(el, OPERABLE).length + (matches(el, OPERABLE) ? 1 : 0);
      return;
    }
    if (bits & ARIA_HIDDEN && attr(el, 'aria-hidden') === 'true') {
      if (!child.ariaHiddenInSegment) child.behind = this.whole && isInertButVisible(el, child);
      child.inAriaHidden = child.ariaHiddenInSegment = true;
    }
    if (bits & ARIA && attr(el, 'aria-disabled') === 'true') child.off = true;
    child.block = !(child.flow & INLINE);
    child.spaced = (child.flow & SPACED) !== 0;
    if (tag === 'pre' || tag === 'code') child.code = html;
    if (f.code && tag === 'span') { // a token
      child.spaced = false;
      if (f.row()) child.block = false;
    } else if (!this.full && (display === 'table-cell' || child.block && (bits & ROLE && CELL.test(attr(el, 'role')) || f.row()))) {
      child.block = false;
      child.cell = true;
    }

    const what = this.decide(el, child, f) && !child.hides();
    if (this.run !== '') {
      if (what || child.block) this.flush(f);
      else if (child.spaced) this.space();
      else if (child.cell && fold(this.run)) this.run += ' | ';
    }
    if (what) this.show(el, f, child);
    else if (tag === 'label' && html && !child.hides()) this.label(el, f, child);
    else if (tag === 'img' ? html && f.inControl !== null && f.names === '' : bits & ROLE && attr(el, 'role') === 'img') {
      if (!child.ariaHiddenInSegment && !child.hides() && this.picture(el, f)) return;
    }
    if (this.ended) return;
    this.enter(el, child, what);
  }

  // enter puts child on the stack where el has children that are laid out. what: it
  // has a line, or would have one.
  enter(el, child, what) {
    const tag = child.tag;
    if (child.html) {
      switch (tag) {
        case 'input': case 'textarea': case 'iframe': case 'frame': case 'video': case 'audio': case 'canvas':
        case 'embed': case 'progress': case 'meter': case 'hr':
          return;
        case 'img':
          child.list = has(el, 'usemap') ? areasOf(el) : null;
          if (child.list && child.list.length) this.stack.push(child);
          return;
        case 'object':
          if (el.contentWindow) return;
          break;
        case 'select':
          if (!what) return;
          child.list = shownOptions(el, child.role, this.full, el === this.scope);
          if (child.list.length) this.stack.push(child);
          return;
        case 'details':
          if (!el.open && !shadowOf(el)) {
            const s = Array.prototype.find.call(childNodes(el), (k) => nodeType(k) === ELEMENT && localName(k) === 'summary');
            child.list = s ? [s] : [];
            this.stack.push(child);
            return;
          }
      }
    } else if (tag === 'svg' && (what && child.role === 'img' && !this.full || !containsListener.has(el) && !query(el, 'a,text,foreignObject,[tabindex],[onclick],[role]'))) return;
    else if (tag === 'title' || tag === 'desc' || tag === 'defs' || tag === 'metadata') return;
    const root = child.k.shadow();
    if (child.only && tag !== 'slot' && !root) return; // its one text is its name
    if (root !== null || tag === 'slot') child.list = flatList(el, tag, root);
    if (child.list || child.k.child(0)) this.stack.push(child);
    else this.leaf(child);
  }

  // leaf leaves an element that has no children.
  leaf(child) {
    this.stack.push(child);
    this.leave(child);
  }

  // decide tells whether el gets a line, and writes into child as what: its role, and
  // whether it is a control, clicks, is to be pruned or owns a document.
  decide(el, child, f) {
    const { tag, html, bits } = child;
    const plainTag = !bits && !this.full && html && PLAIN_TAGS.has(tag);
    let role = plainTag ? '' : roleOf(el, bits, tag, html);
    if (html && tag === 'input' && el.type === 'hidden') return false;
    if (role === 'iframe') return ownsDocument(el, child);
    const kind = role === '' ? 0 : kindOf(role);
    const control = child.control = (kind & CONTROL) !== 0 || (bits & EDITABLE) !== 0 && html && isHost(el);
    const clicks = child.clicks = !control && clickable(el, tag, child.s, f, bits);
    if (plainTag && clicks) role = roleOf(el, bits, tag, html);
    child.role = role;
    if (child.ariaHiddenInSegment) {
      if (!control && !clicks) return false;
      if (receivesClick(el)) return true;
      if (control && child.behind && !child.hides()) this.behindOpen++;
      return false;
    }
    if (tag === 'select' && control && !this.full && styledSelect(el)) return false; // the widget in its place is shown
    if (control || clicks) return !f.textOmitted || control || listens(el, bits);
    if (isCover(el)) return true; // a refusal names it by this ref
    if (!role || role === 'none' || f.textOmitted) return false;
    if (role === 'heading') return true;
    if (kind & LANDMARK) {
      child.prune = !this.full;
      return role !== 'form' || this.full || authorName(el, bits);
    }
    switch (role) {
      case 'dialog': case 'alertdialog': case 'progressbar': case 'meter': return true;
      case 'alert': case 'status': case 'log': child.prune = !this.full; return true;
      case 'video': case 'audio': return has(el, 'controls') || this.full;
      case 'canvas': return this.full || rectOf(el).width >= 100;
    }
    if (tag === 'tbody' && !authorName(el, bits)) return false; // the parser puts it there
    if (!this.full) {
      if (bits & ARIA && sorted(el, role)) return true;
      child.prune = true;
      if (ofItsOwn(el, role, bits) || bits & ARIA && rowsSaid(el, role)) return true;
      return (kind & GROUP) !== 0 && (authorName(el, bits) || tag === 'fieldset' || tag === 'table' && !!el.caption);
    }
    if (kind & PHRASE && (f.code || child.flow & INLINE && inProse(el, f))) return false;
    child.prune = DROP_IF_EMPTY.has(role) && firstChild(el) !== null;
    return true;
  }

  // label keeps the text of a label from being said again by its control.
  label(el, f, child) {
    const c = this.dedupe && el.control;
    if (!c || c === el || !hasLineForLabel(c)) return;
    this.flush(f);
    const name = nameFor(c, roleOf(c));
    this.labelled.set(c, name);
    child.names = name.toLowerCase();
  }

  // picture adds the name of a picture to the text: of an element with role img in place
  // of its content, and of an <img> inside a control that has no name of its own.
  picture(el, f) {
    const name = f.transparent || f.textOmitted || f.hides() ? '' : nameFor(el, 'img');
    if (!name || !visible(el)) return false;
    this.run += ' ' + name + ' ';
    return true;
  }

  // show writes the line of el and prepares child for what it contains.
  show(el, f, child) {
    const { role, clicks, control } = child;
    const kind = kindOf(role), names = this.dedupe && (clicks || (kind & CONTENT) !== 0);
    child.depth = f.depth + 1;
    child.shown = true;
    const tooDeep = f.depth > this.maxDepth;
    if (tooDeep && this.rest >= MAX_COUNT_BELOW_DEPTH) { this.least = true; this.below++; return; }
    if (control && kind & ATOM || clicks && !role) child.inControl = el;
    if (this.silent) {
      if (child.owner) this.frames.push([0, child.depth, idOf(el)]);
      if (names) child.names = shownName(el, role, clicks, child).toLowerCase();
      if (control && !(kind & ATOM) && isHost(el)) child.textOmitted = true;
      return;
    }
    const written = role === 'heading' || (kind & CONTENT) !== 0, seeable = control || clicks || role === 'heading' || this.full && written;
    const away = seeable && (child.transparent || outOfPlace(el, child.box())); // null: unless it is cut away
    const name = control && this.labelled.get(el) || shownName(el, role, clicks, child);
    const invisible = seeable && (name !== '' || control || clicks) && (away || !child.says(name, written, away === false)) && (!replacementOf(el) || styledSelect(el) !== null) && !(role === 'textbox' && editorOf(el));
    if ((control && !FIELD_TAGS.has(child.tag) || clicks) && !name && invisible && !this.full) { child.names = ''; return; } // nothing to see or say
    if (tooDeep) {
      if (child.owner) this.framesLeft.push(idOf(el));
      this.deep(child.prune && !name ? child : null);
      return;
    }
    this.record(el, role, name, invisible, f.depth, child, f.el);
    if (child.prune && !name) { child.line = this.lines.length - 1; child.left = this.below; }
    if (child.owner) this.frames.push([this.lines.length, child.depth, idOf(el)]);
    child.unseen = invisible;
    if (control && role !== 'button' && child.tag !== 'button' && FIELD_TAGS.has(child.tag)) return;
    if (control && (role === 'textbox' || role === 'searchbox' || child.bits & EDITABLE && isHost(el))) child.textOmitted = true;
    if (role === 'img' && !(this.full && child.tag === 'svg')) child.textOmitted = true; // what it is drawn with; a drawing's labels are text
    if (names && name) {
      child.names = name.toLowerCase();
      child.only = child.k.elementless();
    }
  }

  // deep counts a line below max_depth. f is its frame where the line goes if nothing is in it.
  deep(f) {
    if (!this.counting) this.reasons.add('max_depth');
    this.rest++;
    if (f === null) this.below++;
    else { f.line = BELOW_MAX_DEPTH; f.left = this.below; }
  }

  // removeRepeatedText takes back a text line right before a control that says its name.
  removeRepeatedText(name, f) {
    const last = this.lines.length - 1;
    if (last < 0 || this.depths[last] < 0 || this.said[last] !== name || this.folded[last]) return;
    this.chars -= this.sizes[last];
    this.unwrite();
    for (; f && f.k && f.k.start > last; f = f.up) f.k.start = last;
  }

  // record writes the line of el, whose frame is child. parent is the element around el;
  // null leaves the context out. Of a line that is only counted, nobody reads what it says.
  record(el, role, name, invisible, depth, child, parent) {
    const { clicks, bits, html } = child, operable = clicks || child.control;
    if (this.dedupe && child.control && child.shown) this.removeRepeatedText(name, child);
    const stays = !child.prune || name !== '';
    if (this.nodes >= this.maxNodes) this.stop('max_nodes', stays);
    const covered = operable && !invisible && this.coverage.takesClick(el, child);
    if (this.counting && !this.mayFold) {
      this.write('', name, -1, 0);
      this.nodes++;
      this.gap = 0;
      return;
    }
    const own = html ? child.tag : '', tag = child.tag.toLowerCase();
    const attrs = attrsOf(el, role, name, this.wanted, bits, own);
    if (operable) addAppearance(el, name, clicks, html, attrs);
    child.loading = el === this.coverage.loading;
    const states = statesOf(el, role, child, (el === this.active || el === this.descendant) && el !== bodyOf(page), invisible, covered);
    const value = this.values ? valueOf(el, role, own, bits) : '';
    const context = operable && parent !== null ? this.context(el, parent) : 0;
    const says = shownRole(role);
    let chars = 2 * depth + LINE_OVERHEAD_CHARS + says.length + Math.min(name.length, this.maxText) + Math.max(states.length - 1, 0) + Math.min(value.length, this.maxText);
    const k = child.k, id = k.id || (k.id = idOf(el)), ident = k.ident || (k.ident = stableIdOf(el, bits, tag));
    let line = id + '\t' + depth + '\t' + says + '\t' + name + '\t' + tag + '\t' + states.slice(1) + '\t' + plain(value) + '\t' +
      ident + '\t' + (context || '');
    for (let i = 0; i < attrs.length; i += 2) {
      const v = attrs[i + 1], bare = typeof v === 'number', text = bare ? String(v) : v;
      line += '\t' + attrs[i] + (bare ? '\t#' + text : '\t=' + plain(text));
      chars += 4 + Math.min(attrs[i].length, this.maxText) + Math.min(text.length, this.maxText);
    }
    if (this.chars + chars > this.maxChars && this.nodes > 0) this.stop('max_chars', stays);
    this.write(line, name, -1, chars);
    if (!this.counting) this.last = el;
    this.nodes++;
    this.chars += chars;
    this.gap = 0;
  }

  // context returns the place of el's context among those of this walk, from 1.
  context(el, parent) {
    const row = rowOf(el, parent);
    if (!row) return 0;
    let at = this.contextAt.get(row);
    if (at === undefined) {
      at = this.contexts.push(rowText(row));
      this.contextAt.set(row, at);
    }
    return at;
  }

  // ---- select

  option(k, f) {
    if (this.silent) return;
    const el = k.el;
    const role = roleOf(el) || 'option';
    const depth = f.depth + (this.full && role === 'option' && localName(parentNode(el)) === 'optgroup' ? 1 : 0);
    if (depth > this.maxDepth) { this.deep(null); return; }
    const child = new WalkFrame(k, f, null, '');
    child.bits = k.bitset();
    child.off = f.off || (child.bits & ARIA) !== 0;
    child.control = CONTROLS.has(role);
    this.record(el, role, optionName(el, role, child), f.unseen, depth, child, f.el);
  }

  // area writes the line of an area of the image map that the image of f shows.
  area(k, f) {
    if (this.silent || f.transparent || f.ariaHiddenInSegment || f.hides()) return;
    if (f.depth > this.maxDepth) { this.deep(null); return; }
    this.flush(f);
    const el = k.el, child = new WalkFrame(k, f, null, '');
    child.bits = k.bitset();
    child.off = child.control = true;
    const invisible = outOfPlace(f.el, f.box()) ?? f.cuts();
    this.record(el, 'link', nameFor(el, 'link', child), invisible, f.depth, child, flatParent(el));
  }

  // ---- what is on top

  // behind says that the page behind a modal dialog has been left out.
  behind(dialog) {
    const left = queryAllOf(page, OPERABLE).length - queryAll(dialog, OPERABLE).length;
    if (left > 0) this.lines.push(-left + '\t0\tinert behind the modal dialog; close it to reach them');
  }
}
