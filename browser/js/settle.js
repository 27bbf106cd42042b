// settle: watching what an action does to the document, from __bd.begin() to
// the __bd.settle() that follows it. Nothing here changes the page.

// What has been seen since begin().
let watched = null;

const EVERYTHING = { subtree: true, childList: true, characterData: true, attributes: true };

// begin starts to watch the document, the shadow roots that el stands in and those that
// have been looked into. roots are those that el stands in, and those that came.
begin = (el) => {
  end();
  const w = watched = { el, mutations: 0, focus: activeElement(), regions: null, timer: 0, wake: () => {} };
  w.roots = new Set();
  w.observer = new MutationObserver((records) => note(w, records));
  w.observer.observe(document, EVERYTHING);
  for (let n = el; n; ) {
    const root = getRootNode(n);
    if (!(root instanceof ShadowRoot)) break;
    w.roots.add(root);
    n = root.host;
  }
  for (const root of [...w.roots, ...rootsMet()]) w.observer.observe(root, EVERYTHING);
  w.input = (e) => {
    w.mutations++;
    const el = e.composedPath()[0];
    if (e.type === 'input' && el instanceof Element) touch(el); // change comes with the blur, too
  };
  // That a popover opens or closes is no mutation.
  w.toggle = (e) => {
    w.mutations++;
    if (e.target instanceof Element) touch(e.target, e.newState === 'open');
  };
  w.saves = [];
  w.click = (e) => {
    if (w.saves.length < 10 && e.composedPath().some(savesOn)) w.saves.push(e);
  };
  addEventListener('input', w.input, true);
  addEventListener('change', w.input, true);
  addEventListener('beforetoggle', w.toggle, true);
  addEventListener('click', w.click, true);
};

// savesOn tells whether a click on n, or in it, asks for a download (HTML, 4.6.5):
// no request of the document's tells of that.
const savesOn = (n) => n instanceof Element && (localName(n) === 'a' || localName(n) === 'area') && has(n, 'download') && n.href !== '';

// __bd.begin begins, and returns the frame that has the focus, 0 for none.
__bd.begin = (id) => {
  begin(id ? node(id) : null);
  return watched.focus && /^i?frame$/.test(localName(watched.focus)) ? idOf(watched.focus) : 0;
};

function end() {
  if (!watched) return;
  dropTouched();
  clearTimeout(watched.timer);
  watched.observer.disconnect();
  removeEventListener('input', watched.input, true);
  removeEventListener('change', watched.input, true);
  removeEventListener('beforetoggle', watched.toggle, true);
  removeEventListener('click', watched.click, true);
  watched = null;
}

const LIVE = '[aria-live=polite],[aria-live=assertive],[role=alert],[role=status],[role=log],output';
// What speaks when it comes in something else: a log that does has its past in it.
const SPEAKS = ':is(' + LIVE + '):not([role=log],[aria-live=off])';

// note counts mutations, and keeps what live regions (WAI-ARIA 1.2, 6.6.4) say: a whole
// region where it is new or atomic, else what has come into it.
function note(w, records) {
  w.mutations += records.length;
  w.wake();
  const regions = w.regions || (w.regions = new Map());
  noteRoots(w, records.length > MANY ? records.slice(0, MANY) : records);
  touchAll(records);
  for (const r of records) {
    if (r.type === 'attributes') continue;
    const e = nodeType(r.target) === ELEMENT ? r.target : parentNode(r.target);
    const region = e && nodeType(e) === ELEMENT && closest(e, LIVE);
    if (!region || attr(region, 'aria-live') === 'off') {
      for (const n of r.addedNodes) {
        if (nodeType(n) !== ELEMENT) continue;
        if (matches(n, LIVE)) said(regions, n).add(n);
        else noteRegions(regions, queryAll(n, SPEAKS));
      }
    } else if (atomic(region)) {
      said(regions, region).add(region);
    } else {
      for (const n of r.type === 'characterData' ? [r.target] : r.addedNodes) said(regions, region).add(n);
    }
  }
}

// noteRegions keeps some of the live regions that have come in something else.
function noteRegions(regions, list) {
  for (let i = 0; i < list.length && i < 5; i++) said(regions, list[i]).add(list[i]);
}

