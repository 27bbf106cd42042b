// read: what is in an element, as text, markdown, markup or values, from the
// live document: shadow trees and slots as they are laid out, without what is
// not rendered. A frame's place is kept for the daemon to fill in.

// seek finds what shows a text, or has a role and a name; see below.
const seek = (() => {
  const { contents, mask, checkState } = fill;

  // Out collects pieces: strings, and {frame} where a frame's content belongs.
  // Lines are broken as innerText does: at most as many breaks as were asked
  // for, between things that say something.
  class Out {
    constructor() {
      this.pieces = [];
      this.text = '';
      this.breaks = 0;
      this.began = false;
    }
    add(s) {
      if (s === '') return;
      if (this.breaks && this.began) this.text = this.text.replace(/[ \t]+$/, '') + '\n'.repeat(this.breaks);
      this.breaks = 0;
      this.began = true;
      this.text += s;
    }
    // space adds one space between words.
    space() { if (this.began && !this.breaks && !/\s$/.test(this.text)) this.text += ' '; }
    br(n) { this.breaks = Math.max(this.breaks, n); }
    frame(id) {
      this.br(2);
      this.add('');
      this.pieces.push(this.text.trimEnd(), { frame: id });
      this.text = '';
      this.breaks = 0;
      this.began = false;
    }
    end() {
      this.pieces.push(this.text.replace(/[ \t]+$/gm, ''));
      return this.pieces.filter((p) => p !== '');
    }
  }

  const SILENT = new Set(['script', 'style', 'noscript', 'template', 'head', 'meta', 'link', 'title', 'datalist', 'audio', 'video', 'canvas', 'object', 'embed', 'param', 'source', 'track', 'option', 'optgroup']);
  const FRAME = new Set(['iframe', 'frame']);
  const BLOCK = /^(block|flex|grid|table|list-item|flow-root|table-row|table-row-group|table-header-group|table-footer-group|table-caption|-webkit-box)$/;
  const silent = (el) => SILENT.has(localName(el)) || !laidOut(el) || transparent(el);
  // What is visibility:hidden says nothing itself, and may hold what is visible.
  const laidOut = (el) => rendered(el) || checkVisibility(el);
  const veiled = (el) => !rendered(el);
  const elementsIn = (el) => flatChildren(el).filter((k) => nodeType(k) === ELEMENT);

  // ---- Text

  const say = (out, n, pre) => {
    if (nodeType(n) === TEXT) {
      const s = textData(n);
      if (pre) return out.add(s);
      if (/^\s/.test(s)) out.space();
      const words = fold(s);
      out.add(words);
      if (words && /\s$/.test(s)) out.space();
      return;
    }
    if (nodeType(n) !== ELEMENT || silent(n)) return;
    if (veiled(n)) {
      for (const k of elementsIn(n)) say(out, k, false);
      return;
    }
    const tag = localName(n);
    if (FRAME.has(tag)) return out.frame(idOf(n));
    if (tag === 'br') return out.br(Math.min(2, out.breaks + 1));
    if (tag === 'select') return out.add([...n.selectedOptions].map((o) => fold(textContent(o))).join(', '));
    if (tag === 'input' || tag === 'textarea') return;
    if (tag === 'img') return;
    const style = styleOf(n), display = style.display, block = BLOCK.test(display);
    const gap = tag === 'p' || /^h[1-6]$/.test(tag) || tag === 'pre' || tag === 'blockquote' || tag === 'ul' || tag === 'ol' || tag === 'table' ? 2 : 1;
    if (display === 'table-cell' && flatParent(n) && flatChildren(flatParent(n)).find((c) => nodeType(c) === ELEMENT) !== n) out.add('\t');
    if (block) out.br(gap);
    const keeps = /^(pre|pre-wrap|pre-line|break-spaces)$/.test(style.whiteSpace);
    for (const c of flatChildren(n)) say(out, c, keeps);
    if (block) out.br(gap);
  };

  // ---- Markdown

  const url = (el, name) => {
    try { return new URL(attr(el, name), baseOf(page)).href; } catch { return attr(el, name); }
  };

  // inline is a run of text with its links, emphasis and code.
  const inline = (n, c) => {
    if (nodeType(n) === TEXT) return c.pre ? textData(n) : textData(n).replace(/\s+/g, ' ');
    if (nodeType(n) !== ELEMENT || silent(n) || c.skip(n)) return '';
    if (veiled(n)) return elementsIn(n).map((k) => inline(k, c)).join('');
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
        const s = textContent(n);
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
  const holdsBlock = (el, depth = 0) => depth < 12 && flatChildren(el).some((k) => nodeType(k) === ELEMENT && !silent(k) && (isBlock(k) || holdsBlock(k, depth + 1)));

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
    for (const n of veiled(el) ? elementsIn(el) : flatChildren(el)) {
      if (nodeType(n) === ELEMENT && !silent(n) && !c.skip(n) && (isBlock(n) || localName(n) !== 'a' && holdsBlock(n))) {
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
    if (veiled(n)) return blocks(n, c);
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
        const s = textContent(n).replace(/\n$/, '');
        const fence = s.includes('```') ? '````' : '```';
        return put(fence + (lang ? lang[1] : '') + '\n' + s + '\n' + fence);
      }
      case 'blockquote': return put(part(n, c, '> ') && '> ' + part(n, c, '> '));
      case 'ul': case 'ol': case 'menu': return put(list(n, c));
      case 'table': return put(table(n, c));
      case 'dl': {
        const rows = [];
        for (const k of allIn(n, 'dt,dd')) {
          if (silent(k)) continue;
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
      if (nodeType(k) !== ELEMENT || silent(k) || c.skip(k)) continue;
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
    const rows = [...el.rows].filter((r) => !silent(r) && ![r, ...allIn(r, '*')].every(veiled));
    const wide = Math.max(0, ...rows.map((r) => r.cells.length));
    if (wide < 2 || allIn(el, 'table').length || /^(none|presentation)$/.test(attr(el, 'role') || '')) {
      const out = [];
      for (const r of rows) for (const cell of r.cells) if (!silent(cell)) out.push(part(cell, c, ''));
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
        if (silent(x)) continue;
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
    const caption = el.caption && !silent(el.caption) && !veiled(el.caption) ? fold(textContent(el.caption)) + '\n\n' : '';
    return caption + [line(head), '|' + ' --- |'.repeat(columns), ...grid.map(line)].join('\n');
  };

  const markdown = (el, skip = () => false) => {
    const out = new Out(), c = { out, skip, indent: '', pre: false, frames: [] };
    if (el !== documentElementOf(page) && el !== bodyOf(page)) {
      const wrap = isBlock(el) || holdsBlock(el);
      if (wrap) block(el, c);
      else out.add(lines(inline(el, c)));
    } else blocks(el, c);
    // Frames that stand in lists and tables come at the end.
    for (const f of c.frames) out.frame(f.frame);
    return out.end();
  };

  // ---- The article of a page

  const ASIDE = 'nav,aside,footer,form,dialog,button,input,select,textarea,[role=navigation],[role=complementary],[role=banner],[role=contentinfo],[role=search],[role=dialog],[aria-hidden=true],[hidden]';
  const article = () => {
    const size = (e) => fold(textContent(e)).length;
    const body = bodyOf(page) || documentElementOf(page);
    const of = (selector) => [...allIn(page, selector)].filter((e) => rendered(e)).sort((a, b) => size(b) - size(a))[0];
    const main = of('main,[role=main]'), best = of('article,[role=article],[itemprop=articleBody]');
    const whole = size(body);
    let root = body;
    if (main && size(main) > Math.min(200, whole / 4)) root = main;
    if (best && size(best) > Math.max(200, size(root) * 0.4)) root = best;
    return markdown(root, (e) => matches(e, ASIDE) || localName(e) === 'header' && root === body || (localName(e) === 'svg'));
  };

  // ---- Values

  const value = (el) => {
    const tag = tagOf(el);
    if (tag === 'select') return [...el.selectedOptions].map((o) => fold(attr(o, 'label') || textContent(o))).join('\n');
    const state = checkState(el);
    if (state !== null && !(tag === 'option')) return String(state);
    if (el instanceof HTMLInputElement && el.type === 'file') return [...el.files].map((f) => f.name).join('\n');
    if (tag === 'input' || tag === 'textarea') return mask(el, contents(el));
    if (tag === 'option' || tag === 'progress' || tag === 'meter' || tag === 'output' || tag === 'data' || tag === 'li' || tag === 'button') return String(el.value);
    if (el instanceof HTMLElement && isContentEditable(el)) return contents(el);
    const inner = fill.controlOf(el, 'field');
    if (inner && inner !== el) return value(inner);
    for (const a of ['aria-valuetext', 'aria-valuenow']) if (has(el, a)) return attr(el, a);
    return null;
  };

  const attributes = (el) => {
    const all = {};
    for (const { name, value: v } of Element.prototype.getAttributeNames.call(el).map((n) => ({ name: n, value: attr(el, n) }))) all[name] = name === 'value' ? mask(el, v) : v;
    return all;
  };

  // html is the markup, with the secrets in it masked.
  const html = (el) => {
    const of = getter(Element, 'outerHTML');
    let s = of(el);
    for (const e of [el, ...allIn(el, 'input[value]')]) {
      if (!(e instanceof HTMLInputElement) || !attr(e, 'value') || mask(e, attr(e, 'value')) === attr(e, 'value')) continue;
      const shell = of(e.cloneNode(false)), masked = shell.replace(/ value="[^"]*"/, ' value="' + mask(e, 'x') + '"');
      s = s.split(shell).join(masked);
    }
    for (const e of [el, ...allIn(el, 'textarea')]) {
      if (!(e instanceof HTMLTextAreaElement) || !textContent(e) || mask(e, 'x') === 'x') continue;
      s = s.split(of(e)).join(of(e.cloneNode(false)).replace(/(?=<\/)/, mask(e, 'x')));
    }
    return s;
  };

  __bd.read = ({ node: id, kind, attr: name }) => {
    forget();
    const el = id ? node(id) : documentElementOf(page);
    if (!el) return { gone: true };
    switch (kind) {
      case 'markdown': return { pieces: markdown(id ? el : bodyOf(page) || el) };
      case 'article': return { pieces: id ? markdown(el, (e) => e !== el && matches(e, ASIDE)) : article() };
      case 'html': return { pieces: [html(el)] };
      case 'value': {
        const v = value(el);
        return v === null ? { none: true } : { pieces: [v] };
      }
      case 'attrs': {
        const all = attributes(el);
        if (!name) return { pieces: [JSON.stringify(all)] };
        return name.toLowerCase() in all ? { pieces: [all[name.toLowerCase()]] } : { none: true };
      }
    }
    if (id && /^(input|textarea|select)$/.test(tagOf(el))) return { pieces: [value(el) || ''] };
    const out = new Out();
    say(out, id ? el : bodyOf(page) || el, false);
    return { pieces: out.end() };
  };

  // ---- Finding

  // lowerText is what an element says, folded, in lower case; of those that are
  // not rendered nothing.
  const seek = (q) => {
    const text = fold(q.text || '').toLowerCase(), name = fold(q.name || '').toLowerCase(), role = (q.role || '').toLowerCase();
    const found = [];
    let count = 0;
    const fits = (el) => {
      const r = roleOf(el) || 'generic';
      if (role && r !== role) return false;
      return !name || fold(nameOf(el) || '').toLowerCase().includes(name);
    };
    // visit returns the text of n and whether something in it was found.
    const visit = (n) => {
      if (nodeType(n) === TEXT) return { says: textData(n), hit: false };
      if (nodeType(n) !== ELEMENT || count >= q.limit) return { says: '', hit: false };
      const tag = localName(n);
      if (SILENT.has(tag) && tag !== 'option' && tag !== 'optgroup' && tag !== 'video' && tag !== 'audio') return { says: '', hit: false };
      if (tag !== 'option' && tag !== 'optgroup' && (!laidOut(n) || tag === 'select' && veiled(n))) return { says: '', hit: false };
      if (FRAME.has(tag)) {
        if (veiled(n)) return { says: '', hit: false };
        if ((role || name) && !text && fits(n)) add(n);
        found.push({ frame: idOf(n) });
        return { says: '', hit: false };
      }
      // An element comes before those in it: its place is kept.
      const place = found.length;
      const shown = tag === 'option' || tag === 'optgroup' || !veiled(n);
      const mine = shown && (role || name) && fits(n);
      if (mine && !text) add(n);
      let says = '', hit = false;
      const inlined = /^inline/.test(styleOf(n).display);
      for (const k of shown ? flatChildren(n) : elementsIn(n)) {
        const got = visit(k);
        says += got.says;
        hit = hit || got.hit;
      }
      if (text && shown) {
        if (n instanceof HTMLInputElement && /^(button|submit|reset)$/.test(n.type)) says = n.value;
        const here = fold(says).toLowerCase().includes(text);
        // By text alone the innermost element is meant; with a role or a name the
        // innermost that has them.
        // A slot has no place of its own: what shows the text is what it stands in.
        if (here && !hit && (mine || !role && !name && tag !== 'slot')) {
          const is = mine ? n : labelled(n);
          if (!found.includes(is)) {
            found.splice(place, 0, is);
            count++;
          }
          hit = true;
        }
      }
      return { says: inlined ? says : ' ' + says + ' ', hit };
    };
    const add = (n) => {
      found.push(n);
      count++;
    };
    const root = documentElementOf(page); // none while another document takes its place
    if (root) visit(root);
    return found;
  };

  // labelled is the field whose label n is, or is part of, as a snapshot shows it by
  // that name; n where it is none's, or another control's in the label.
  const labelled = (n) => {
    const label = closest(n, 'label'), c = label && label.control;
    if (!c || !rendered(c)) return n;
    for (let e = n; e !== label; e = parentNode(e)) if (matches(e, OPERABLE)) return n;
    return c;
  };

  __bd.find = (q) => {
    forget();
    return seek(q).map((n) => (n.frame ? n : { line: nodeLine(n, q.attrs), context: contextOf(n) }));
  };

  return seek;
})();
