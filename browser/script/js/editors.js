// Editors that read a hidden field and paint what is written themselves: Monaco,
// CodeMirror 5, Ace and xterm. The field is what is typed into; what is painted is what it
// holds. Their own models are the page's, and out of reach.

import { allOf, allOfClass, closest, has, matches, queryAll, queryAllOf, rectOf, textContent } from './dom.js';
import { onForget, page } from './page.js';

const KINDS = [
  { box: '.monaco-editor', field: '.native-edit-context,textarea.inputarea', lines: '.view-lines>.view-line', layers: '.margin,.overflow-guard>.editor-scrollable,.minimap,.decorationsOverviewRuler,.scroll-decoration' },
  { box: '.CodeMirror', field: 'textarea', lines: '.CodeMirror-code .CodeMirror-line', layers: '.CodeMirror-scroll' },
  { box: '.ace_editor', field: '.ace_text-input', lines: '.ace_text-layer>.ace_line_group,.ace_text-layer>.ace_line', layers: '.ace_gutter,.ace_scroller,.ace_scrollbar' },
  { box: '.xterm', field: '.xterm-helper-textarea', lines: '.xterm-rows>div', layers: '.xterm-screen>:not(.xterm-helpers),.xterm-viewport,.xterm-scrollable-element' },
];
const BOXES = KINDS.map((k) => k.box).join(',');

/** @type {boolean | null} */ let any = null; // the document has one; of one walk or question
/** @type {Set<any>} */ let layers = new Set(); // what they paint
onForget(() => {
  any = null;
  layers = new Set();
});

// The field of each is a text area or has the class native-edit-context. To count those
// costs a tenth of what it costs to look for the boxes.
function look() {
  any = false;
  if (allOf(page, 'textarea').length === 0 && allOfClass(page, 'native-edit-context').length === 0) return;
  const boxes = queryAllOf(page, BOXES);
  any = boxes.length > 0;
  for (const box of boxes) {
    const kind = KINDS.find((k) => matches(box, k.box));
    if (kind) for (const e of queryAll(box, kind.layers)) if (!queryAll(e, kind.field).length) layers.add(e);
  }
}

// isPainted reports whether el is a layer that an editor paints: its field says what is there.
export function isPainted(el) {
  if (any === null) look();
  return layers.size > 0 && layers.has(el);
}

// editorOf returns the editor whose field el is: {box, kind}; null if it is none's.
export function editorOf(el) {
  if (any === null) look();
  if (!any) return null;
  const box = closest(el, BOXES);
  if (!box || box === el) return null;
  const kind = KINDS.find((k) => matches(box, k.box));
  return kind && matches(el, kind.field) ? { box, kind } : null;
}

// isTerminal reports whether an editor is a terminal, in which what was written stays.
export const isTerminal = (editor) => editor.kind.box === '.xterm';

// isWrittenAsWhole reports whether el holds its text in its editor's way, to be written as a whole: key
// by key, brackets would be closed that the text closes itself.
export const isWrittenAsWhole = (el) => {
  const editor = editorOf(el);
  return editor ? !isTerminal(editor) : has(el, 'class') && matches(el, '.cm-content');
};

// painted returns what an editor shows, line by line. Lines far out of sight are not painted.
export function painted({ box, kind }) {
  const lines = [...queryAll(box, kind.lines)].filter((l) => !(kind.box === '.ace_editor' && matches(l, '.ace_line_group .ace_line')));
  if (kind.box === '.monaco-editor') lines.sort((a, b) => rectOf(a).top - rectOf(b).top); // they are used again in any order
  const text = lines.map((l) => lineText(l)).join('\n');
  return isTerminal({ kind }) ? text.replace(/\s+$/, '') : text;
}

const lineText = (l) => (textContent(l) || '').replace(/\u00a0/g, ' ').replace(/[\u200b\u200c\ufeff]/g, '').replace(/[ \t]+$/, '');
