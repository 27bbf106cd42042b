// act: finding the element that a ref means, waiting until a person could act
// on it, and choosing the point to hit. locate() is the one round trip before
// an input. The guard that watches over the input itself is guard.js.
//
// An element is found again by its number. It never stands for another one:
// what it is called now is compared with what the client was shown.

// Getters of the prototypes, called on the element: a form whose controls are
// named like DOM properties hides its own (HTML, 4.10.3, "named properties").
const own = (proto, name) => {
  const get = Object.getOwnPropertyDescriptor(proto, name).get;
  return (o) => get.call(o);
};
const dom = {
  connected: own(Node.prototype, 'isConnected'),
  parent: own(Node.prototype, 'parentNode'),
  text: own(Node.prototype, 'textContent'),
  tag: own(Element.prototype, 'localName'),
  shadow: own(Element.prototype, 'shadowRoot'),
  slot: own(Element.prototype, 'assignedSlot'),
  first: own(Element.prototype, 'firstElementChild'),
  next: own(Element.prototype, 'nextElementSibling'),
  inputType: own(HTMLInputElement.prototype, 'type'),
  form: (el) => el.closest ? Element.prototype.closest.call(el, 'form') : null,
  root: (n) => Node.prototype.getRootNode.call(n),
  attr: (el, name) => Element.prototype.getAttribute.call(el, name),
  has: (el, name) => Element.prototype.hasAttribute.call(el, name),
  is: (el, selector) => Element.prototype.matches.call(el, selector),
  near: (el, selector) => Element.prototype.closest.call(el, selector),
  all: (root, selector) => (root instanceof Document ? Document.prototype : root instanceof DocumentFragment ? DocumentFragment.prototype : Element.prototype).querySelectorAll.call(root, selector),
  contains: (a, b) => Node.prototype.contains.call(a, b),
  box: (el) => Element.prototype.getBoundingClientRect.call(el),
  rects: (el) => Element.prototype.getClientRects.call(el),
  at: (root, x, y) => (root instanceof Document ? Document.prototype : ShadowRoot.prototype).elementFromPoint.call(root, x, y),
  active: (root) => (root instanceof Document ? activeOfDocument : activeOfShadow)(root),
};
const activeOfDocument = own(Document.prototype, 'activeElement');
const activeOfShadow = own(ShadowRoot.prototype, 'activeElement');

// shadowIn is the element's shadow root, an open one or a closed one that was
// made known.
const shadowIn = (el) => (typeof shadowOf === 'function' ? shadowOf(el) : dom.shadow(el)) || null;

// up is the parent in the flat tree (CSS Scoping, 3.4).
const up = (n) => {
  if (n.nodeType === 1 || n.nodeType === 3) {
    const slot = n.nodeType === 1 ? dom.slot(n) : n.assignedSlot;
    if (slot) return slot;
  }
  const p = dom.parent(n);
  return p instanceof ShadowRoot ? p.host : p instanceof Element ? p : null;
};

// inside says whether n is el or below it in the flat tree, or in a closed
// shadow tree of it.
const inside = (n, el) => {
  for (; n; n = up(n)) if (n === el) return true;
  return false;
};

const fold = (s) => String(s == null ? '' : s).replace(/\s+/g, ' ').trim();

// record is what the daemon keeps of an element that it gives a ref to.
const record = (el) => ({ node: idOf(el), role: roleOf(el) || 'generic', name: nameOf(el) || '', tag: dom.tag(el), ident: identOf(el), context: contextOf(el) });

// same compares a string of now with what was shown, which may have been cut.
const same = (now, was) => now === was || was.length >= CUT && now.startsWith(was.replace(/…$/, ''));
const CUT = 100;

// everyElement calls f with the elements of the document and of its shadow
// trees, in tree order.
const everyElement = (root, f) => {
  for (const el of dom.all(root, '*')) {
    f(el);
    const s = shadowIn(el);
    if (s) everyElement(s, f);
  }
};

// ---- Refs that moved ----

