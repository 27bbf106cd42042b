// Watching what an action does to the document, from beginSettle to the settle that
// follows it. Nothing here changes the page.

import { arrived, arriving } from './animations.js';
import { currentAction } from './current-action.js';
import {
  attr, bodyOf, checkVisibility, closest, contains, ELEMENT, elementsIn, FOLLOWING, getRootNode, has, innerText, isConnected, localName, matches,
  nodeType, outermost, parentNode, position, queryAll, readyState, rectOf, scriptsOf, textContent, titleOfPage,
} from './dom.js';
import { someText } from './element-text.js';
import { rootOf, visitedRoots } from './flat-tree.js';
import { endKeys } from './key-guard.js';
import { dropDetached, noteMutation, noteRecords } from './mutations.js';
import { cutName } from './name.js';
import { idOf, node } from './node-ids.js';
import { activeElement } from './overlays.js';
import { onNewDocument } from './page.js';
import { MANY } from './pending-listeners.js';
import { noteSecrets } from './secrets.js';
import { nextFrame, nextTask, pause } from './tasks.js';
import { headOf } from './text.js';
import { rendered } from './visibility.js';
import { acceptInput } from './recently-added.js';

// What has been seen since startObserving().
/** @type {Record<string, any> | null} */
export let watched = null;

const EVERYTHING = { subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true };

// The elements that actions were for.
const acted = new WeakSet();
export const wasActedOn = (el) => acted.has(el);

// startObserving starts to watch the document, the shadow roots that el stands in and those that
// have been looked into. roots are those that el stands in, and those that came.
export const startObserving = (el) => {
  if (el) acted.add(el);
  endKeys(); // of an action that was given up
  const focus = activeElement();
  end();
  /** @type {Record<string, any>} */
  const w = watched = { el, mutations: 0, changes: 0, idle: false, late: 0, lateChange: false, stepped: new Set(), settling: 0, focus, regions: null, timer: 0, wake: () => {} };
  w.roots = new Set();
  w.observer = new MutationObserver((records) => note(w, records));
  w.observer.observe(document, EVERYTHING);
  for (let n = el; n; ) {
    const root = getRootNode(n);
    if (!(root instanceof ShadowRoot)) break;
    w.roots.add(root);
    n = root.host;
  }
  for (const root of [...w.roots, ...visitedRoots()]) w.observer.observe(root, EVERYTHING);
  w.input = (e) => {
    w.mutations++;
    // The change of a field that was typed into comes when the focus goes.
    if (e.type === 'input' || !(e.target instanceof Element) || !matches(e.target, 'input,textarea')) changed(w);
    const el = e.composedPath()[0];
    if (e.type === 'input' && el instanceof Element) noteMutation(el); // change comes with the blur, too
  };
  // That a popover opens or closes is no mutation.
  w.toggle = (e) => {
    w.mutations++;
    changed(w);
    if (e.target instanceof Element) noteMutation(e.target, e.newState === 'open');
  };
  w.saves = [];
  w.click = (e) => {
    if (w.saves.length < 10 && e.composedPath().some(isDownloadLink)) w.saves.push(e);
  };
  addEventListener('input', w.input, true);
  addEventListener('change', w.input, true);
  addEventListener('beforetoggle', w.toggle, true);
  addEventListener('click', w.click, true);
  return w;
};

// isDownloadLink reports whether a click on n, or in it, asks for a download (HTML, 4.6.5):
// no request of the document's tells of that.
const isDownloadLink = (n) => n instanceof Element && (localName(n) === 'a' || localName(n) === 'area') && has(n, 'download') && /** @type {any} */ (n).href !== '';

// beginSettle begins, and returns the frame that has the focus, 0 for none.
/** @type {import('./functions.js').Functions['beginSettle']} */
export const beginSettle = (id) => {
  noteSecrets();
  acceptInput();
  startObserving(id ? node(id) : null);
  return focusedFrame(0);
};

/** @type {import('./functions.js').Functions['focusedFrame']} */
export const focusedFrame = () => {
  const focus = activeElement();
  return focus && /^i?frame$/.test(localName(focus)) ? idOf(focus) : 0;
};

function end() {
  if (!watched) return;
  if (watched.idle) {
    take(watched);
    reportLate(watched, true);
  }
  dropDetached();
  clearTimeout(watched.timer);
  clearTimeout(watched.late);
  watched.observer.disconnect();
  removeEventListener('input', watched.input, true);
  removeEventListener('change', watched.input, true);
  removeEventListener('beforetoggle', watched.toggle, true);
  removeEventListener('click', watched.click, true);
  watched = null;
}

// take counts the mutations of which the observer was not told yet.
function take(w) {
  const records = w.observer.takeRecords();
  if (records.length) note(w, records);
}

