// The values of controls, with secrets masked.

import { EDITABLE } from './attributes.js';
import { attr, isContentEditable } from './dom.js';
import { editorOf, painted } from './editors.js';
import { writtenText } from './element-text.js';
import { htmlTag, isHTML } from './flat-tree.js';
import { NAME_MAX } from './name.js';
import { isHost } from './role.js';
import { secret } from './secrets.js';
import { fold, headOf } from './text.js';

export const MASK = '\u2022\u2022\u2022';

// valueOf returns a control's value as it may be shown.
export function valueOf(el, role, tag = htmlTag(el), bits = EDITABLE) {
  const editor = role === 'textbox' ? editorOf(el) : null;
  if (editor) return headOf(painted(editor), NAME_MAX);
  switch (tag) {
    case 'input':
      if (/^(checkbox|radio|submit|button|reset|image|hidden)$/.test(el.type)) return '';
      if (el.type === 'file') return Array.from(el.files || [], (f) => f.name).join(', ');
      return el.value && secret(el) ? MASK : el.value;
    case 'textarea': return el.value && secret(el) ? MASK : headOf(el.value, NAME_MAX);
    case 'select': return fold(Array.from(el.selectedOptions, (o) => o.label).join(', '));
    case 'progress': return el.position < 0 ? '' : String(el.value);
    case 'meter': return String(el.value);
  }
  if (bits & EDITABLE && isHost(el) || (role === 'textbox' && isHTML(el) && isContentEditable(el))) {
    const text = fold(writtenText(el, NAME_MAX));
    return text && secret(el) ? MASK : text;
  }
  switch (role) {
    case 'slider': case 'spinbutton': case 'progressbar': case 'meter': case 'scrollbar':
      return fold(attr(el, 'aria-valuetext') || attr(el, 'aria-valuenow') || '');
    case 'textbox': case 'searchbox': return fold(writtenText(el, NAME_MAX));
  }
  return '';
}
