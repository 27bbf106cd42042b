// The labels of form controls.

import { bitsOf, ID } from './attributes.js';
import { attr, closest, documentElementOf, ELEMENT, FOLLOWING, getRootNode, localName, nodeType, parentNode, position, queryAll } from './dom.js';
import { onForget, page } from './page.js';

let labelling = null; // id → the labels that are for it; of one walk or question
onForget(() => { labelling = null; });

// labelsOf returns the labels of el in tree order. For el.labels Blink goes through
// the whole document, for each el after each change of it.
export function labelsOf(el, bits = bitsOf(el)) {
  if (getRootNode(el) !== page) return el.labels || [];
  const list = [];
  for (let l = closest(el, 'label'); l; l = nodeType(parentNode(l)) === ELEMENT ? closest(parentNode(l), 'label') : null) {
    if (l.control === el) list.push(l);
  }
  if (bits & ID) {
    if (labelling === null) {
      labelling = new Map();
      for (const l of queryAll(documentElementOf(page), 'label[for]')) {
        const id = attr(l, 'for');
        if (labelling.has(id)) labelling.get(id).push(l);
        else labelling.set(id, [l]);
      }
    }
    for (const l of labelling.get(attr(el, 'id')) || []) if (l.control === el && !list.includes(l)) list.push(l);
  }
  return list.length > 1 ? list.sort((a, b) => (position(a, b) & FOLLOWING ? -1 : 1)) : list;
}

export const FIELDS = 'input,select,textarea,button';
export const FIELD_TAGS = new Set(FIELDS.split(','));
export const isField = (el) => FIELD_TAGS.has(localName(el));
