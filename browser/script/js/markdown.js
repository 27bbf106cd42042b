// An element as Markdown.

import { checkState } from './choosing.js';
import { attr, baseOf, bodyOf, documentElementOf, ELEMENT, has, localName, nodeType, parentNode, TEXT, textContent } from './dom.js';
import { flatChildren } from './flat-tree.js';
import { styleOf } from './node-cache.js';
import { idOf } from './node-ids.js';
import { page } from './page.js';
import { BLOCK, childElements, isSilent, Out, seenText, isNotRendered, wholeText } from './read-text.js';
import { allIn } from './refs.js';
import { hidesText } from './secrets.js';
import { fold } from './text.js';
import { MASK } from './values.js';

const url = (el, name) => {
  try { return new URL(attr(el, name), baseOf(page)).href; } catch { return attr(el, name); }
};

// inline returns a run of text with its links, emphasis and code.
const inline = (n, c) => {
  if (nodeType(n) === TEXT) return c.pre ? seenText(n) : seenText(n).replace(/\s+/g, ' ');
  if (nodeType(n) !== ELEMENT || isSilent(n) || c.skip(n)) return '';
  if (hidesText(n)) return MASK;
  if (isNotRendered(n)) return childElements(n).map((k) => inline(k, c)).join('');
  const tag = localName(n);
  const inner = () => flatChildren(n).map((k) => inline(k, c)).join('');
  // around puts marks at the words, not at the white space beside them.
  const around = (mark) => inner().replace(/^(\s*)([^]*?)(\s*)$/, (_, a, s, z) => (s ? a + mark + s + mark + z : a + z));
  switch (tag) {
    case 'br': return '\n';
    case 'a': {
      const s = fold(inner());
      return has(n, 'href') && s ? '[' + s.replace(/[[\]]/g, '\\$&') + '](' + url(n, 'href').replace(/[()\s]/g, encodeURIComponent) + ')' : s;
    }
    case 'strong': case 'b': return around('**');
    case 'em': case 'i': return around('*');
    case 'del': case 's': return around('~~');
    case 'code': case 'kbd': case 'samp': {
      const s = wholeText(n);
      if (!s.trim()) return s;
      return s.includes('`') ? '`` ' + s + ' ``' : '`' + s + '`';
    }
    case 'img': {
      const alt = fold(attr(n, 'alt') || '');
      return alt && !/^data:/.test(attr(n, 'src') || '') ? '![' + alt.replace(/[[\]]/g, '\\$&') + '](' + url(n, 'src') + ')' : alt;
    }
    case 'input': {
      const type = n.type;
      if (type === 'checkbox' || type === 'radio') return checkState(n) === true ? '[x] ' : '[ ] ';
      return '';
    }
    case 'select': return [...n.selectedOptions].map((o) => fold(textContent(o))).join(', ');
    case 'textarea': case 'iframe': case 'frame': case 'svg': return '';
  }
  return inner();
};

const lines = (s) => s.split('\n').map((l) => l.replace(/[ \t]+/g, ' ').trim()).join('\n').trim();
const isBlock = (el) => {
  const tag = localName(el);
  if (/^(h[1-6]|p|ul|ol|dl|pre|blockquote|table|hr|iframe|frame)$/.test(tag)) return true;
  const display = styleOf(el).display;
  return BLOCK.test(display) || display === 'table-cell';
};
// holdsBlock: an inline element or a slot around blocks is looked through.
const holdsBlock = (el, depth = 0) => depth < 12 && flatChildren(el).some((k) => nodeType(k) === ELEMENT && !isSilent(k) && (isBlock(k) || holdsBlock(k, depth + 1)));

// blocks writes what is in el, one paragraph after the other.
const blocks = (el, c) => {
  let run = [];
  const flush = () => {
    const s = lines(run.map((n) => inline(n, c)).join(''));
    run = [];
    if (s) {
      c.out.br(2);
      c.out.add(s.replace(/\n/g, '\n' + c.indent));
      c.out.br(2);
    }
  };
  for (const n of isNotRendered(el) ? childElements(el) : flatChildren(el)) {
    if (nodeType(n) === ELEMENT && !isSilent(n) && !c.skip(n) && (isBlock(n) || localName(n) !== 'a' && holdsBlock(n))) {
      flush();
      block(n, c);
    } else if (nodeType(n) === TEXT || nodeType(n) === ELEMENT) run.push(n);
  }
  flush();
};

// part gives what is written of el by itself, indented behind its first line.
const part = (el, c, indent) => {
  const out = new Out();
  blocks(el, { ...c, out, indent: '' });
  const pieces = out.end();
  for (const p of pieces) if (typeof p !== 'string') c.frames.push(p);
  return pieces.filter((p) => typeof p === 'string').join('\n\n').trim().replace(/\n/g, '\n' + indent);
};