// A node that was numbered before another was seen to be gone stood beside it:
// it is not the other made anew. Looks are counted; born and died keep the
// count at which a number was first given and first found gone.
let looks = 0, lastNumber = 0;
const born = new Map(), died = new Map(), alive = new Set();
const look = () => {
  looks++;
  const upTo = idOf(document.createComment('')) - 1;
  for (let i = lastNumber + 1; i <= upTo; i++) {
    alive.add(i);
    born.set(i, looks);
  }
  lastNumber = upTo + 1;
  for (const i of alive) {
    const n = node(i);
    if (n && dom.connected(n)) continue;
    alive.delete(i);
    born.delete(i);
    died.set(i, looks);
  }
};
if (__bd.walk) {
  const walk = __bd.walk;
  __bd.walk = (o) => {
    const text = walk(o);
    look();
    return text;
  };
}

// twins are the elements of the document, other than el, that are what the
// client was shown: the same role, name, tag, stable attributes and row.
const twins = (q, el) => {
  const found = [];
  everyElement(document, (e) => {
    if (e === el || dom.tag(e) !== q.tag || found.length > 1) return;
    if (identOf(e) !== q.ident || !rendered(e)) return;
    if ((roleOf(e) || 'generic') === q.role && same(nameOf(e) || '', q.name) && contextOf(e) === q.context) found.push(e);
  });
  return found;
};

// rendered says whether the element has, or passes on to its children, a box.
const rendered = (el) => el.checkVisibility({ visibilityProperty: true }) || getComputedStyle(el).display === 'contents';

// candidates are up to five elements that come near what the client was shown.
const candidates = (q) => {
  const list = [];
  everyElement(document, (el) => {
    const tag = dom.tag(el) === q.tag;
    if (!tag && !dom.has(el, 'role') || list.length > 400) return;
    if (!rendered(el)) return;
    const role = roleOf(el) || 'generic';
    if (role !== q.role) return;
    const name = nameOf(el) || '', context = contextOf(el);
    const points = (same(name, q.name) ? 4 : alike(name, q.name) ? 2 : 0) + (context === q.context && context ? 2 : 0) + (identOf(el) === q.ident ? 1 : 0);
    if (points < 2) return;
    const why = same(name, q.name)
      ? (context === q.context ? 'the same role and name' : 'the same role and name in another place')
      : context && context === q.context ? 'the same role in the same place' : 'the same role and a similar name';
    list.push({ points, order: list.length, el, why });
  });
  list.sort((a, b) => b.points - a.points || a.order - b.order);
  return list.slice(0, 5).map(({ el, why }) => ({ ...record(el), why }));
};
const alike = (a, b) => {
  a = a.toLowerCase();
  b = b.toLowerCase();
  if (!a || !b) return false;
  if (a.includes(b) || b.includes(a)) return true;
  const words = new Set(a.split(/\W+/u).filter((w) => w.length > 2));
  return b.split(/\W+/u).some((w) => words.has(w));
};

const letters = (s) => String(s).replace(/[\d\s\p{P}\p{S}]+/gu, '');

// counts says whether a row's text changed only as a counter or a clock does.
// Where the rows beside it differ in nothing but digits, the digits are what
// tells them apart, and it is another row.
const counts = (el, q, context) => {
  if (letters(context) !== letters(q.context)) return false;
  let rows = 0, alike = 0;
  everyElement(document, (e) => {
    if (e === el || dom.tag(e) !== q.tag || rows > 50 || identOf(e) !== q.ident) return;
    rows++;
    if (letters(contextOf(e)) === letters(context)) alike++;
  });
  return alike === 0;
};

// find returns {el} where the ref's element is there and is what the client
// was shown, or {answer}: what to tell instead.
const find = (q) => {
  let el = node(q.id);
  if (!el || !dom.connected(el)) {
    look();
    const t = twins(q, null);
    if (t.length === 1) {
      const known = born.get(idOf(t[0]));
      // Numbered while the old one was there: it stood beside it.
      if (known === undefined || known >= (died.get(q.id) || 0)) return { el: t[0], moved: true };
    }
    return { answer: { stale: true, candidates: candidates(q) } };
  }
  if (q.any) return { el };
  const role = roleOf(el) || 'generic', name = nameOf(el) || '', context = contextOf(el);
  if (context !== q.context && q.context) {
    const t = twins(q, el);
    // The row is somewhere else now. One that the client was shown with that
    // very context is a row of its own; the daemon knows (it compares).
    if (t.length === 1) return { answer: { twin: record(t[0]), now: record(el) } };
    if (t.length > 1) return { answer: { stale: true, candidates: candidates(q) } };
    if (!counts(el, q, context)) return { answer: { changed: record(el) } };
  }
  if (role !== q.role || !same(name, q.name)) return { answer: { changed: record(el) } };
  return { el };
};

