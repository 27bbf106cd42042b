// Locators: what Playwright calls by that name, and its selectors.

// ---- locators

const TIMEOUT = 5000;
let defaultTimeout = TIMEOUT;
const timeoutOf = (o) => (o && o.timeout > 0 ? o.timeout : defaultTimeout);

const quotedArg = (s) => s.replace(/^(["'])([\s\S]*)\1$/, '$2').replace(/\\(["'\\])/g, '$1');

// parts splits a selector at a separator that stands in no quotes or brackets.
const parts = (s, separator) => {
  const list = [];
  let depth = 0, quote = '', from = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s[i];
    if (quote) { if (c === '\\') i++; else if (c === quote) quote = ''; continue; }
    if (c === '"' || c === "'") quote = c;
    else if (c === '(' || c === '[') depth++;
    else if (c === ')' || c === ']') depth--;
    else if (!depth && s.startsWith(separator, i)) { list.push(s.slice(from, i)); i += separator.length - 1; from = i + 1; }
  }
  return [...list, s.slice(from)];
};

// cssSteps are the steps of a CSS selector with Playwright's pseudo-classes.
const cssSteps = (css) => {
  const list = parts(css, ',');
  if (list.length > 1 && /:(has-text|text|text-is|text-matches|visible|nth-match)\b/.test(css)) {
    const [first, ...rest] = list.map((s) => cssSteps(s.trim()));
    return [...first, ...rest.map((or) => ({ or }))];
  }
  const steps = [], m = /:(has-text|text-is|text-matches|text|visible)\b(?=\(|$|[^-\w])/;
  let rest = css.trim(), scoped = false;
  for (;;) {
    const at = m.exec(rest);
    const head = (at ? rest.slice(0, at.index) : rest).trim();
    const beside = scoped && /^([+~])\s*([^\s>+~]+)\s*(.*)$/.exec(head);
    if (beside) {
      steps.push({ xpath: 'following-sibling::*' + (beside[1] === '+' ? '[1]' : '') }, { is: beside[2] });
      if (beside[3]) steps.push({ css: (/^[>+~]/.test(beside[3]) ? ':scope ' : '') + beside[3] });
    } else if (head || !at && !steps.length) steps.push({ css: (scoped && /^[>+~]/.test(head) ? ':scope ' : '') + (/[>+~ ]$/.test(head) && at ? head + ' *' : head) });
    else if (at && !steps.length) steps.push({ css: '*' });
    if (!at) return steps;
    rest = rest.slice(at.index + at[0].length);
    let arg = '';
    if (rest[0] === '(') {
      let depth = 0, i = 0, quote = '';
      for (; i < rest.length; i++) {
        const c = rest[i];
        if (quote) { if (c === '\\') i++; else if (c === quote) quote = ''; continue; }
        if (c === '"' || c === "'") quote = c; else if (c === '(') depth++; else if (c === ')' && !--depth) break;
      }
      arg = quotedArg(rest.slice(1, i).trim());
      rest = rest.slice(i + 1);
    }
    switch (at[1]) {
      case 'has-text': steps.push({ has_text: arg }); break;
      case 'text': steps.push({ own_text: arg }); break;
      case 'text-is': steps.push({ own_text: arg, exact: true }); break;
      case 'text-matches': steps.push({ own_text: { re: arg.replace(/["']\s*,\s*["'].*$/, ''), flags: 'i' } }); break;
      case 'visible': steps.push({ visible: true }); break;
    }
    scoped = true;
    if (!rest.trim()) return steps;
    if (/^[.#[:]/.test(rest)) rest = ':scope' + rest; // of the same element
    if (rest.startsWith(':scope')) {
      const own = /^:scope((?:[.#][\w-]+|\[[^\]]*\]|:[\w-]+(?:\([^)]*\))?)+)/.exec(rest);
      if (own && !m.test(own[1])) { steps.push({ is: own[1] }); rest = rest.slice(own[0].length); if (!rest.trim()) return steps; } else rest = rest.slice(6);
    }
  }
};

const selectorSteps = (selector) => {
  if (selector instanceof Locator) return selector.steps;
  const steps = [];
  for (let part of parts(String(selector), '>>')) {
    part = part.trim();
    const m = /^(css|text|xpath|id|role|data-testid|data-test|nth|visible|internal:[a-z-]+)=([\s\S]*)$/.exec(part);
    if (m) {
      const v = m[2];
      switch (m[1]) {
        case 'css': steps.push(...cssSteps(v)); break;
        case 'text': {
          const re = /^\/([\s\S]*)\/([a-z]*)$/.exec(v);
          steps.push(re ? { text: { re: re[1], flags: re[2] } } : { text: quotedArg(v), exact: /^["']/.test(v) });
          break;
        }
        case 'xpath': steps.push({ xpath: v }); break;
        case 'id': steps.push({ css: `[id=${stringify(v)}]` }); break;
        case 'data-testid': case 'data-test': steps.push({ css: `[${m[1]}=${stringify(v)}]` }); break;
        case 'nth': steps.push({ nth: +v }); break;
        case 'visible': steps.push({ visible: v === 'true' }); break;
        case 'role': {
          const role = /^[\w-]+/.exec(v)[0], s = { role };
          for (const [, k, op, value] of v.matchAll(/\[([\w-]+)(?:\s*(=)\s*("[^"]*"|'[^']*'|\/.*?\/[a-z]*|[^\]]*))?\s*(?:i|s)?\]/g)) {
            const re = value && /^\/(.*)\/([a-z]*)$/.exec(value);
            s[k] = !op ? true : re ? { re: re[1], flags: re[2] } : /^["']/.test(value) ? quotedArg(value) : value === 'true' ? true : value === 'false' ? false : /^\d+$/.test(value) ? +value : value;
            if (k === 'name') s.exact = !re;
          }
          steps.push(s);
        }
      }
    } else if (/^\(*\/\/|^\.\.(\/|$)|^\.\//.test(part)) steps.push({ xpath: part });
    else if (/^(["'])[\s\S]*\1$/.test(part)) steps.push({ text: quotedArg(part), exact: true });
    else steps.push(...cssSteps(part));
  }
  return steps;
};

const filterSteps = (o = {}) => [
  ...(o.hasText !== undefined ? [{ has_text: pattern(o.hasText) }] : []),
  ...(o.hasNotText !== undefined ? [{ has_not_text: pattern(o.hasNotText) }] : []),
  ...(o.has ? [{ has: o.has.steps }] : []), ...(o.hasNot ? [{ has_not: o.hasNot.steps }] : []),
  ...(o.visible !== undefined ? [{ visible: o.visible }] : []),
];

const exactly = (o) => (o && o.exact ? { exact: true } : {});
const roleStep = (role, o = {}) => {
  const s = { role };
  if (o.name !== undefined) s.name = pattern(o.name);
  for (const k of ['exact', 'checked', 'disabled', 'expanded', 'pressed', 'selected', 'level']) if (o[k] !== undefined) s[k] = o[k];
  if (o.includeHidden) s.include_hidden = true;
  return s;
};

// queries are the methods that page, frames and locators have alike.
const queries = {
  locator(s, o) { return this.below([...selectorSteps(s), ...filterSteps(o)], `locator(${shown(String(s.label ?? s))})`); },
  getByRole(role, o) { return this.below([roleStep(role, o)], `getByRole(${[stringify(role), ...(o ? [stringify(plain({ ...o, ...(isPattern(o.name) && { name: String(o.name) }) }))] : [])].join(', ')})`); },
  getByText(t, o) { return this.below([{ text: pattern(t), ...exactly(o) }], `getByText(${said(t)})`); },
  getByLabel(t, o) { return this.below([{ label: pattern(t), ...exactly(o) }], `getByLabel(${said(t)})`); },
  getByPlaceholder(t, o) { return this.below([{ placeholder: pattern(t), ...exactly(o) }], `getByPlaceholder(${said(t)})`); },
  getByAltText(t, o) { return this.below([{ alt: pattern(t), ...exactly(o) }], `getByAltText(${said(t)})`); },
  getByTitle(t, o) { return this.below([{ title: pattern(t), ...exactly(o) }], `getByTitle(${said(t)})`); },
  getByTestId(t) { return this.below([{ testid: pattern(t) }], `getByTestId(${said(t)})`); },
  frameLocator(s) { return new FrameLocator(this.locator(s)); },
};
const said = (t) => (isPattern(t) ? String(t) : stringify(t));

// method makes a method of Locator of f(locator, ...args): it runs at once.
const named = (what, f) => {
  const before = calling;
  if (!before) calling = what;
  try { return f(); } finally { calling = before; }
};

const uploads = (files) => [files].flat().map((f) => (typeof f === 'string' ? f : { name: f.name, base64: base64(f.buffer) }));

let lists = 0; // made by evaluateAll

class Locator {
  constructor(page, steps, label) { Object.assign(this, { page_: page, steps, label }); }
  page() { return this.page_; }
  below(steps, label) { return new Locator(this.page_, [...this.steps, ...steps], this.label ? `${this.label}.${label}` : label); }
  first() { return this.below([{ nth: 0 }], 'first()'); }
  last() { return this.below([{ nth: -1 }], 'last()'); }
  nth(n) { return this.below([{ nth: n }], `nth(${n})`); }
  filter(o) { return this.below(filterSteps(o), 'filter(…)'); }
  and(l) { return this.below([{ and: l.steps }], 'and(…)'); }
  or(l) { return this.below([{ or: l.steps }], 'or(…)'); }
  contentFrame() { return new Frame(this); }
  toString() { return this.label; }
  toJSON() { return this.label; }

  find(limit, read) {
    this.page_.use();
    const r = step('find', { chain: this.steps, limit, ...(read && { read }) }, this.label);
    r.nodes.forEach((n, i) => { n.read = r.read?.[i] ?? {}; });
    return r;
  }

  // one is the one element that it names; it waits for it.
  one(o, read) {
    return until(timeoutOf(o), () => {
      const r = this.find(6, read);
      if (r.count > 1) {
        throw stopped('ambiguous_target', `${this.label} fits ${r.count} elements`, 'name one of them: first(), nth(), filter(), or a name that only it has',
          { candidates: r.nodes.map((n) => ({ ref: n.ref, role: n.role, name: n.name })) });
      }
      return r.nodes[0];
    }, () => `no element fits ${this.label}${this.nearest()}`);
  }

  // nearest says what the page has that is most like what is missing.
  nearest() {
    try {
      const last = [...this.steps].reverse().find((s) => s.role || s.text || s.label || s.placeholder || s.css);
      if (!last) return '';
      const only = last.role ? [{ role: last.role }] : last.css ? [{ css: (/^[\w-]+/.exec(last.css.split(/[\s>+~]+/).pop()) ?? ['a,button,input,select,textarea'])[0] }] : last.text ? [{ css: 'a,button,h1,h2,h3,label,option,[role]' }] : [{ css: 'input,select,textarea' }];
      const want = [last.name, last.text, last.label, last.placeholder].find((s) => typeof s === 'string') ?? '';
      const near = step('find', { chain: only, limit: 50 }, 'nearest').nodes.filter((n) => n.name || n.role)
        .map((n) => ({ n, far: distance(want.toLowerCase(), (n.name ?? '').toLowerCase()) })).sort((a, b) => a.far - b.far).slice(0, 3);
      return near.length ? `; the nearest are ${near.map(({ n }) => `${n.ref} [${n.role}] ${stringify(n.name ?? '')}`).join(', ')}` : '';
    } catch { return ''; }
  }

  // on sends a command for the element. A ref that went away meanwhile is looked for again.
  on(what, command, params, o) {
    return act(() => named(what.includes('.') ? what : `${this.label}.${what}`, () => {
      for (let tries = 0; ; tries++) {
        const { ref } = this.one(o);
        if (command === 'click') clicked = ref;
        try {
          return step(command, typeof params === 'function' ? params(ref) : { ref, ...params });
        } catch (e) {
          if (tries > 2 || !(e instanceof StepError) || e.code !== 'stale_ref') throw e;
        }
      }
    })).then(() => undefined);
  }

  reads(what, key, o, of = (v) => v) { return act(() => named(`${this.label}.${what}`, () => of(this.one(o, [key]).read?.[key]))); }
  now(what, key, none) {
    return act(() => named(`${this.label}.${what}`, () => {
      const r = this.find(6, [key]);
      if (r.count > 1) this.one();
      return r.nodes.length ? r.nodes[0].read[key] : none;
    }));
  }

  click(o = {}) { return this.on('click', 'click', { ...(o.button && { button: o.button }), ...(o.clickCount > 1 && { count: o.clickCount }), ...(o.modifiers && { modifiers: o.modifiers.map((m) => (m === 'ControlOrMeta' ? 'Control' : m)) }) }, o); }
  dblclick(o) { return this.on('dblclick', 'click', { count: 2 }, o); }
  tap(o) { return this.on('tap', 'click', {}, o); }
  fill(text, o) { return this.on('fill', 'type', { text: String(text), clear: true }, o); }
  clear(o) { return this.on('clear', 'type', { text: '', clear: true }, o); }
  type(text, o) { return this.on('type', 'type', { text: String(text), mode: 'keys' }, o); }
  pressSequentially(text, o) { return this.on('pressSequentially', 'type', { text: String(text), mode: 'keys' }, o); }
  press(key, o) { return this.on('press', 'press', { key: keyName(key) }, o); }
  check(o) { return this.on('check', 'check', { checked: true }, o); }
  uncheck(o) { return this.on('uncheck', 'check', { checked: false }, o); }
  setChecked(v, o) { return this.on('setChecked', 'check', { checked: !!v }, o); }
  hover(o) { return this.on('hover', 'hover', {}, o); }
  focus(o) { return this.on('focus', 'focus', {}, o); }
  blur(o) { return this.on('blur', 'eval', { expression: 'element.blur()' }, o); }
  scrollIntoViewIfNeeded(o) { return this.on('scrollIntoViewIfNeeded', 'scroll', {}, o); }
  dispatchEvent(type, init) { return this.on('dispatchEvent', 'eval', { expression: `void element.dispatchEvent(new Event(${stringify(type)}, ${stringify({ bubbles: true, cancelable: true, ...init })}))` }); }
  dragTo(to, o) { return this.on('dragTo', 'drag', (ref) => ({ ref, to: to.one(o).ref }), o); }
  setInputFiles(files, o) {
    return this.on('setInputFiles', 'upload', { files: uploads(files) }, o);
  }
  selectOption(values, o) {
    return act(() => named(`${this.label}.selectOption`, () => {
      const { ref } = this.one(o);
      const list = [values].flat().filter((v) => v !== null).map((v) => {
        if (v instanceof Object && v.index !== undefined) return this.below([{ css: 'option' }, { nth: v.index }], 'option').one(o, ['attr:value', 'text']).read['attr:value'];
        return v instanceof Object ? v.label ?? v.value : String(v);
      });
      const r = step('select', { ref, values: list });
      return r.selected ?? list;
    }));
  }
  textContent(o) { return this.reads('textContent', 'text', o); }
  innerText(o) { return this.reads('innerText', 'inner_text', o); }
  innerHTML(o) { return this.reads('innerHTML', 'html', o); }
  inputValue(o) { return this.reads('inputValue', 'value', o, (v) => v ?? ''); }
  getAttribute(name, o) { return this.reads('getAttribute', 'attr:' + name, o, (v) => v ?? null); }
  isVisible() { return this.now('isVisible', 'visible', false); }
  isHidden() { return this.now('isHidden', 'visible', false).then((v) => !v); }
  isEnabled(o) { return this.reads('isEnabled', 'enabled', o); }
  isDisabled(o) { return this.reads('isDisabled', 'enabled', o, (v) => !v); }
  isEditable(o) { return this.reads('isEditable', 'editable', o); }
  isChecked(o) { return this.reads('isChecked', 'checked', o); }
  count() { return act(() => named(`${this.label}.count`, () => this.find(1).count)); }
  all() { return act(() => named(`${this.label}.all`, () => Array.from({ length: this.find(1).count }, (_, i) => this.nth(i)))); }
  every(key) { return this.find(1000, [key]).nodes.map((n) => n.read[key]); }
  allTextContents() { return act(() => named(`${this.label}.allTextContents`, () => this.every('text'))); }
  allInnerTexts() { return act(() => named(`${this.label}.allInnerTexts`, () => this.every('inner_text'))); }
  evaluate(f, arg, o) { return act(() => named(`${this.label}.evaluate`, () => step('eval', { ref: this.one(o).ref, expression: `(${source(f)})(element, ${literal(arg)})` }).value)); }
  evaluateAll(f, arg) {
    return act(() => named(`${this.label}.evaluateAll`, () => {
      this.page_.use();
      if (this.steps.every((s) => s.css)) {
        const all = this.steps.map((s) => s.css).reduce((from, css) => `${from}.flatMap((e) => [...e.querySelectorAll(${stringify(css)})])`, '[document]');
        return step('eval', { expression: `(${source(f)})([...new Set(${all})], ${literal(arg)})` }).value;
      }
      // A list of the page that the elements are put into one by one.
      const list = `__elements${++lists}`, refs = this.find(1000).nodes.map((n) => n.ref);
      if (!refs.length) return step('eval', { expression: `(${source(f)})([], ${literal(arg)})` }).value;
      refs.forEach((ref, i) => step('eval', { ref, expression: `(e) => { (window.${list} ??= [])[${i}] = e; }` }));
      return step('eval', { expression: `(() => { const all = window.${list}; delete window.${list}; return (${source(f)})(all, ${literal(arg)}); })()` }).value;
    }));
  }
  ariaSnapshot(o) { return act(() => named(`${this.label}.ariaSnapshot`, () => step('snapshot', { scope: this.one(o).ref }).snapshot?.text ?? '')); }
  selectText(o) { return this.on('selectText', 'press', { key: 'Control+a' }, o); }
  boundingBox(o) {
    return act(() => named(`${this.label}.boundingBox`, () => {
      try { return parse(step('read', { ref: this.one(o).ref, kind: 'box' }).content); } catch (e) { if (e instanceof StepError && e.code !== 'stale_ref') throw e; return null; }
    }));
  }
  screenshot(o) { return act(() => named(`${this.label}.screenshot`, () => Buffer.of64(step('screenshot', { ref: this.one(o).ref }).image))); }
  waitFor(o = {}) {
    return act(() => named(`${this.label}.waitFor`, () => {
      const state = o.state ?? 'visible';
      until(timeoutOf(o), () => {
        const r = this.find(6, ['visible']);
        if (r.count > 1 && state === 'visible') this.one();
        const is = state === 'attached' ? r.count > 0 : state === 'detached' ? r.count === 0 : state === 'hidden' ? !r.nodes.some((n) => n.read.visible) : r.nodes.some((n) => n.read.visible);
        return is || undefined;
      }, () => `${this.label} is not ${state}${state === 'visible' || state === 'attached' ? this.nearest() : ''}`);
    }));
  }
  $(s) { return this.locator(s).elementHandle(); }
  $$(s) { return this.locator(s).all(); }
  $eval(s, f, arg) { return this.locator(s).first().evaluate(f, arg); }
  $$eval(s, f, arg) { return this.locator(s).evaluateAll(f, arg); }
  elementHandle() { return act(() => (this.find(1).count ? this.first() : null)); }
  elementHandles() { return this.all(); }
  getProperty(name) { return act(() => { const value = named(`${this.label}.getProperty`, () => step('eval', { ref: this.one().ref, expression: `element[${stringify(String(name))}]` }).value); return { jsonValue: () => act(() => value), toString: () => String(value) }; }); }
  jsonValue() { return act(() => this.label); }
  asElement() { return this; }
  dispose() { return act(() => {}); }
}
Object.assign(Locator.prototype, queries);

// FrameLocator finds in the document of the frame whose element its locator names.
class FrameLocator {
  constructor(owner_) { this.owner_ = owner_; }
  below(steps, label) { return this.owner_.below([{ frame: true }, ...steps], label); }
  owner() { return this.owner_; }
  first() { return new this.constructor(this.owner_.first()); }
  last() { return new this.constructor(this.owner_.last()); }
  nth(n) { return new this.constructor(this.owner_.nth(n)); }
}
Object.assign(FrameLocator.prototype, queries);

// Frame is a frame of a page below the first; in it are Page's methods that take a selector.
class Frame extends FrameLocator {
  get page_() { return this.owner_.page_; }
  use() { this.page_.use(); }
  do(what, f) { return act(() => named('frame.' + what, f)); }
  page() { return this.page_; }
  read(key) { return this.owner_.find(1, [key]).nodes[0]?.read[key] ?? ''; }
  url() { return step('eval', { ref: this.locator('html').one().ref, expression: 'location.href' }).value; }
  name() { return this.read('attr:name') || this.read('attr:id'); }
  title() { return this.evaluate('document.title'); }
  content() { return this.evaluate('document.documentElement.outerHTML'); }
  parentFrame() { return this.page_; }
  childFrames() { return []; }
  isDetached() { return !this.owner_.find(1).count; }
  evaluate(f, arg) { return this.do('evaluate', () => step('eval', { ref: this.locator('html').one().ref, expression: typeof f === 'function' ? `(${f})(${literal(arg)})` : String(f) }).value); }
}

const distance = (a, b) => {
  a = a.slice(0, 60); b = b.slice(0, 60);
  if (a && b && (b.includes(a) || a.includes(b))) return Math.abs(a.length - b.length) / 10;
  const row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    let before = row[0];
    row[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const cost = before + (a[i - 1] !== b[j - 1]);
      before = row[j];
      row[j] = Math.min(cost, row[j] + 1, row[j - 1] + 1);
    }
  }
  return row[b.length];
};

const KEYS = { ControlOrMeta: 'Control', Esc: 'Escape', Return: 'Enter', Del: 'Delete', ' ': 'Space' };
const keyName = (key) => String(key).split('+').map((k) => KEYS[k] ?? k).join('+') || '+';
const source = (f) => (typeof f === 'function' ? String(f) : `() => (${f})`);
const literal = (arg) => (arg === undefined ? 'undefined' : stringify(plain(arg)));