const block = (n, c) => {
  if (isNotRendered(n)) return blocks(n, c);
  if (hidesText(n)) { c.out.br(2); c.out.add(MASK); return c.out.br(2); }
  const { out } = c, tag = localName(n);
  const put = (s) => {
    if (!s) return;
    out.br(2);
    out.add(s);
    out.br(2);
  };
  const heading = /^h([1-6])$/.exec(tag);
  if (heading || attr(n, 'role') === 'heading') {
    const level = heading ? +heading[1] : Math.min(6, Math.max(1, +attr(n, 'aria-level') || 2));
    const s = fold(flatChildren(n).map((k) => inline(k, c)).join(''));
    return put(s && '#'.repeat(level) + ' ' + s);
  }
  switch (tag) {
    case 'iframe': case 'frame': return out.frame(idOf(n));
    case 'hr': return put('---');
    case 'pre': {
      const lang = /\b(?:language|lang|highlight-source|brush:)-?\s*([\w+#-]+)/.exec((attr(n, 'class') || '') + ' ' + [...allIn(n, '[class]')].slice(0, 1).map((e) => attr(e, 'class')).join(' '));
      const s = wholeText(n).replace(/\n$/, '');
      if (!s.trim()) return;
      const fence = s.includes('```') ? '````' : '```';
      return put(fence + (lang ? lang[1] : '') + '\n' + s + '\n' + fence);
    }
    case 'blockquote': return put(part(n, c, '> ') && '> ' + part(n, c, '> '));
    case 'ul': case 'ol': case 'menu': return put(list(n, c));
    case 'table': return put(table(n, c));
    case 'dl': {
      const rows = [];
      for (const k of allIn(n, 'dt,dd')) {
        if (isSilent(k)) continue;
        const s = part(k, c, '  ');
        if (s) rows.push(localName(k) === 'dt' ? '**' + fold(s) + '**' : ': ' + s);
      }
      return put(rows.join('\n'));
    }
  }
  blocks(n, c);
};

const list = (el, c) => {
  const items = [];
  let number = localName(el) === 'ol' ? el.start : 0;
  for (const k of flatChildren(el)) {
    if (nodeType(k) !== ELEMENT || isSilent(k) || c.skip(k)) continue;
    const mark = localName(el) === 'ol' ? number++ + '. ' : '- ';
    // A list within an item follows it without an empty line.
    const s = part(k, c, '').replace(/\n\n(?=(?:- |\d+\. ))/g, '\n').replace(/\n(?=[^\n])/g, '\n' + ' '.repeat(mark.length));
    if (s) items.push(localName(k) === 'ul' || localName(k) === 'ol' ? ' '.repeat(2) + s.replace(/\n/g, '\n  ') : mark + s);
  }
  return items.join('\n');
};

// table writes a table of data with pipes; one that only lays out is looked
// through.
const table = (el, c) => {
  const rows = [...el.rows].filter((r) => !isSilent(r) && ![r, ...allIn(r, '*')].every(isNotRendered));
  const cells = Math.max(0, ...rows.map((r) => r.cells.length));
  if (cells < 2 || allIn(el, 'table').length || /^(none|presentation)$/.test(attr(el, 'role') || '')) {
    const out = [];
    for (const r of rows) for (const cell of r.cells) if (!isSilent(cell)) out.push(part(cell, c, ''));
    return out.filter(Boolean).join('\n\n');
  }
  const cell = (x) => fold(part(x, c, '').replace(/\n+/g, ' ')).replace(/\|/g, '\\|');
  // A cell that spans rows has its columns in those below, too, as far as its
  // group of rows goes (HTML, forming a table): until which row, by column.
  let group = null, until = [];
  const grid = rows.map((r, y) => {
    if (parentNode(r) !== group) until = [];
    group = parentNode(r);
    const list = [];
    const pass = () => { while (until[list.length] > y) list.push(''); };
    for (const x of r.cells) {
      if (isSilent(x)) continue;
      pass();
      const text = cell(x), end = x.rowSpan ? y + x.rowSpan : Infinity;
      for (let i = 0; i < Math.min(x.colSpan, 50); i++) {
        until[list.length] = Math.max(until[list.length] || 0, end);
        list.push(i ? '' : text);
      }
    }
    pass();
    return list;
  });
  const columns = Math.max(...grid.map((r) => r.length));
  const line = (r) => '| ' + [...r, ...Array(columns - r.length).fill('')].join(' | ') + ' |';
  const headed = rows[0] && [...rows[0].cells].every((x) => localName(x) === 'th');
  const head = headed ? grid.shift() : Array(columns).fill('');
  const caption = el.caption && !isSilent(el.caption) && !isNotRendered(el.caption) ? fold(wholeText(el.caption)) + '\n\n' : '';
  return caption + [line(head), '|' + ' --- |'.repeat(columns), ...grid.map(line)].join('\n');
};

export const markdown = (el, skip = () => false) => {
  const out = new Out(), c = { out, skip, indent: '', pre: false, frames: /** @type {{frame: number}[]} */ ([]) };
  if (el !== documentElementOf(page) && el !== bodyOf(page)) {
    const wrap = isBlock(el) || holdsBlock(el);
    if (wrap) block(el, c);
    else out.add(lines(inline(el, c)));
  } else blocks(el, c);
  // Frames that stand in lists and tables come at the end.
  for (const f of c.frames) out.frame(f.frame);
  return out.end();
};