// noteRoots watches the shadow roots that have come.
function noteRoots(w, records) {
  for (const r of records) {
    for (const n of r.addedNodes) {
      if (nodeType(n) !== ELEMENT) continue;
      const all = elementsIn(n, '*');
      for (let el = n, i = 0; el && i < MANY; el = all[i++]) {
        const come = rootOf(el, localName(el));
        if (!come || w.roots.has(come)) continue;
        w.roots.add(come);
        w.observer.observe(come, EVERYTHING);
        noteRegions(w.regions, come.querySelectorAll(SPEAKS));
      }
    }
  }
}

// said is what has come into a region, of some regions and some of each.
function said(regions, region) {
  let list = regions.get(region);
  if (!list) {
    list = new Set();
    if (regions.size < 20) regions.set(region, list);
  }
  return list.size < 50 ? list : new Set();
}

// atomic tells whether a region is told as a whole (WAI-ARIA 1.2, 6.6.4.1): alerts and
// states are, where their author says nothing else.
function atomic(region) {
  const says = attr(region, 'aria-atomic');
  return says ? says === 'true' : localName(region) === 'output' || /^(alert|status)$/.test(attr(region, 'role'));
}

// announced are the texts that the live regions said.
function announced(w) {
  const list = [];
  for (const [region, nodes] of w.regions || []) {
    const there = [...nodes].filter((n) => isConnected(n) && contains(region, n));
    const outer = there.filter((n) => !there.some((o) => o !== n && contains(o, n)));
    outer.sort((a, b) => (position(a, b) & FOLLOWING ? -1 : 1));
    const text = outer.map(saidBy).join(' ').replace(/\s+/g, ' ').trim();
    if (text && list.length < 5 && !list.includes(text)) list.push(text.length > 200 ? headOf(text, 199) + '…' : text);
  }
  return list;
}

// saidBy is the text of n; what slots show in it is not in its innerText.
const saidBy = (n) => (n instanceof HTMLElement ? innerText(n) || (rendered(n) ? someText(n, 200) : '') : textContent(n));

const tick = () => new Promise((r) => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); });
const pause = (ms) => new Promise((r) => setTimeout(r, ms));

// nextFrame is the next frame, or a moment where none is drawn.
const nextFrame = () => new Promise((r) => { requestAnimationFrame(() => r()); setTimeout(r, 50); });

// calm waits until the document has not changed for a moment, at most max milliseconds.
const calm = async (w, max, fresh, frame) => {
  const until = performance.now() + max;
  let seen = -1, still = 0;
  const looks = frame; // somebody looks afterwards
  while (performance.now() < until) {
    for (const r of [w.observer.takeRecords()]) if (r.length) note(w, r);
    // Two looks in a row without a change, a timer's turn apart; after a
    // change a little more, since renderers batch, unless nobody looks at the page
    // next.
    if (w.mutations === seen) {
      if (++still >= 2) break;
    } else {
      still = 0;
    }
    const first = seen < 0;
    seen = w.mutations;
    if (frame && w.mutations > 0) {
      frame = false;
      await nextFrame();
    }
    if (still > 0 && seen > 0 && !looks && !fresh) await tick();
    else await pause(first && !fresh ? 0 : fresh || looks && seen > 0 ? 8 : seen > 0 ? 3 : 1);
  }
};

// stirred waits until the document changes, at most max milliseconds.
const stirred = (w, max) => Promise.race([new Promise((r) => { w.wake = r; }), pause(max)]);

// LONGEST is how long what comes into sight is waited for, in milliseconds; what takes
// longer is not waited for at all.
const LONGEST = 600;

