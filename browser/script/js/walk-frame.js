// What a walk keeps of an element that it is in.
//
// Each question to Blink has its price, and one asked in a bad order a higher one: a
// name or the style of a pseudo-element makes the next box cost four times as much,
// and the next style little more. So each fact below is asked for where it first
// matters, and once; what follows from the facts of the parent is not asked for; and
// boxes are measured before names are asked for.

import { checkVisibility } from './dom.js';
import { hiddenFromAX } from './inert.js';
import { anyDelegated, delegatedBy } from './listeners.js';
import { CachedElement, styleOf } from './node-cache.js';
import { isClippedOut, mayBeLegible, FAINT, isLegible, sightIn } from './sight.js';
import { measure, saysUnseen, textShows } from './visibility.js';

// What follows from a display: whether an element is part of a line of text, with
// space around it, and whether it has no box in which what is in it would be.
export const INLINE = 1, SPACED = 2, BOXLESS = 4;
const flows = new Map();

function flowOf(display) {
  let flow = flows.get(display);
  if (flow === undefined) {
    const contents = display === 'contents';
    flow = contents || display.startsWith('inline') || display.startsWith('ruby') ? INLINE : 0;
    if (flow && !contents && display !== 'inline') flow |= SPACED;
    if (contents || display.startsWith('table-column')) flow |= BOXLESS;
    flows.set(display, flow);
  }
  return flow;
}

export class WalkFrame {
  // k caches what was read of the element; up is the frame of its flat parent, null for
  // none; s is its computed style, null where no caller needs it.
  constructor(k, up, s, display) {
    this.k = k;
    this.el = k === null ? null : k.el;
    this.tag = k === null ? '' : k.tag;
    this.html = k !== null && k.html; // it is of HTML
    this.up = up;
    this.s = s;
    this.display = display;
    this.flow = flows.get(display) ?? flowOf(display);
    this.bits = 0; // of its attributes
    this.role = '';
    this.control = false; // it is one by its role, or is written in
    this.clicks = false; // it is one by what it does
    this.prune = false; // its line goes where nothing is in it
    this.owner = false; // another document stands in it
    this.list = null; // its children where they are others than those of k,
    this.i = 0; // and which is the next
    this.next = null; // where the walk goes on in the middle, that one itself
    this.resumed = false;
    this.depth = up === null ? 0 : up.depth;
    this.ariaHiddenInSegment = up !== null && up.ariaHiddenInSegment; // aria-hidden is on it or on an element that this walk has entered
    this.behind = up !== null && up.behind; // in what the page withholds while something is open
    this.inAriaHidden = up !== null && up.inAriaHidden; // aria-hidden is on it or on any element around it
    this.transparent = up !== null && up.transparent; // its opacity is 0, or that of an element around it
    this.off = up !== null && up.off; // aria-disabled is on it or around it
    this.textOmitted = up !== null && up.textOmitted; // its text belongs to a control around it
    this.names = up === null ? '' : up.names; // what its text need not say again
    this.inControl = up === null ? null : up.inControl;
    this.only = false;
    this.unseen = false; // it is marked invisible
    this.loading = false; // it is a loading screen over the whole page
    this.beside = undefined;
    this.delegated = up === null || !anyDelegated || up.clicks && (up.role === 'row' || up.tag === 'tr' || up.tag === 'li') ? 0 : up.delegated | delegatedBy(up.el); // what elements around it listen for on its behalf; 0 in a row, whose own line says so
    this.code = up !== null && up.code; // in a program's text
    this.block = false;
    this.spaced = false;
    this.cell = false;
    this.shown = false; // it has a line
    this.line = -1; // the line to take back where nothing is in it
    this.left = 0;
    this.children = 0; // elements in it that the walk has come to,
    this.nodesBefore = 0; // and what had been written before the last of them
    this.charsBefore = 0;
    this.end = -1; // how many lines the walk had written when it left it
    this.pointer = undefined;
    this.forItems = undefined;
    this.seen = undefined;
    this.prose = undefined;
    this.hidden = undefined;
    this.cut = undefined;
    this.alpha = up === null ? 1 : up.alpha; // its opacity and that of what is around it
    this.own = ''; // its own, as its style has it
    this.sight = null; // how what is in it is painted
    this.rect = null; // its box, where it has been measured
    this.skips = undefined;
    this.locked = undefined;
  }

