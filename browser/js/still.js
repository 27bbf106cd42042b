// still.js: a document that is as it was when it was walked last.
//
// A walk rests upon the nodes of the document, of which known.js hears; upon their styles
// and boxes; and upon what is looked at here again: how far everything is scrolled, what
// form controls hold, and names that nothing else tells of. Blink counts how often it has
// worked out styles and layouts, as it does also where the focus moves. Script cannot read
// that count, but console.timeStamp has Chromium send it to who drives it
// (Performance.metrics), who compares it (browser/still.go) and, where it is another, asks
// for a walk.

const timeStamp = console.timeStamp.bind(console);

let noting = null; // the Note of a walk under way, where it is to be made
let stood = null; // that of the last walk, as long as no record says that a node has changed

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
    this.held = []; // [element, what tells what it holds, and what that told]
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
    else if (k.html && tag === 'select') this.hold(el, selectHolds);
    else if (k.html && (tag === 'input' || tag === 'textarea')) this.hold(el, fieldHolds);
    if (k.html && isField(el)) for (const l of labelsOf(el, k.bitset())) this.naming.add(l);
    if (k.bitset() & LABELLEDBY) for (const e of labelsGiven(el) || []) this.naming.add(e);
    if (display === 'inline') return;
    if (s.contentVisibility !== 'visible') this.lasting = false; // in what it may skip, Blink puts off more than it counts
    else if (s.overflowX !== 'visible') this.scrollers.push([el, scrollLeft(el), scrollTop(el)]);
  }

  hold(el, told) {
    this.held.push([el, told, told(el)]);
  }

  // custom notes what a custom element says that it is, by its ElementInternals. One that
  // nothing has defined has none.
  custom(el) {
    if (!matches(el, ':defined')) {
      if (this.undefined.push(el) > MAX_UNDEFINED) this.lasting = false;
    } else if (++this.defined > MAX_DEFINED) this.lasting = false;
    else this.hold(el, saysItIs);
  }

  // tells says whether a name may be another although no record has come: by a field or a
  // custom element that the walk has not come to, or by what is in a shadow root.
  tells() {
    let left = MAX_NAMING;
    const tells = (e) => --left < 0 || shadowOf(e) !== null || !this.met.has(e) && (isField(e) && e.type !== 'hidden' || localName(e).includes('-'));
    for (const e of this.naming) if (tells(e) || firstElementChild(e) !== null && Array.prototype.some.call(elementsIn(e, '*'), tells)) return true;
    return false;
  }

  // done ends the walk: its answer may be given again, and the count is sent as title.
  done(title) {
    noting = null;
    if (!this.lasting || rootsLeft === 0 || this.tells()) return;
    this.met = this.naming = null;
    stood = this;
    timeStamp(title);
  }

  // stands tells whether all is as it was. To ask for scrollX has Blink work out the styles
  // and the layout that it has put off, which counts.
  stands() {
    catchUp();
    if (stood !== this || scrollX !== this.x || scrollY !== this.y || location.href !== this.url) return false;
    for (const [el, left, top] of this.scrollers) if (scrollLeft(el) !== left || scrollTop(el) !== top) return false;
    if (this.undefined.some((el) => matches(el, ':defined'))) return false;
    return this.held.every(([el, told, was]) => {
      const now = told(el);
      return now.length === was.length && now.every((v, i) => v === was[i]);
    });
  }
}

// What an element shows of what no record tells.

const fieldHolds = (el) => [matches(el, ':user-invalid'), el.value, el.checked, el.indeterminate, ...(el.files || [])];
const selectHolds = (el) => [matches(el, ':user-invalid'), matches(el, ':open'), ...el.selectedOptions];
const saysItIs = (el) => [computedRole(el), computedName(el)];
