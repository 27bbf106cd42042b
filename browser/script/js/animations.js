// Transitions and animations that bring something into sight or out of it. A drawer
// that slides in is not there yet when the document has been quiet for a moment.

import { matches, method, query, rectOf, textContent, visibilityOf } from './dom.js';
import { visitedRoots } from './flat-tree.js';
import { watched } from './settle.js';
import { operable } from './shown-name.js';
import { pause } from './tasks.js';
import { blank } from './text.js';

const animationsIn = { document: method(Document, 'getAnimations'), root: method(ShadowRoot, 'getAnimations') };

// PLACES are animated properties that bring something into sight by where it stands, and
// SIZES those that do it from nothing, or to it.
const PLACES = /^(transform|translate|scale|top|right|bottom|left|inset.*|margin.*)$/;
const SIZES = /^((max|min)?(width|height|inlineSize|blockSize)|gridTemplate(Rows|Columns)|flexBasis)$/i;
const LARGE = 10000; // square pixels: less moves within what is in sight, as a field's label does

// arriving returns the animations that are over within so many milliseconds, and with which
// something that has words or can be acted on comes into sight or goes. What is
// under the pointer lifts and grows by that alone.
export const arriving = (within) => {
  const list = animationsIn.document(document);
  for (const root of new Set([...watched ? watched.roots : [], ...visitedRoots()])) list.push(...animationsIn.root(root));
  return list.slice(0, 100).filter((a) => {
    const el = a.effect && a.effect.target;
    if (a.playState !== 'running' || !el || a.effect.pseudoElement || !(a.effect instanceof KeyframeEffect)) return false;
    const time = a.effect.getComputedTiming(), left = (time.endTime - (time.localTime || 0)) / Math.abs(a.playbackRate);
    if (!(left > 0 && left <= within)) return false;
    const frames = a.effect.getKeyframes(), some = (test) => frames.some((k) => Object.keys(k).some((p) => test(p, k[p])));
    const appears = some((p, v) => p === 'visibility' || p === 'display' || p === 'contentVisibility' || (p === 'opacity' ? v < 0.1 : SIZES.test(p) && parseFloat(v) === 0));
    if (!appears && (matches(el, ':hover') || !some((p) => PLACES.test(p)))) return false;
    if (!appears) {
      const r = rectOf(el);
      if (r.width * r.height < LARGE) return false;
    }
    return !!query(el, 'a,button,input,select,textarea,[role],[tabindex],slot') || !blank(textContent(el)) || operable(el);
  });
};

// arrived waits until those are over that are there now, and reports whether there were any.
export const arrived = async (until) => {
  const left = until - performance.now(), list = left > 0 && visibilityOf(document) === 'visible' ? arriving(left) : [];
  if (!list.length) return false;
  await Promise.race([Promise.all(list.map((a) => a.finished.catch(() => {}))), pause(left)]);
  return true;
};
