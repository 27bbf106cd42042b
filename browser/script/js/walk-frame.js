// What a walk keeps of an element that it is in.
//
// Each question to Blink has its price, and one asked in a bad order a higher one: a
// name or the style of a pseudo-element makes the next box cost four times as much,
// and the next style little more. So each fact below is asked for where it first
// matters, and once; what follows from the facts of the parent is not asked for; and
// boxes are measured before names are asked for.

import { checkVisibility } from './dom.js';
import { hiddenFromAX } from './inert.js';
import { meantBy } from './listeners.js';
import { CachedElement, styleOf } from './node-cache.js';
import { cutAway, drawn, FAINT, inked, sightIn } from './sight.js';
import { saysUnseen, textShows } from './visibility.js';

// Each question to Blink has its price, and one asked in a bad order a higher
// one: a name or the style of a pseudo-element leaves something behind that makes
// the next box cost four times as much, and the next style little more. So the
// facts below are asked for where they first matter, and once; what follows from
// the facts of the element around is not asked for; and boxes are measured before
// names are asked for.

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
  // k is what is known of el, up the frame of what is around it, null for none; s the
  // style of el, null where nobody will ask.
  constructor(k, up, s, display) {
    this.k = k;
    this.el = k === null ? null : k.el;
    this.tag = k === null ? '' : k.tag;
    this.html = k !== null && k.html; // it is of HTML
    this.up = up;
    this.s = s;
    this.display = display;
    this.flow = flowOf(display);
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
    this.dark = up !== null && up.dark; // in aria-hidden, as far as the walk has come
    this.behind = up !== null && up.behind; // in what the page withholds while something is open
    this.inAriaHidden = up !== null && up.inAriaHidden; // in aria-hidden at all
    this.clear = up !== null && up.clear; // transparent
    this.off = up !== null && up.off; // aria-disabled is on it or around it
    this.textOmitted = up !== null && up.textOmitted; // its text belongs to a control around it
    this.names = up === null ? '' : up.names; // what its text need not say again
    this.inControl = up === null ? null : up.inControl;
    this.only = false;
    this.unseen = false; // it is marked invisible
    this.beside = undefined;
    this.meant = up === null || up.clicks && (up.role === 'row' || up.tag === 'tr' || up.tag === 'li') ? 0 : up.meant | meantBy(up.el); // what is listened for on its behalf, unless the line of a row says so
    this.code = up !== null && up.code; // in a program's text
    this.block = false;
    this.spaced = false;
    this.cell = false;
    this.shown = false; // it has a line
    this.line = -1; // the line to take back where nothing is in it
    this.left = 0;
    this.pointer = undefined;
    this.forItems = undefined;
    this.seen = undefined;
    this.prose = undefined;
    this.hidden = undefined;
    this.cut = undefined;
    this.alpha = up === null ? 1 : up.alpha; // its opacity
    this.sight = null; // how what is in it is painted
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
  // but transparent.
  cuts() {
    if (this.cut === undefined) this.cut = this.alpha < FAINT || this.up.cuts() || this.tag !== 'html' && this.tag !== 'body' && cutAway(this.el, this.s, this.display);
    return this.cut;
  }

  // look returns how what is in el is painted.
  look() {
    if (this.sight === null) this.sight = sightIn(this.up.look(), this.el, this.s, this.display, this.tag);
    return this.sight;
  }

  // veils tells whether the text in el may be out of sight although its box is not.
  veils() {
    return this.s.textIndent !== '0px' || !inked(this.el, this.s, this.look());
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
  // times as much. False leaves it to that.
  renders(child) {
    return child.html && !this.clear && !(child.flow & BOXLESS) && !this.locks() && this.fades(child);
  }

  // fades tells whether the element of child is not wholly transparent, and notes how much
  // it is.
  fades(child) {
    const opacity = child.s.opacity;
    if (opacity !== '1') child.alpha *= parseFloat(opacity);
    return opacity !== '0';
  }

  // sees tells whether a person could see the text n right in el, which is data. How it is
  // painted is asked for once and, where it was seen, again when it says something else:
  // that costs a third of a walk.
  sees(n, data) {
    if (this.seen === undefined) {
      const before = told.get(n) === data;
      this.seen = this.checksText(n, before);
      if (this.seen && !before) told.set(n, data);
    }
    return this.seen;
  }

  // What is inline in a block whose text is seen needs no box of its own looked at.
  checksText(n, before) {
    const s = this.s;
    if (this.hides() || this.skipsContents() || !(before ? drawn(s) : inked(this.el, s, this.look()))) return false;
    if (before && this.display === 'inline' && this.up !== null && this.up.seen) {
      const position = s.position;
      if (position === 'static' || position === 'relative') return true;
    }
    return !this.cuts() && textShows(this.el, n, s, this.sight);
  }

  // says tells whether the name of el, which is shown by its text, is seen; as sees does.
  says(name, written) {
    if (told.get(this.el) === name) return true;
    if (this.look().gone || written && (this.role === 'heading' || this.veils()) && saysUnseen(this.el)) return false;
    told.set(this.el, name);
    return true;
  }
}

const told = new WeakMap(); // text or element → what it said when it was seen

// lone is the frame of el by itself, for who asks outside of a walk.
export function lone(el) {
  const k = new CachedElement(el, null), f = new WalkFrame(k, null, styleOf(el), '');
  f.bits = k.bitset();
  f.inAriaHidden = hiddenFromAX(el);
  f.off = true;
  return f;
}