const LIVE = '[aria-live=polite],[aria-live=assertive],[role=alert],[role=status],[role=log],output';
// Live regions that are announced when they are inserted inside another element. A log is
// not: its content is history.
const ANNOUNCED_ON_INSERT = ':is(' + LIVE + '):not([role=log],[aria-live=off])';

// note counts mutations, and keeps what live regions (WAI-ARIA 1.2, 6.6.4) say: a whole
// region where it is new or atomic, else what has come into it.
function note(w, records) {
  w.mutations += records.length;
  if (w.idle ? !w.lateChange && visibly(records) : !w.changes && !records.every(isFocusOnlyMutation)) changed(w);
  w.wake();
  const regions = w.regions || (w.regions = new Map());
  const first = records.length > MANY ? records.slice(0, MANY) : records;
  noteRoots(w, first);
  if (!w.idle) noteSteps(w, first);
  noteRecords(records);
  // Of many, what stands in each other is looked at once.
  const many = records.length > MANY, regionOf = many ? nearest(LIVE) : (e) => closest(e, LIVE), added = new Set();
  for (const r of records) {
    if (r.type === 'attributes') continue;
    const e = nodeType(r.target) === ELEMENT ? r.target : parentNode(r.target);
    const region = e && nodeType(e) === ELEMENT && regionOf(e);
    if (!region || attr(region, 'aria-live') === 'off') {
      for (const n of r.addedNodes) {
        if (nodeType(n) !== ELEMENT) continue;
        if (matches(n, LIVE)) said(regions, n).add(n);
        else if (many) added.add(n);
        else noteRegions(regions, queryAll(n, ANNOUNCED_ON_INSERT));
      }
    } else if (atomic(region)) {
      said(regions, region).add(region);
    } else {
      for (const n of r.type === 'characterData' ? [r.target] : r.addedNodes) said(regions, region).add(n);
    }
  }
  for (const n of outermost(added)) noteRegions(regions, queryAll(n, ANNOUNCED_ON_INSERT));
  if (w.idle && regions.size) scheduleReport(w);
}

// nearest returns closest for many elements, which looks at each of their ancestors once.
function nearest(selector) {
  const known = new Map();
  return (el) => {
    const path = [];
    let p = el;
    for (; p && nodeType(p) === ELEMENT && !known.has(p) && !matches(p, selector); p = parentNode(p)) path.push(p);
    const found = known.has(p) ? known.get(p) : p && nodeType(p) === ELEMENT ? p : null;
    for (const q of path) known.set(q, found);
    return found;
  };
}

// changed records a change other than of the focus.
function changed(w) {
  w.changes++;
  if (!w.idle) return;
  w.lateChange = true;
  scheduleReport(w);
}

// FOCUS is what pages call the classes and attributes that follow the focus.
const FOCUS = /focus/i;

// isFocusOnlyMutation reports whether a mutation only follows the focus: a roving tabindex, a class.
function isFocusOnlyMutation(r) {
  if (r.type !== 'attributes') return false;
  const name = r.attributeName, now = attr(r.target, name) || '', was = r.oldValue || '';
  if (now === was || name === 'tabindex' || name.startsWith('data-') && FOCUS.test(name)) return true;
  if (name !== 'class') return false;
  const a = was.split(/\s+/), b = now.split(/\s+/);
  return [...a.filter((c) => !b.includes(c)), ...b.filter((c) => !a.includes(c))].every((c) => !c || FOCUS.test(c));
}

// visibly reports whether one of the mutations is of something that a client would be shown.
function visibly(records) {
  const nodes = new Set();
  for (const r of records) {
    if (r.type === 'characterData') return true;
    if (r.type === 'childList') for (const n of [...r.addedNodes, ...r.removedNodes]) nodes.add(n);
    else if (/^(class|style|hidden|open|disabled|aria-(?!describedby|labelledby|owns).*)$/.test(r.attributeName) && !isFocusOnlyMutation(r)) nodes.add(r.target);
  }
  return outermost(nodes).some(says); // what one says, what it stands in says
}

// says reports whether there is text in a node, or something to act on.
const says = (n) => /\S/.test(textContent(n)) || nodeType(n) === ELEMENT && (matches(n, CONTROLS) || queryAll(n, CONTROLS).length > 0);
const CONTROLS = 'a,button,input,select,textarea,img';

// LATE_DELAY is how long what is said after an action is collected, in milliseconds.
const LATE_DELAY = 100;
// How long a document is watched after an action, in milliseconds, and for how many mutations.
const LATE_WATCH = 30000, LATE_MUTATIONS = 20000;

function scheduleReport(w) {
  if (!w.late) w.late = setTimeout(() => reportLate(w, false), LATE_DELAY);
}

