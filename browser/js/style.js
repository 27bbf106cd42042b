// style.js: what elements look like, by their computed styles.
//
// Each word of a style costs a question to Blink, and a walk asks some nine of each
// element. Where Blink has worked out no style since they were read they are what they
// were. Who asks for a walk finds that out behind it (browser/styled.go), and throws away
// one that has taken what is no more.
//
// It holds where Blink keeps the style of an element up to date with its document: not
// in what content-visibility may skip.

let keeping = false; // a walk is under way that keeps what it reads of styles, for the next one too
let keeper = 0; // number of the walk that began to
let place = 0; // number of the way in which all is scrolled
let scrollers = null; // of the styles that are kept; null: none are

// Style is the style of an element, each word of which is asked once; words that have no
// getter are asked each time. Getters are written out: V8 makes the best of them so.
class Style {
  constructor(css) {
    this.css = css;
    this.keeper = keeper;
    this.box = null; // of the element,
    this.place = 0; // when all was scrolled as it was then
    this.adorned = undefined; // whether a style sheet puts something before or after the element
    this._display = this._visibility = this._opacity = this._pointerEvents = this._cursor = this._position = this._zIndex =
      this._overflowX = this._overflowY = this._clip = this._clipPath = this._contentVisibility = this._webkitTextFillColor =
      this._backgroundClip = this._backgroundColor = this._fontSize = this._textIndent = this._textTransform = this._webkitTextSecurity =
      this._content = this._fill = this._stroke = undefined;
  }

  get display() { return this._display ??= this.css.display; }
  get visibility() { return this._visibility ??= this.css.visibility; }
  get opacity() { return this._opacity ??= this.css.opacity; }
  get pointerEvents() { return this._pointerEvents ??= this.css.pointerEvents; }
  get cursor() { return this._cursor ??= this.css.cursor; }
  get position() { return this._position ??= this.css.position; }
  get zIndex() { return this._zIndex ??= this.css.zIndex; }
  get overflowX() { return this._overflowX ??= this.css.overflowX; }
  get overflowY() { return this._overflowY ??= this.css.overflowY; }
  get clip() { return this._clip ??= this.css.clip; }
  get clipPath() { return this._clipPath ??= this.css.clipPath; }
  get contentVisibility() { return this._contentVisibility ??= this.css.contentVisibility; }
  get webkitTextFillColor() { return this._webkitTextFillColor ??= this.css.webkitTextFillColor; }
  get backgroundClip() { return this._backgroundClip ??= this.css.backgroundClip; }
  get backgroundColor() { return this._backgroundColor ??= this.css.backgroundColor; }
  get fontSize() { return this._fontSize ??= this.css.fontSize; }
  get textIndent() { return this._textIndent ??= this.css.textIndent; }
  get textTransform() { return this._textTransform ??= this.css.textTransform; }
  get webkitTextSecurity() { return this._webkitTextSecurity ??= this.css.webkitTextSecurity; }
  get content() { return this._content ??= this.css.content; }
  get fill() { return this._fill ??= this.css.fill; }
  get stroke() { return this._stroke ??= this.css.stroke; }
}
Object.setPrototypeOf(Style.prototype, new Proxy({}, { get: (_, word, style) => style.css[word] }));

// keepStyles begins a walk whose styles are asked anew and kept ('new'), are what has been
// kept since the last such walk ('kept'), or are asked each time.
function keepStyles(mode) {
  keeping = mode === 'new' || mode === 'kept';
  if (mode !== 'kept') {
    keeper++;
    scrollers = keeping ? new Scrollers() : null;
    return;
  }
  const root = documentElementOf(page);
  if (root) rectOf(root); // which has Blink work out what it has not yet
  if (!scrollers) scrollers = new Scrollers(); // nothing is kept
  else if (scrollers.moved()) place++;
}

// Scrollers are the window and whatever else may be scrolled of what styles are kept, and
// how far each was when it was asked last.
class Scrollers {
  constructor() {
    this.x = scrollX;
    this.y = scrollY;
    this.list = []; // [WeakRef of an element, left, top]
    this.known = new WeakSet();
  }

  add(el) {
    if (this.known.has(el)) return;
    this.known.add(el);
    this.list.push([new WeakRef(el), scrollLeft(el), scrollTop(el)]);
  }

  // moved tells whether any is scrolled otherwise than when it was asked last.
  moved() {
    let any = scrollX !== this.x || scrollY !== this.y;
    this.x = scrollX;
    this.y = scrollY;
    for (const s of this.list) {
      const el = s[0].deref(), x = el ? scrollLeft(el) : 0, y = el ? scrollTop(el) : 0;
      if (x !== s[1] || y !== s[2]) any = true;
      s[1] = x;
      s[2] = y;
    }
    return any;
  }
}

// Box is a DOMRect, whose every side costs a question to Blink.
class Box {
  constructor(r) {
    this.left = r.left;
    this.top = r.top;
    this.width = r.width;
    this.height = r.height;
  }
}

// placeOf returns the box of el in pixels of the viewport.
function placeOf(el) {
  const k = memory.get(el), s = k === undefined ? null : keptStyle(k);
  if (s === null) return rectOf(el);
  if (s.box === null || s.place !== place) {
    s.box = new Box(rectOf(el));
    s.place = place;
  }
  return s.box;
}

// styleOf returns the style of el, of which Blink or a walk under way keeps the words up to
// date, or that of what a style sheet puts before or after it.
function styleOf(el, which) {
  if (which !== undefined) return computedStyle(el, which);
  const k = memory.get(el);
  return k === undefined ? computedStyle(el) : keptStyle(k) || liveStyle(k);
}

const liveStyle = (k) => k.css || (k.css = computedStyle(k.el));

// keptStyle returns the style that a walk keeps of the element of k, null for none.
const keptStyle = (k) => (keeping && k.style !== null && k.style.keeper === keeper ? k.style : null);

// styleIn returns the style of the element of k, which a walk has come to; lasts tells that
// nothing around it may skip it.
function styleIn(k, lasts) {
  if (!keeping || !lasts) return liveStyle(k);
  const kept = keptStyle(k);
  if (kept) return kept;
  k.style = new Style(liveStyle(k));
  if (k.style.overflowX !== 'visible') scrollers.add(k.el);
  return k.style;
}

// endures tells whether Blink keeps the styles of what is in el up to date. As far as it
// does, the styles of el and of what is around it are kept.
function endures(el) {
  const path = [];
  for (let p = el; p; p = flatParent(p)) path.push(p);
  return path.reverse().every((p) => styleIn(knownOf(p), true).contentVisibility === 'visible');
}