// settle waits until the document is calm, and says what happened since begin(). With
// fresh it waits a little longer: the document is new and its scripts may only be
// starting. With frame a change is followed to the next frame, where pages often go on (a
// dialog's close event comes with it; HTML, 8.1.7.3). Where somebody looks, with fresh or
// frame, what comes into sight is waited for, too. late is how many milliseconds the
// first change may take: menus and hints open a while after the mouse has come.
__bd.settle = async ({ max = 500, fresh = false, frame = false, late = 0 } = {}) => {
  if (!watched) begin(null);
  const w = watched, looks = fresh || frame;
  // A document without scripts has said all it will say.
  const mute = () => fresh && readyState(document) === 'complete' && !scriptsOf(document).length;
  if (!fresh) await tick();
  else if (!mute()) await pause(1);
  if (!mute()) await calm(w, max, fresh, frame);
  if (late && !w.mutations && !arriving(LONGEST).length) {
    await stirred(w, late);
    if (w.mutations) {
      for (let i = 0; i < 3; i++) await nextFrame(); // transparent first, animated some frames later
      await calm(w, max, fresh, frame);
    }
  }
  if (looks) for (const until = performance.now() + LONGEST; await arrived(until);) await calm(w, max, fresh, frame);
  const focused = activeElement();
  const result = {
    changed: w.mutations > 0,
    focused: focused && focused !== w.focus && focused !== bodyOf(document) ? idOf(focused) : 0,
    announced: announced(w),
    saves: w.saves.some((e) => !e.defaultPrevented),
    title: cutName(titleOfPage(document)), url: location.href,
  };
  // What is told is told once. The watching goes on, for what an answer from the
  // server changes, until the next action or for a few seconds.
  w.regions = null;
  w.saves = [];
  w.focus = focused;
  if (!w.timer) w.timer = setTimeout(() => { if (watched === w) end(); }, 5000);
  return result;
};

// news says what has come since it was asked last that CDP must be asked about:
// 'elements', which may have listeners; 'hosts' where there are among them
// custom elements that may have a closed shadow root; '' where nothing has.
const MANY = 200; // elements that came, after which the document is looked at whole
let newcomers = null; // what came with its descendants; null: as good as all of it
let comings = null;
const came = (records) => {
  for (const r of records) {
    if (r.type === 'attributes') saysModal.add(r.target);
    for (const n of r.addedNodes) {
      if (newcomers === null || nodeType(n) !== ELEMENT) continue;
      newcomers.push(n);
      if (newcomers.length <= MANY) continue;
      newcomers = null;
      comings.disconnect(); // more of them say no more
    }
  }
};
__bd.news = () => {
  if (comings) came(comings.takeRecords());
  else comings = new MutationObserver(came);
  if (newcomers && newcomers.length === 0) return suspects.length ? 'hosts' : '';
  for (const el of newcomers || [documentElementOf(document)]) if (el) seekModals(el);
  const found = newcomers === null ? suspect([documentElementOf(document)]) : suspect(newcomers);
  if (newcomers === null) comings.observe(document, { subtree: true, childList: true, attributeFilter: ['aria-modal'] });
  newcomers = [];
  return found ? 'hosts' : 'elements';
};
__bd.yes = () => true;

// told takes the elements of which CDP said that they have click-like
// listeners. One that stands in a closed shadow root makes that known as well.
__bd.told = (...els) => {
  for (const el of els) {
    for (let r = getRootNode(el); r instanceof ShadowRoot; r = getRootNode(r.host)) {
      if (r.mode === 'closed') __bd.closed(r.host, r);
    }
  }
  __bd.mark(...els);
};

// Custom elements that have been asked about, or have shown their root.
const asked = new WeakSet();
const MAX_SUSPECTS = 100;

// suspect looks in roots for custom elements that may have a closed shadow root:
// script cannot tell. hosts names them, until hostsAsked says that all of them
// were asked about.
let suspects = [];
const suspect = (roots) => {
  let left = 20000;
  const look = (el) => {
    left--;
    if (!localName(el).includes('-') || asked.has(el)) return;
    asked.add(el);
    if (!shadowOf(el)) suspects.push(el);
  };
  for (const root of roots) {
    if (!root || !isConnected(root)) continue;
    look(root);
    const all = elementsIn(root, '*');
    for (let i = 0; left > 0 && suspects.length < MAX_SUSPECTS && i < all.length; i++) look(all[i]);
  }
  return suspects.length > 0;
};
__bd.hosts = () => suspects;
__bd.hostsAsked = () => {
  suspects = [];
};

leftBehind.push(() => {
  end();
  if (comings) comings.disconnect();
  newcomers = null;
});