// reportLate tells the daemon what has come since the page was quiet.
function reportLate(w, before) {
  clearTimeout(w.late);
  w.late = 0;
  const tell = /** @type {any} */ (globalThis).__bdLate; // a binding of CDP
  const said = announced(w);
  w.regions = null;
  if ((said.length || w.lateChange) && typeof tell === 'function') tell(JSON.stringify({ announced: said, changed: w.lateChange, before }));
  w.lateChange = false;
  if (w.mutations > LATE_MUTATIONS && watched === w && !before) end();
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
        noteRegions(w.regions, come.querySelectorAll(ANNOUNCED_ON_INSERT));
      }
    }
  }
}

// said returns the set of nodes added to a region: of 20 regions at most, 50 nodes each.
function said(regions, region) {
  let list = regions.get(region);
  if (!list) {
    list = new Set();
    if (regions.size < 20) regions.set(region, list);
  }
  return list.size < 50 ? list : new Set();
}

// atomic reports whether a region is told as a whole (WAI-ARIA 1.2, 6.6.4.1): alerts and
// states are, where their author says nothing else.
function atomic(region) {
  const says = attr(region, 'aria-atomic');
  return says ? says === 'true' : localName(region) === 'output' || /^(alert|status)$/.test(attr(region, 'role'));
}

// announced returns the texts that the live regions said.
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

// saidBy returns the text of n; what slots show in it is not in its innerText.
const saidBy = (n) => (n instanceof HTMLElement ? innerText(n) || (rendered(n) ? someText(n, 200) : '') : textContent(n));

// FRAME_MS is how long a frame is waited for, in milliseconds.
const FRAME_MS = 50;

// QUIET_POLLS is how many polls in a row find no change where the document is quiet, and QUIET_POLLS_OF_STEPS
// where a script may be about to bring something into sight, or out of it, step by step:
// jQuery's steps are 13 ms apart, those of frames 17.
const QUIET_POLLS = 2, QUIET_POLLS_OF_STEPS = 5;

// STEP is what the style of an element says in such a step: it is not opaque, a part of its size is shown, or it is moved
// back or scaled.
const STEP = /(?:^|[\s;])(opacity: *0?(?:\.\d*)? *(?=[;!]|$)|overflow: *hidden|transform: *[^;]*(?:-|%|scale)[^;]*)/g;
const SIZED = /(?:^|[\s;])(?:height|width):/;
const MAX_STEPPED = 20; // elements of which this is asked

// stepOf returns that of a style, empty for none. Of a long one only the head is looked at: a page could make the search take long.
function stepOf(style) {
  const found = headOf(style, 2000).match(STEP);
  return found === null || found.length === 1 && found[0].includes('overflow') && !SIZED.test(style) ? '' : found.join();
}

const styleAttr = (el) => attr(el, 'style') || '';
const inStep = (el) => isConnected(el) && stepOf(styleAttr(el)) !== '';

// noteSteps keeps the elements that have come into such a step.
function noteSteps(w, records) {
  const add = (el) => { if (w.stepped.size < MAX_STEPPED && inStep(el)) w.stepped.add(el); };
  for (const r of records) {
    if (r.attributeName === 'style') {
      if (stepOf(r.oldValue || '') !== stepOf(styleAttr(r.target))) add(r.target);
    } else if (r.type === 'childList') {
      for (const n of r.addedNodes) if (nodeType(n) === ELEMENT) add(n);
    }
  }
}

// MAX_QUIET_WAIT_MS is how long the document may keep an action waiting by changing, in milliseconds.
const MAX_QUIET_WAIT_MS = 500;

// untilQuiet waits until the document has not changed for a moment, at most MAX_QUIET_WAIT_MS.
const untilQuiet = async (w, newDocument, shown) => {
  const until = performance.now() + MAX_QUIET_WAIT_MS;
  let seen = -1, unchanged = 0, followed = false;
  while (performance.now() < until) {
    take(w);
    // The polls are a timer's turn apart. After a change they
    // are further apart where a snapshot follows, since renderers batch.
    if (w.mutations === seen) {
      if (++unchanged >= (shown && [...w.stepped].some(inStep) ? QUIET_POLLS_OF_STEPS : QUIET_POLLS)) break;
    } else {
      unchanged = 0;
    }
    const first = seen < 0;
    seen = w.mutations;
    if (shown && !followed && (seen > 0 || !newDocument)) {
      followed = true;
      await nextFrame(FRAME_MS);
    }
    if (unchanged > 0 && seen > 0 && !shown && !newDocument) await nextTask();
    else await pause(first && !newDocument ? 0 : newDocument || shown && seen > 0 ? 8 : seen > 0 ? 3 : 1);
  }
};

// untilChanged waits until the document changes, at most max milliseconds.
const untilChanged = (w, max) => Promise.race([new Promise((r) => { w.wake = r; }), pause(max)]);