  // row tells whether what is in el stands side by side, as cells do.
  row() {
    if (this.beside === undefined) this.beside = (this.display === 'flex' || this.display === 'inline-flex') && this.s !== null && this.s.flexDirection.startsWith('row');
    return this.beside;
  }

  // hides tells whether el is visibility:hidden.
  hides() {
    if (this.hidden === undefined) this.hidden = this.s !== null && this.s.visibility !== 'visible';
    return this.hidden;
  }

  // skipsContents tells whether content-visibility keeps what is in el from being
  // rendered.
  skipsContents() {
    if (this.skips === undefined) this.skips = this.s.contentVisibility === 'hidden';
    return this.skips;
  }

  // cuts tells whether el is cut away, by its own style or by what is around it, or all
  // but transparent. Then its sight is gone.
  cuts() {
    if (this.cut === undefined) this.cut = (this.sight === null || this.sight.gone) && (this.alpha < FAINT || this.up.cuts() || this.tag !== 'html' && this.tag !== 'body' && isClippedOut(this.el, this.s, this.display));
    return this.cut;
  }

  // box returns the box of el. Nothing moves during a walk, so it is measured once.
  box() {
    return this.rect || (this.rect = measure(this.el));
  }

  // look returns how what is in el is painted.
  look() {
    if (this.sight === null) this.sight = sightIn(this.up.look(), this.el, this.s, this.display, this.tag, this);
    return this.sight;
  }

  // mayHideText tells whether the text in el may be out of sight although its box is not.
  mayHideText() {
    return this.s.textIndent !== '0px' || !isLegible(this.el, this.s, this.look(), this.tag);
  }

  // locks tells whether more than its own style decides if a child of el is
  // rendered.
  locks() {
    if (this.locked === undefined) {
      this.locked = this.el === null || this.tag === 'object' || this.tag === 'details' || !this.html || (this.flow & BOXLESS) !== 0 ||
        this.skipsContents() || this.up === null && !checkVisibility(this.el);
    }
    return this.locked;
  }

  // renders tells whether the element of child, in el, is plainly rendered and not
  // transparent: what checkVisibility says but for visibility, which costs several
  // times as much. False leaves it to that. It notes how transparent child is.
  renders(child) {
    if (!child.html || this.transparent || (child.flow & BOXLESS) !== 0 || (this.locked ?? this.locks())) return false;
    const opacity = child.own = child.s.opacity;
    if (opacity !== '1') child.alpha *= parseFloat(opacity);
    return opacity !== '0';
  }

  opacity() {
    return this.own || (this.own = this.s.opacity);
  }

  // sees tells whether a person could see the text n right in el, which is data. How it is
  // painted is asked for once and, where it was seen, again when it says something else:
  // that costs a third of a walk.
  sees(n, data) {
    if (this.seen === undefined) {
      const before = seenText.get(n) === data;
      this.seen = this.checksText(n, before);
      if (this.seen && !before) seenText.set(n, data);
    }
    return this.seen;
  }

  // What is inline in a block whose text is seen needs no box of its own looked at.
  checksText(n, before) {
    const s = this.s;
    if (this.hides() || this.skipsContents() || !(before ? mayBeLegible(s) : isLegible(this.el, s, this.look(), this.tag))) return false;
    if (before && this.display === 'inline' && this.up !== null && this.up.seen) {
      const position = s.position;
      if (position === 'static' || position === 'relative') return true;
    }
    return !this.cuts() && textShows(this.el, n, s, this.sight, this.box());
  }

  // says tells whether the name of el, which is shown by its text, is seen; as sees does. placed: the box of el says so.
  says(name, written, placed) {
    if (seenText.get(this.el) === name) return placed || !this.cuts();
    if (this.look().gone || written && (this.role === 'heading' || this.mayHideText()) && saysUnseen(this.el)) return false;
    seenText.set(this.el, name);
    return true;
  }
}

const seenText = new WeakMap(); // text or element → what it said when it was seen

// frameOf returns a frame for el alone, for callers outside of a walk.
export function frameOf(el) {
  const k = new CachedElement(el).begin(null), f = new WalkFrame(k, null, styleOf(el), '');
  f.bits = k.bitset();
  f.inAriaHidden = hiddenFromAX(el);
  f.off = true;
  return f;
}
