// Scrolling the page and what is in it.

import { scrollTo } from './actionable.js';
import { scrollInto, scrollOn } from './controls.js';
import { bodyOf, clientHeight, clientWidth, documentElementOf, scrollerOf, scrollHeight, scrollLeft, scrollTop, scrollWidth } from './dom.js';
import { flatParent } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { page } from './page.js';
import { everyElement } from './refs.js';
import { startObserving } from './settle.js';
import { nextFrame } from './tasks.js';

// scroller returns what scrolls when a person turns the wheel over el.
const scroller = (el, axis) => {
  for (let e = el; e && e !== bodyOf(page) && e !== documentElementOf(page); e = flatParent(e)) {
    const s = styleOf(e), o = axis === 'x' ? s.overflowX : s.overflowY;
    const more = axis === 'x' ? scrollWidth(e) - clientWidth(e) : scrollHeight(e) - clientHeight(e);
    if (more > 1 && (o === 'auto' || o === 'scroll' || o === 'hidden')) return e;
  }
  return scrollerOf(page) || documentElementOf(page);
};
// widest returns the page's main scroller where the page itself does not scroll.
const widest = () => {
  const whole = scrollerOf(page) || documentElementOf(page);
  if (!whole || scrollHeight(whole) - clientHeight(whole) > 1) return whole;
  let best = whole, size = 0;
  everyElement(page, (e) => {
    if (scrollHeight(e) - clientHeight(e) <= 1 || e === whole) return;
    const o = styleOf(e).overflowY;
    if (o !== 'auto' && o !== 'scroll') return;
    const area = clientWidth(e) * clientHeight(e);
    if (area > size) {
      size = area;
      best = e;
    }
  });
  return best;
};

const doScroll = (el, { direction, pixels, to }) => {
  let s;
  if (!to && !direction) {
    scrollTo(el, 'center');
    s = scroller(flatParent(el) || el, 'y');
  } else {
    const axis = direction === 'left' || direction === 'right' ? 'x' : 'y';
    s = el ? scroller(el, axis) : axis === 'y' ? widest() : scrollerOf(page) || documentElementOf(page);
    if (!s) return { x: 0, y: 0, max_x: 0, max_y: 0 }; // a document without an element, as while it loads
    if (to) scrollInto(s, { top: to === 'top' ? 0 : scrollHeight(s), behavior: 'instant' });
    else {
      const step = pixels || Math.round((axis === 'x' ? clientWidth(s) : clientHeight(s)) * 0.9);
      const sign = direction === 'up' || direction === 'left' ? -1 : 1;
      scrollOn(s, { left: axis === 'x' ? sign * step : 0, top: axis === 'y' ? sign * step : 0, behavior: 'instant' });
    }
  }
  return { x: scrollLeft(s), y: scrollTop(s), max_x: Math.max(0, scrollWidth(s) - clientWidth(s)), max_y: Math.max(0, scrollHeight(s) - clientHeight(s)) };
};
/** @type {import('./functions.js').ElementFunctions['scrollFrom']} */
export const scrollFrom = (el, o) => doScroll(el, o);
/** @type {import('./functions.js').Functions['scrollPage']} */
export const scrollPage = async (o) => {
  startObserving(null);
  return doScroll(null, o);
};
// afterScroll lets what listens to scrolling run: its events come with a frame.
/** @type {import('./functions.js').Functions['afterScroll']} */
export const afterScroll = async () => { await nextFrame(); return true; };