const SHOWN = 'img,canvas,svg,video,audio,iframe,frame,object,embed,input,button,select,textarea,a[href],[contenteditable]';
const MANY_SEEN = 500; // elements and texts that showsNothing looks at

// showsNothing reports whether a person would see an empty page: no text, no control, no picture.
function showsNothing() {
  const body = bodyOf(document);
  if (!body) return true;
  const seen = (el) => checkVisibility(el, { opacityProperty: true, visibilityProperty: true }) && rectOf(el).width > 0;
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  for (let n = walker.nextNode(), i = 0; n; n = walker.nextNode()) {
    const el = n.parentElement;
    if (!/\S/.test(/** @type {Text} */ (n).data) || !el || /^(script|style|noscript|template)$/.test(localName(el))) continue;
    if (++i > MANY_SEEN || seen(el)) return false;
  }
  let i = 0;
  for (const el of queryAll(body, SHOWN)) if (++i > MANY_SEEN || seen(el)) return false;
  for (const root of visitedRoots()) if (/\S/.test(textContent(root)) && seen(root.host)) return false;
  for (const el of elementsIn(body, '*')) {
    if (++i > MANY_SEEN) break;
    const root = localName(el).includes('-') && rootOf(el, localName(el));
    if (root && seen(el)) return false;
  }
  return true;
}

// MAX_ANIMATION_MS is how long what comes into sight is waited for, in milliseconds; what takes
// longer is not waited for at all.
const MAX_ANIMATION_MS = 600;

// Whether it has been told that the page closes its tab, which may come to nothing (beforeunload).
let closing = false;

// settle waits until the document is quiet, and says what happened since startObserving().
// new_document: it waits a little longer, since the document's scripts may only be starting.
// shown: a snapshot or delta follows. The next animation frame is then waited for, where
// pages often go on (a dialog's close event comes with it; HTML, 8.1.7.3), and where
// frameworks such as Mithril draw all that an event has changed.
// With either, what comes into sight is waited for, too. late is how many milliseconds the
// first change may take: menus and hints open a while after the mouse has come.
// empty is how many milliseconds a document with scripts may take to show anything at all.
/** @type {import('./functions.js').Functions['settle']} */
export const settle = async ({ new_document: newDocument = false, shown = false, late = 0, empty = 0 }) => {
  const w = watched || startObserving(null);
  const settling = ++w.settling, action = currentAction();
  w.idle = false;
  clearTimeout(w.late);
  w.late = 0;
  // A document without scripts has said all it will say.
  const inert = () => newDocument && readyState(document) === 'complete' && !scriptsOf(document).length;
  if (!newDocument) await nextTask();
  else if (!inert()) await pause(1);
  if (!inert()) await untilQuiet(w, newDocument, shown);
  if (late && !w.mutations && !arriving(MAX_ANIMATION_MS).length) {
    await untilChanged(w, late);
    if (w.mutations) {
      for (let i = 0; i < 3; i++) await nextFrame(FRAME_MS); // transparent first, animated some frames later
      await untilQuiet(w, newDocument, shown);
    }
  }
  if (empty && scriptsOf(document).length && showsNothing()) {
    for (const until = performance.now() + empty; performance.now() < until && showsNothing();) await untilChanged(w, 50);
    await untilQuiet(w, newDocument, shown);
  }
  if (newDocument || shown) for (const until = performance.now() + MAX_ANIMATION_MS; await arrived(until);) await untilQuiet(w, newDocument, shown);
  // What came is told once, and not to an action that was given up.
  if (settling !== w.settling || action !== currentAction()) return { changed: false, focused: 0, announced: [], saves: false, closing: false, title: '', url: '' };
  const focused = activeElement();
  const result = {
    changed: w.changes > 0,
    focused: focused && focused !== w.focus && focused !== bodyOf(document) ? idOf(focused) : 0,
    announced: announced(w),
    saves: w.saves.some((e) => !e.defaultPrevented),
    closing: closed && !closing,
    title: cutName(titleOfPage(document)), url: location.href,
  };
  closing = closed;
  // Each result is reported once. Observation continues until the next action, at most
  // LATE_WATCH.
  w.regions = null;
  w.saves = [];
  w.stepped.clear();
  w.focus = focused;
  w.lateChange = false;
  watchOn(w);
  return result;
};

// watchOn has what comes from now on told as it comes.
function watchOn(w) {
  w.idle = true;
  clearTimeout(w.timer);
  w.timer = setTimeout(() => { if (watched === w) end(); }, LATE_WATCH);
}

// leaveUnsettled is for an action that was given up: what it has set off is told as what comes later.
export const leaveUnsettled = () => {
  const w = watched;
  if (!w || w.idle) return;
  if (w.regions && w.regions.size) scheduleReport(w);
  watchOn(w);
};

onNewDocument(end);