// ---- Whether a person could act on it ----

const frameTurn = () => new Promise((done) => {
  let over = false;
  const end = () => { if (!over) { over = true; done(); } };
  requestAnimationFrame(end);
  setTimeout(end, 100); // no frames are drawn in a tab that is not shown
});
const nap = (ms) => new Promise((done) => setTimeout(done, ms));

// disabled: HTML's disabled state with its fieldsets and option groups, and
// ARIA's, which holds for what is below it too (WAI-ARIA 1.2, aria-disabled).
const disabled = (el) => {
  if (dom.is(el, ':disabled')) return true;
  for (let e = el; e; e = up(e)) if (dom.attr(e, 'aria-disabled') === 'true') return true;
  return !!dom.near(el, '[inert]');
};

const TEXT_TYPES = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number', 'date', 'time', 'week', 'month', 'datetime-local']);
const readonly = (el) => {
  if (dom.tag(el) === 'textarea' || el instanceof HTMLInputElement && TEXT_TYPES.has(dom.inputType(el))) return dom.has(el, 'readonly');
  return dom.attr(el, 'aria-readonly') === 'true' && !(el instanceof HTMLElement && el.isContentEditable);
};

// PAINT are animated properties that move nothing.
const PAINT = /^(opacity|color|background.*|box-?[sS]hadow|border.*[cC]olor|outline.*|filter|backdrop-?[fF]ilter|visibility|text-?[sS]hadow|text-?[dD]ecoration.*|fill|stroke.*|caret-?[cC]olor|offset|computedOffset|easing|composite|accent-?[cC]olor)$/;

