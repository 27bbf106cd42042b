// A document that is unchanged since it was walked last.
// 
// A walk rests upon the nodes of the document, whose changes the node cache hears of;
// upon their styles and boxes; and upon what is read here again: how far everything is
// scrolled, what form controls hold, and names of which no record tells. Blink counts
// how often it has worked out styles and layouts, as it does also where the focus moves.
// Script cannot read that count, but console.timeStamp has Chromium send it to the
// daemon (Performance.metrics), which compares it and, where it differs, asks for a walk.

import { LABELLEDBY } from './attributes.js';
import { elementsIn, firstElementChild, getter, localName, matches, scrollLeft, scrollTop } from './dom.js';
import { shadowOf } from './flat-tree.js';
import { isField, labelsOf } from './labels.js';
import { rootsLeft } from './node-cache.js';
import { onCall, onChange } from './page.js';
import { computedName, computedRole } from './role.js';

export const timeStamp = console.timeStamp.bind(console);

export let noting = null; // the Note of a walk under way, where it is to be made
export let lastNote = null; // that of the last walk, as long as no record says that a node has changed

onChange(() => { lastNote = null; });
onCall(() => { noting = null; }); // a walk may have been ended in the middle

const labelsGiven = getter(Element, 'ariaLabelledByElements'); // null where the attribute is not there
const MAX_DEFINED = 100; // custom elements whose names are asked for
const MAX_UNDEFINED = 2000; // those of which it is asked whether they have been defined
const MAX_NAMING = 5000; // elements in what others are named by

// Note is what a walk rests upon beside nodes, styles and boxes.
class Note {
  constructor(answer) {
    this.url = answer.u;
    this.x = scrollX;
    this.y = scrollY;
    this.scrollers = []; // [element, left, top]
    this.readings = []; // [element, what mayRename what it holds, and what that read]
    this.undefined = []; // custom elements that nothing has defined
    this.defined = 0; // the others
    this.met = new Set();
    this.naming = new Set(); // by what elements are named, which no walk need come to
    this.lasting = true;
  }

  // element notes the element of k, whose style is s.
  element(k, s, display) {
    const { el, tag } = k;
    this.met.add(el);
    if (tag.includes('-')) this.custom(el);
    else if (k.html && tag === 'select') this.keepReading(el, selectState);
    else if (k.html && (tag === 'input' || tag === 'textarea')) this.keepReading(el, fieldState);
    if (k.html && isField(el)) for (const l of labelsOf(el, k.bitset())) this.naming.add(l);
    if (k.bitset() & LABELLEDBY) for (const e of labelsGiven(el) || []) this.naming.add(e);
    if (display === 'inline') return;
    if (s.contentVisibility !== 'visible') this.lasting = false; // in what it may skip, Blink puts off more than it counts
    else if (s.overflowX !== 'visible') this.scrollers.push([el, scrollLeft(el), scrollTop(el)]);
  }

  keepReading(el, read) {
    this.readings.push([el, read, read(el)]);
  }

  // custom notes what a custom element says that it is, by its ElementInternals. One that
  // nothing has defined has none.
  custom(el) {
    if (!matches(el, ':defined')) {
      if (this.undefined.push(el) > MAX_UNDEFINED) this.lasting = false;
    } else if (++this.defined > MAX_DEFINED) this.lasting = false;
    else this.keepReading(el, internalsOf);
  }

  // mayRename says whether a name may be another although no record has come: by a field or a
  // custom element that the walk has not come to, or by what is in a shadow root.
  mayRename() {
    let left = MAX_NAMING;
    const mayRename = (e) => --left < 0 || shadowOf(e) !== null || !this.met.has(e) && (isField(e) && e.type !== 'hidden' || localName(e).includes('-'));
    for (const e of this.naming) if (mayRename(e) || firstElementChild(e) !== null && Array.prototype.some.call(elementsIn(e, '*'), mayRename)) return true;
    return false;
  }

  // done ends the walk: its answer may be given again, and the count is sent as title.
  done(title) {
    noting = null;
    if (!this.lasting || rootsLeft === 0 || this.mayRename()) return;
    this.met = this.naming = null;
    lastNote = this;
    timeStamp(title);
  }

  // unchanged mayRename whether all is as it was. To ask for scrollX has Blink work out the styles
  // and the layout that it has put off, which counts.
  unchanged() {
    catchUp();
    if (lastNote !== this || scrollX !== this.x || scrollY !== this.y || location.href !== this.url) return false;
    for (const [el, left, top] of this.scrollers) if (scrollLeft(el) !== left || scrollTop(el) !== top) return false;
    if (this.undefined.some((el) => matches(el, ':defined'))) return false;
    return this.readings.every(([el, read, was]) => {
      const value = read(el);
      return value.length === was.length && value.every((v, i) => v === was[i]);
    });
  }
}

// What an element shows of what no record mayRename.

const fieldState = (el) => [matches(el, ':user-invalid'), el.value, el.checked, el.indeterminate, ...(el.files || [])];
const selectState = (el) => [matches(el, ':user-invalid'), matches(el, ':open'), ...el.selectedOptions];
const internalsOf = (el) => [computedRole(el), computedName(el)];

// takeNotes begins the Note of a walk with that answer; null: none is to be made.
export function takeNotes(answer) {
  noting = answer === null ? null : new Note(answer);
}
