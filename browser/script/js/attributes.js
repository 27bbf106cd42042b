// Which attributes an element has.

import { attributeNames, hasAny } from './dom.js';

// Attributes are asked for often and mostly in vain, so bitsOf reads their names
// once: a bit for each that is asked for, which is passed on to who asks.
export const HAS_ATTRIBUTES = 1, LABEL = 2, LABELLEDBY = 4, TITLE = 8, TABINDEX = 16, EDITABLE = 32, ARIA_HIDDEN = 64, INERT = 128, HANDLER = 256,
  DRAGGABLE = 512, OWNS = 1024, ARIA = 2048, ID = 4096;
export const LASTING_SHIFT = 13, FIRST_LASTING = 1 << LASTING_SHIFT; // from there on one for each of LASTING
export const POPOVER = 1 << 29, COMMAND = 1 << 30; // behind those of LASTING
const HANDLERS = ['onclick', 'ondblclick', 'onmousedown', 'onmouseup', 'onpointerdown', 'onpointerup', 'ontouchstart'];
export const STABLE_ATTRS = ['type', 'name', 'href', 'for', 'role', 'placeholder', 'alt', 'action', 'src', 'data-testid', 'data-test',
  'data-id', 'data-key', 'data-value', 'data-action', 'value'];
export const LASTING_KEYS = STABLE_ATTRS.map((a) => '\0' + a + '='); // as stableIdOf digests them
export const ALL_LASTING = FIRST_LASTING * ((1 << STABLE_ATTRS.length) - 1);
/** @type {Map<string, number>} */
export const BITS = new Map(/** @type {[string, number][]} */ ([
  ['aria-label', LABEL], ['aria-labelledby', LABELLEDBY], ['title', TITLE], ['tabindex', TABINDEX], ['contenteditable', EDITABLE],
  ['aria-hidden', ARIA_HIDDEN], ['inert', INERT], ['draggable', DRAGGABLE], ['aria-owns', OWNS], ['id', ID],
  ['popovertarget', POPOVER], ['commandfor', COMMAND],
  ...HANDLERS.map((h) => [h, HANDLER]), ...STABLE_ATTRS.map((a, i) => [a, FIRST_LASTING << i]),
]));
export const ROLE = BITS.get('role') || 0, HREF = BITS.get('href') || 0;

// bitsOf returns the bits of what el has. ARIA is any other aria- attribute.
export function bitsOf(el) {
  if (!hasAny(el)) return 0;
  let bits = HAS_ATTRIBUTES;
  for (const name of attributeNames(el)) {
    const bit = BITS.get(name);
    if (bit !== undefined) bits |= bit;
    else if (name.startsWith('aria-')) bits |= ARIA;
  }
  return bits;
}