// moving are the animations that may move the element now; endless ones apart.
const moving = (el) => {
  const finite = [], endless = [];
  for (let e = el; e; e = up(e)) {
    for (const a of e.getAnimations()) {
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

const where = (el) => {
  const b = dom.box(el);
  return b.left + ',' + b.top + ',' + b.width + ',' + b.height;
};

// boxesOf are the places on which the element can be hit: its boxes, one per
// line for inline text; those of its text where it has none of its own; those
// of what is in it where they are empty.
const boxesOf = (el) => {
  if (dom.tag(el) === 'area') return areaBoxes(el);
  let list = [...dom.rects(el)].filter((r) => r.width > 0 && r.height > 0);
  if (list.length) return list;
  const style = getComputedStyle(el);
  if (style.display === 'contents' || dom.rects(el).length) {
    const visit = (n) => {
      for (const c of flatChildren(n)) {
        if (list.length > 20) return;
        if (c.nodeType === 3) {
          const range = document.createRange();
          range.selectNodeContents(c);
          list.push(...[...range.getClientRects()].filter((r) => r.width > 0 && r.height > 0));
        } else if (c.nodeType === 1) {
          const rects = [...dom.rects(c)].filter((r) => r.width > 0 && r.height > 0);
          if (rects.length && c.checkVisibility({ visibilityProperty: true })) list.push(...rects);
          else visit(c);
        }
      }
    };
    visit(el);
  }
  return list;
};

// areaBoxes is the box of an image map's area, in its image.
const areaBoxes = (el) => {
  const map = dom.near(el, 'map');
  const img = map && [...dom.all(dom.root(el), 'img[usemap]')].find((i) => dom.attr(i, 'usemap') === '#' + map.name);
  if (!img) return [];
  const b = dom.box(img), n = (dom.attr(el, 'coords') || '').split(/[\s,]+/).map(Number);
  const shape = (dom.attr(el, 'shape') || 'rect').toLowerCase();
  if (shape === 'default') return [b];
  if (shape.startsWith('circ')) return [new DOMRect(b.left + n[0] - n[2] * 0.7, b.top + n[1] - n[2] * 0.7, n[2] * 1.4, n[2] * 1.4)];
  const xs = n.filter((_, i) => i % 2 === 0), ys = n.filter((_, i) => i % 2 === 1);
  const x = Math.min(...xs), y = Math.min(...ys);
  return [new DOMRect(b.left + x, b.top + y, Math.max(...xs) - x, Math.max(...ys) - y)];
};

// under is the innermost element at a point, through shadow roots; those that
// el stands in are entered although they may be closed.
const under = (x, y, el) => {
  let hit = dom.at(document, x, y);
  const roots = new Map();
  for (let r = el && dom.root(el); r instanceof ShadowRoot; r = dom.root(r.host)) roots.set(r.host, r);
  for (let depth = 0; hit && depth < 64; depth++) {
    const root = roots.get(hit) || shadowIn(hit);
    const inner = root && dom.at(root, x, y);
    if (!inner || inner === hit || dom.root(inner) !== root) break;
    hit = inner;
  }
  return hit;
};

const CONTROL = 'a[href],button,input:not([type=hidden]),select,textarea,summary,[contenteditable=""],[contenteditable=true],[role=button],[role=link],[role=checkbox],[role=switch],[role=radio],[role=tab],[role=menuitem],[role=option]';

// labelsOf are the labels of a control.
const labelsOf = (el) => {
  const list = el.labels instanceof NodeList ? [...el.labels] : [];
  return list.filter((l) => l instanceof Element);
};

// takes says whether input that lands on hit is input to el, as a person would
// see it: el itself and what is in it; its label, unless on another control in
// there; the styled twin that stands for a hidden control.
const takes = (hit, el, { labels = labelsOf(el), twin = twinOf(el) } = {}) => {
  if (!hit) return false;
  if (inside(hit, el)) return true;
  for (const label of labels) if (inside(hit, label) && !between(hit, label, el)) return true;
  if (twin && inside(hit, twin) && !between(hit, twin, el)) return true;
  // The button or link that the element is a part of, where the element itself
  // takes no pointer events.
  if (inside(el, hit) && dom.is(hit, CONTROL) && getComputedStyle(el).pointerEvents === 'none') return true;
  // A closed shadow tree shows only its host.
  const root = dom.root(el);
  return root instanceof ShadowRoot && root.mode === 'closed' && root.host === hit;
};

// between says whether another control than el lies between hit and box, which
// it is in: a link in a label is not the label.
const between = (hit, box, el) => {
  for (let e = hit; e && e !== box; e = up(e)) if (e !== el && dom.is(e, CONTROL)) return true;
  return false;
};

const CHOICE = new Set(['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio']);
const native = (el) => el instanceof HTMLInputElement || el instanceof HTMLSelectElement || el instanceof HTMLTextAreaElement;
const choice = (el) => native(el) || CHOICE.has(roleOf(el));
const GROUP = 'form,main,section,article,li,td,th,tr,table,ul,ol,fieldset,dialog,body,[role=dialog],[role=group],[role=radiogroup]';

// twinOf is what was drawn in place of a control that cannot be hit itself
// (transparent, clipped, under its own decoration): what follows a select, or
// the largest box around the control that holds no other one.
const twinOf = (el) => {
  if (!choice(el)) return null;
  if (el instanceof HTMLSelectElement) {
    const next = dom.next(el);
    if (next && !dom.is(next, 'select,input,textarea,button,a[href],label,option') && boxesOf(next).length) return next;
  }
  let box = null;
  for (let e = up(el), depth = 0; e && depth < 4 && !dom.is(e, GROUP); e = up(e), depth++) {
    for (const o of dom.all(e, CONTROL + ',[tabindex]:not([tabindex^="-"])')) if (o !== el && !dom.contains(el, o) && !dom.contains(o, el)) return box;
    const b = dom.box(e);
    if (b.width === 0 || b.height === 0) continue;
    if (b.height > 160 && !(el instanceof HTMLTextAreaElement)) return box;
    box = e;
  }
  return box;
};

// pointsIn are the points of a box to try, the middle first.
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
const aim = (el) => {
  const answer = {}, labels = labelsOf(el).filter(rendered);
  let twin = null; // costs a search: only where the element itself is not hit
  const tryBoxes = (boxes) => {
    for (const r of boxes.slice(0, 12)) {
      for (const [x, y] of pointsIn(r)) {
        const hit = under(x, y, el);
        if (takes(hit, el, { labels, twin })) return { x, y, hit };
        if (!answer.by && hit) answer.by = hit;
      }
    }
    return null;
  };
  let at = tryBoxes(boxesOf(el));
  if (at) return at;
  for (const label of labels) if ((at = tryBoxes(boxesOf(label)))) return at;
  twin = twinOf(el);
  if (twin && (at = tryBoxes(boxesOf(el)) || tryBoxes(boxesOf(twin)))) return at;
  return answer;
};

const ALIGN = ['center', 'start', 'end', 'nearest'];

// reach finds a point, scrolling where it must. Every scroller around the
// element is moved, at once, and other alignments are tried where something
// that does not scroll lies over it.
const reach = (el) => {
  let first = aim(el);
  if (first.hit) return first;
  const target = boxesOf(el).length ? el : labelsOf(el).find(rendered) || twinOf(el) || el;
  for (const block of ALIGN) {
    scrollTo(target, block);
    const at = aim(el);
    if (at.hit) return at;
    if (at.by && (!first.by || first.by === document.documentElement)) first = at;
  }
  return first;
};

// scrollTo brings el into view in every scroller that it stands in.
const scrollTo = (el, block) => {
  if (getComputedStyle(el).display === 'contents') {
    const child = [...flatChildren(el)].find((c) => c.nodeType === 1 ? dom.rects(c).length : fold(c.data));
    if (child && child.nodeType === 1) el = child;
    else if (child) {
      // Text without a box of its own: its place is where a range says.
      const range = document.createRange();
      range.selectNodeContents(child);
      const r = range.getBoundingClientRect();
      window.scrollBy({ left: 0, top: r.top - innerHeight / 2, behavior: 'instant' });
      return;
    }
  }
  Element.prototype.scrollIntoView.call(el, { block, inline: block === 'start' ? 'start' : block === 'end' ? 'end' : 'center', behavior: 'instant' });
};

// why says what keeps el from being acted on now, or what is needed to act.
const obstacle = (el, want) => {
  if (!dom.connected(el)) return { reason: 'detached' };
  if (want.enabled && disabled(el)) return { reason: 'disabled' };
  if (want.editable && readonly(el)) return { reason: 'readonly' };
  if (want.hit) {
    const at = reach(el);
    if (at.hit) return { at };
    const place = boxesOf(el).length > 0 || labelsOf(el).some((l) => rendered(l) && boxesOf(l).length) || !!twinOf(el);
    if (!place || !shown(el)) return { reason: 'hidden' };
    if (at.by && inside(el, at.by)) {
      const modal = dom.all(document, 'dialog:modal');
      if (modal.length) return { reason: 'covered', by: modal[modal.length - 1] };
      // Its ancestor is hit in its place: it takes no input, or is clipped away.
      return untouchable(el) ? { reason: 'disabled', because: 'pointer-events: none' } : { reason: 'hidden', because: 'clipped' };
    }
    if (!at.by) {
      const modal = dom.all(document, 'dialog:modal');
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
const shown = (el) => rendered(el) && getComputedStyle(el).visibility === 'visible' || choice(el) && (labelsOf(el).some(rendered) || !!twinOf(el));
const untouchable = (el) => {
  for (let e = el; e; e = up(e)) if (getComputedStyle(e).pointerEvents === 'none') return true;
  return false;
};

// coverOf is what to call the thing that was hit: the nearest thing around it
// with a role or a name.
const coverOf = (hit) => {
  for (let e = hit; e && e !== document.body && e !== document.documentElement; e = up(e)) {
    const role = roleOf(e);
    if (role && role !== 'generic' && role !== 'none' && role !== 'presentation' || dom.has(e, 'aria-label') || dom.has(e, 'id') || dom.is(e, 'dialog')) return e;
  }
  return hit;
};

// locate answers {ok, node, moved, x, y, hit, …} or why not:
// {stale, candidates}, {changed}, {twin, now}, {reason, by}. Until the deadline
// it waits for what may come about by itself.
__bd.locate = async (q) => {
  const want = {};
  for (const w of q.want || []) want[w] = true;
  const until = performance.now() + (q.deadline || 0);
  let last = { reason: 'hidden' }, pause = 16, tolerate = 0;
  for (;;) {
    const found = find(q);
    if (found.answer) return found.answer;
    let el = found.el;
    if (want.control) el = controlOf(el, want.control) || el;
    const option = want.hit && closedOption(el);
    let now = option ? obstacle(option, { visible: true, enabled: true }) : obstacle(el, want);
    if (option && !now.reason && disabled(el)) now = { reason: 'disabled' };
    if (!now.reason && want.stable && !option) {
      const m = moving(el);
      if (m.finite.length) {
        now = { reason: 'moving' };
        await Promise.race([Promise.allSettled(m.finite.map((a) => a.finished)), nap(Math.max(0, Math.min(250, until - performance.now())))]);
        await frameTurn();
        pause = 0;
      } else if (m.endless.length && performance.now() >= tolerate) {
        // It will not come to rest. Where it stands still between two frames it
        // is hit there, and after a second it is tried in its flight: the guard
        // lets nothing else take the input.
        const before = where(el);
        await frameTurn();
        if (where(el) !== before) {
          if (!tolerate) tolerate = performance.now() + 1000;
          now = performance.now() < tolerate && performance.now() < until ? { reason: 'moving' } : now;
        }
        if (!now.reason) now = obstacle(el, want);
      }
    }
    if (!now.reason) {
      if (typeof begin === 'function') begin(el);
      const answer = { ok: true, node: idOf(found.el), moved: !!found.moved, target: idOf(el), kind: kindOf(el) };
      if (found.moved || q.any) answer.record = record(found.el);
      if (option) answer.option = { select: idOf(option), value: el.value, index: el.index };
      if (now.at) {
        answer.x = now.at.x;
        answer.y = now.at.y;
        answer.direct = inside(now.at.hit, el);
        __bd.arm({ el, ups: q.ups || 0 });
      }
      if (q.then) answer.then = __bd[q.then](el, q.with);
      return answer;
    }
    last = now;
    if (performance.now() >= until) break;
    if (pause) await Promise.race([frameTurn().then(() => nap(pause - 16)), nap(Math.max(1, until - performance.now()))]);
    pause = Math.min(100, (pause || 8) * 2);
  }
  const answer = { reason: last.reason };
  if (last.because) answer.because = last.because;
  if (last.by) answer.by = record(last.by);
  return answer;
};

// closedOption is the select of an option that has no box of its own.
const closedOption = (el) => {
  if (dom.tag(el) !== 'option') return null;
  const select = dom.near(el, 'select');
  return select && !boxesOf(el).length ? select : null;
};

// kindOf is how a control is filled in.
const kindOf = (el) => {
  const tag = dom.tag(el);
  if (tag === 'select' || tag === 'textarea') return tag;
  if (el instanceof HTMLInputElement) return dom.inputType(el);
  if (el instanceof HTMLElement && el.isContentEditable) return 'editable';
  return '';
};

// frameAt finds, in the document that holds a frame, the place of a point of
// the frame's own viewport, brings it into view, and has the guard let nothing
// of this document take the input. It answers {x, y} or {reason, by}.
__bd.frameAt = ({ node: id, x, y }) => {
  const el = node(id);
  if (!el || !dom.connected(el)) return { reason: 'detached' };
  const place = () => {
    const b = dom.box(el), style = getComputedStyle(el);
    const sx = el.offsetWidth ? b.width / el.offsetWidth : 1, sy = el.offsetHeight ? b.height / el.offsetHeight : 1;
    return [b.left + (el.clientLeft + parseFloat(style.paddingLeft) + x) * sx, b.top + (el.clientTop + parseFloat(style.paddingTop) + y) * sy];
  };
  const out = ([px, py]) => px < 0 || py < 0 || px >= innerWidth || py >= innerHeight;
  let at = place(), hit = out(at) ? null : under(at[0], at[1], el);
  for (const block of ALIGN) {
    if (hit === el) break;
    scrollTo(el, block);
    at = place();
    if (out(at)) {
      // A frame larger than the viewport: bring the point itself to the middle.
      window.scrollBy({ left: at[0] - innerWidth / 2, top: at[1] - innerHeight / 2, behavior: 'instant' });
      at = place();
    }
    hit = out(at) ? null : under(at[0], at[1], el);
  }
  if (hit !== el) return hit ? { reason: 'covered', by: record(coverOf(hit)) } : { reason: 'hidden' };
  __bd.arm({ el: null, ups: 0 });
  return { x: at[0], y: at[1] };
};
