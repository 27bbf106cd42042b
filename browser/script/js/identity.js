// What an element is recognised by when another has come in its place.

import { ALL_LASTING, bitsOf, ID, STABLE_ATTRS, LASTING_KEYS, LASTING_SHIFT } from './attributes.js';
import { attr } from './dom.js';
import { tagOf } from './flat-tree.js';

// stableIdOf returns a digest of the element's tag and of those attributes that
// outlive a new rendering of the same thing.
export function stableIdOf(el, bits = bitsOf(el), tag = tagOf(el)) {
  if (!(bits & (ID | ALL_LASTING))) {
    let s = tagIdents.get(tag);
    if (s === undefined) tagIdents.set(tag, s = digits(fnv(0x811c9dc5, tag)));
    return s;
  }
  let h = fnv(0x811c9dc5, tag);
  if (bits & ID) {
    const id = attr(el, 'id');
    if (id && !/\d|^:|--|__/.test(id)) h = fnv(fnv(h, '#'), id); // others are numbered by a machine
  }
  for (let left = bits & ALL_LASTING; left; left &= left - 1) { // the lowest bit first
    const i = 31 - Math.clz32(left & -left) - LASTING_SHIFT, a = STABLE_ATTRS[i];
    if (a === 'value' && !/^(radio|checkbox|submit|button)$/.test(attr(el, 'type'))) continue;
    h = fnv(fnv(h, LASTING_KEYS[i]), attr(el, a).slice(0, 500));
  }
  return digits(h);
}

const tagIdents = new Map(); // of elements that have nothing lasting but their tag
const digits = (h) => (h >>> 0).toString(36);

// fnv is FNV-1a over UTF-16 code units.
function fnv(h, s) {
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193);
  return h;
}
