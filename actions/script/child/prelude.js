// What a script finds in its engine: browser, page in Playwright's shape, console, timers.
// It runs before the script in the same engine and protects nothing: what a script may do
// is decided in the daemon, step by step.
//
// A step runs when it is called, and the script waits for its answer; what is returned is a
// promise that is settled already. So steps happen in the order in which they are written,
// awaited or not. What Playwright's waitForEvent and its like return waits when it is
// awaited, and takes note of what is there when it is called.

const rawStep = globalThis.__step, rawSleep = globalThis.__sleep;
delete globalThis.__step;
delete globalThis.__sleep;
const { parse, stringify } = JSON;
const sleep = (ms) => rawSleep(ms);
const now = Date.now.bind(Date);

// ---- the script, its end, its log

let given = { commands: {}, limits: {} }, prefix = 0, whole = false;
let ended = null; // {value} or {error}
let logged = 0;
const logs = [];
const unhandled = new Set(); // errors of steps that nobody has awaited

const shown = (v) => {
  if (typeof v === 'string') return v;
  if (v instanceof Error) return String(v);
  try { return stringify(plain(v)) ?? String(v); } catch { return String(v); }
};
const log = (...args) => {
  const line = args.map(shown).join(' ');
  if (logged >= given.limits.log_chars || logs.length >= 1000) return;
  logs.push(line.slice(0, given.limits.log_chars - logged));
  logged += line.length;
};

// plain is v as JSON can say it: maps as objects, sets as lists.
const plain = (v, depth = 0) => {
  if (depth > 100) throw new Error('the value is nested too deeply, or contains itself');
  if (v === null || typeof v !== 'object') return typeof v === 'bigint' ? String(v) : typeof v === 'function' ? undefined : v;
  if (v instanceof Map) return plain(Object.fromEntries(v), depth + 1);
  if (v instanceof Set) return plain([...v], depth + 1);
  if (typeof v.toJSON === 'function') return plain(v.toJSON(), depth + 1);
  if (v instanceof Error) return { name: v.name, message: v.message };
  if (Array.isArray(v)) return v.map((e) => plain(e, depth + 1));
  return Object.fromEntries(Object.entries(v).map(([k, e]) => [k, plain(e, depth + 1)]));
};

const placeIn = (stack) => {
  const at = /\bscript:(\d+)(?::(\d+))?/.exec(stack || '');
  if (!at) return {};
  const line = +at[1], column = +(at[2] || 0);
  return { line, column: line === 1 && !whole ? Math.max(column - prefix, 1) : column };
};

const failure = (e) => {
  if (!(e instanceof Error)) return { message: 'the script threw ' + shown(e) };
  const f = { message: e instanceof StepError ? e.message : (e.name === 'Error' ? '' : e.name + ': ') + e.message, ...placeIn(e.at || e.stack) };
  if (e instanceof StepError) { f.step = e.step; f.cause = e.cause; }
  return f;
};

const end = (how) => { ended ??= how; };

globalThis.__begin = (text) => {
  given = parse(text);
  prefix = given.prefix;
  for (const [name, main] of Object.entries(given.commands)) browser[name] ??= (params, more) => act(() => step(name, typeof params === 'object' ? params : params === undefined ? {} : { ...more, [main]: params }, `browser.${name}`));
  globalThis.input = given.input ?? {};
};

globalThis.__run = (script) => {
  whole = script.whole;
  const page = pages.current();
  const world = Object.assign(page, { page, context, browser, input: globalThis.input });
  const f = script.default;
  if (typeof f !== 'function') return end({ value: f });
  (async () => {
    let v = await f(world, globalThis.input);
    while (tests.length) v = await tests.shift()(world);
    return v;
  })().then((value) => end({ value }), (error) => end({ error }));
};

const timers = [];
let timerID = 0;
globalThis.setTimeout = (f, ms = 0, ...args) => {
  timers.push({ id: ++timerID, due: now() + Math.max(0, +ms || 0), run: () => f(...args) });
  return timerID;
};
globalThis.setInterval = (f, ms, ...args) => {
  const id = setTimeout(function again() { f(...args); timers.push({ id, due: now() + Math.max(1, +ms || 0), run: again }); }, ms);
  return id;
};
globalThis.clearTimeout = globalThis.clearInterval = (id) => {
  const i = timers.findIndex((t) => t.id === id);
  if (i >= 0) timers.splice(i, 1);
};

// __turn runs the next timer. It returns the end of the script as JSON, "timer", or ""
// where nothing can happen any more.
globalThis.__turn = () => {
  if (ended) {
    const [left] = unhandled;
    if (!ended.error && left) ended = { error: left };
    if (ended.error !== undefined && 'error' in ended) return stringify({ logs, error: failure(ended.error) });
    let value;
    try {
      value = stringify(plain(ended.value));
    } catch (e) {
      return stringify({ logs, error: { message: 'the value cannot be written as JSON: ' + (e && e.message) } });
    }
    if (value !== undefined && value.length > given.limits.value_chars) return stringify({ logs, error: { message: `the value has ${value.length} characters of JSON, and at most ${given.limits.value_chars} are kept: return less`, limit: 'value_chars' } });
    return `{"logs":${stringify(logs)}${value === undefined ? '' : ',"value":' + value}}`;
  }
  if (!timers.length) return '';
  let next = timers[0];
  for (const t of timers) if (t.due < next.due) next = t;
  timers.splice(timers.indexOf(next), 1);
  sleep(next.due - now());
  try { next.run(); } catch (error) { end({ error }); }
  return 'timer';
};

globalThis.console = { log, info: log, warn: log, error: log, debug: log, table: log, time() {}, timeEnd() {}, group: log, groupEnd() {} };

// ---- steps

class StepError extends Error {
  constructor(cause, at, number, call) {
    super(cause.message || 'it failed');
    Object.assign(this, { code: cause.code, next: cause.next, details: cause.details, step: number, call, at });
    Object.defineProperty(this, 'cause', { value: cause });
    this.name = cause.code === 'timeout' ? 'TimeoutError' : 'Error';
  }
}

let steps = 0;
let calling = ''; // the method of page that steps belong to

const send = (command, params, call) => {
  steps++;
  const at = new Error().stack;
  const answer = parse(rawStep(stringify({ command, params: plain(params ?? {}), call: calling || call || '', ...placeIn(at) })));
  if (answer.error) throw new StepError(answer.error, at, steps, calling || call);
  return answer.result ?? {};
};

const step = (command, params, call) => {
  for (let tries = 0; ; tries++) {
    try {
      const r = send(command, params, call);
      after(r);
      return r;
    } catch (e) {
      // A dialog that opened between two steps is answered as one that opened in a step.
      if (!(e instanceof StepError) || e.code !== 'dialog_open' || tries > 20 || command === 'dialog') throw e;
      if (!dialogOpened(e.details?.dialog ?? { kind: 'confirm', message: '' })) throw e;
    }
  }
};

// act runs f now and returns a settled promise. An error that nobody handles fails the script.
const act = (f) => {
  let v;
  try { v = f(); } catch (e) {
    unhandled.add(e);
    const rejected = () => { unhandled.delete(e); return Promise.reject(e); };
    return { then: (ok, no) => rejected().then(ok, no), catch: (no) => rejected().catch(no), finally: (f) => rejected().finally(f) };
  }
  return Promise.resolve(v);
};

// later is a promise whose f runs when it is awaited.
const later = (f) => {
  let made;
  const get = () => (made ??= act(f));
  return { then: (ok, no) => get().then(ok, no), catch: (no) => get().catch(no), finally: (f) => Promise.resolve(get()).finally(f) };
};

const isPattern = (v) => v instanceof RegExp;
const pattern = (v) => (isPattern(v) ? { re: v.source, flags: v.flags.replace(/[gy]/g, '') } : String(v));

// ---- events: dialogs, tabs, downloads

let currentTab = '';
const opened = []; // tabs that nobody has waited for
const downloaded = []; // names
const dialogs = []; // that wait for an answer
let dialogWaiters = 0;

class Dialog {
  constructor(d) { Object.assign(this, { d, answered: d.answer !== undefined && d.answer !== '' && d.answer !== 'open' }); }
  type() { return this.d.kind; }
  message() { return this.d.message ?? ''; }
  defaultValue() { return this.d.default ?? ''; }
  page() { return pages.current(); }
  answer(accept, text) {
    if (this.answered) return;
    this.answered = true;
    step('dialog', text === undefined ? { accept } : { accept, text: String(text) }, accept ? 'dialog.accept' : 'dialog.dismiss');
  }
  accept(text) { return act(() => this.answer(true, text)); }
  dismiss() { return act(() => this.answer(false)); }
}

// dialogOpened tells the script of a dialog, or dismisses it where the script does not care.
const dialogOpened = (d) => {
  const dialog = new Dialog(d);
  if (emit('dialog', dialog)) return true;
  if (dialogWaiters > 0) { dialogs.push(dialog); return false; }
  dialog.answer(false);
  return true;
};

const after = (r) => {
  if (r.page?.tab) {
    currentTab = r.page.tab;
    if (pages.all[0] && !pages.all[0].tab) pages.all[0].tab = currentTab;
  }
  const e = r.effect;
  if (!e) return;
  for (const t of e.tabs_opened ?? []) {
    const p = pages.of(t.tab);
    opened.push(p);
    emit('popup', p);
    emit('page', p);
  }
  for (const name of e.downloads ?? []) {
    const d = new Download(name);
    downloaded.push(d);
    emit('download', d);
  }
  for (const d of [...(e.dialogs ?? []), ...(e.dialog ? [e.dialog] : [])]) {
    if (d.answer === 'open') dialogOpened(d);
    else {
      const dialog = new Dialog(d);
      if (!emit('dialog', dialog) && dialogWaiters > 0) dialogs.push(dialog);
    }
  }
};

const listeners = {};
const heard = ['dialog', 'popup', 'page', 'download'];
const on = (name, f, once = false) => {
  if (!heard.includes(name) && !listeners[name]) log(`browserd: a listener of ${name} is never called; ${heard.join(', ')} are`);
  (listeners[name] ??= []).push({ f, once });
};
const off = (name, f) => { listeners[name] = (listeners[name] ?? []).filter((l) => l.f !== f); };
const emit = (name, value) => {
  const all = listeners[name] ?? [];
  listeners[name] = all.filter((l) => !l.once);
  for (const l of all) {
    const p = l.f(value);
    if (p && typeof p.then === 'function') p.then(undefined, (error) => end({ error }));
  }
  return all.length > 0;
};

class Download {
  constructor(name) { this.name = name; }
  suggestedFilename() { return this.name; }
  entry() { return (step('downloads', { wait: true }, 'download').entries ?? []).filter((e) => e.name === this.name).pop() ?? {}; }
  url() { return this.entry().url ?? ''; }
  path() { return act(() => { this.entry(); return this.name; }); }
  saveAs() { return act(() => { this.entry(); }); }
  failure() { return act(() => { const e = this.entry(); return e.state === 'done' ? null : e.why || e.state; }); }
  text() { return act(() => step('downloads', { name: this.name, wait: true, max_chars: 1000000 }, 'download.text').content); }
  cancel() { return act(() => {}); }
  delete() { return act(() => {}); }
  createReadStream() {
    const text = () => step('downloads', { name: this.name, wait: true, max_chars: 1000000 }, 'download.createReadStream').content;
    return act(() => ({ async* [Symbol.asyncIterator]() { yield Buffer.from(text()); } }));
  }
}

const until = (timeout, f, what) => {
  const over = now() + timeout;
  for (let pause = 20; ; pause = Math.min(pause * 2, 250)) {
    const v = f();
    if (v !== undefined) return v;
    if (now() >= over) throw stopped('timeout', `${what()} after ${timeout} ms`, undefined);
    sleep(Math.min(pause, Math.max(over - now(), 1)));
  }
};

// stopped is an error of page itself, in the form of a step's.
const stopped = (code, message, next, details) => new StepError({ code, message, ...(next && { next }), ...(details && { details }) }, new Error().stack, steps, calling);

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
    if (head || !at && !steps.length) steps.push({ css: (scoped && /^[>+~]/.test(head) ? ':scope ' : '') + (/[>+~ ]$/.test(head) && at ? head + ' *' : head) });
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

const noFrames = () => stopped('unsupported', 'locators do not look into frames', 'browser.find({text}) and browser.snapshot() give refs in frames too: browser.click(ref)');

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
  frameLocator() { throw noFrames(); },
};
const said = (t) => (isPattern(t) ? String(t) : stringify(t));

// method makes a method of Locator of f(locator, ...args): it runs at once.
const named = (what, f) => {
  const before = calling;
  if (!before) calling = what;
  try { return f(); } finally { calling = before; }
};

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
  contentFrame() { throw noFrames(); }
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

  click(o = {}) { return this.on('click', 'click', { ...(o.button && { button: o.button }), ...(o.clickCount > 1 && { count: 2 }), ...(o.modifiers && { modifiers: o.modifiers.map((m) => (m === 'ControlOrMeta' ? 'Control' : m)) }) }, o); }
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
    return this.on('setInputFiles', 'upload', { files: [files].flat().map((f) => (typeof f === 'string' ? f : { name: f.name, base64: base64(f.buffer) })) }, o);
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
      if (!this.steps.every((s) => s.css)) throw stopped('unsupported', 'evaluateAll works with CSS selectors', 'use allTextContents, or evaluate on each of all()');
      this.page_.use();
      const all = this.steps.map((s) => s.css).reduce((from, css) => `${from}.flatMap((e) => [...e.querySelectorAll(${stringify(css)})])`, '[document]');
      return step('eval', { expression: `(${source(f)})([...new Set(${all})], ${literal(arg)})` }).value;
    }));
  }
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
}
Object.assign(Locator.prototype, queries);

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

// ---- pages

const globRE = (g) => new RegExp('^' + g.replace(/[.+^$()|[\]\\]/g, '\\$&').replace(/\*\*/g, '\u0001').replace(/\*/g, '[^/]*').replace(/\u0001/g, '.*').replace(/\?/g, '\\?').replace(/\{([^}]*)\}/g, (_, a) => `(${a.split(',').join('|')})`) + '$');
const urlFits = (want, url) => {
  if (typeof want === 'function') return want(new URL(url));
  if (isPattern(want)) return new RegExp(want.source, want.flags.replace(/[gy]/g, '')).test(url);
  const s = String(want);
  return s === url || globRE(/^(\w+:|\*)/.test(s) ? s : '*' + '*' + s).test(url) || globRE(/^(\w+:|\*)/.test(s) ? s : new URL(s, url).href).test(url);
};

class Response {
  constructor(e, body) { Object.assign(this, { e, body }); }
  url() { return this.e.url; }
  status() { return this.e.status ?? 0; }
  statusText() { return ''; }
  ok() { return this.status() >= 200 && this.status() < 300; }
  headers() { return this.e.response_headers ?? this.e.headers ?? {}; }
  request() { return this; }
  method() { return this.e.method; }
  postData() { return this.e.request_body ?? null; }
  text() { return act(() => this.body()); }
  json() { return act(() => parse(this.body())); }
  finished() { return act(() => null); }
  response() { return act(() => this); }
}

// routed is a pattern of page.route as the command route has it.
const routed = (want) => {
  if (typeof want !== 'string') throw stopped('unsupported', 'a route is for an address with * in it, no regular expression or function', 'such as "**/api/prices"');
  return want.replace(/\*\*+/g, '*');
};

class Page {
  constructor(tab) { this.tab = tab; }
  // use makes the page's tab the one that commands are for.
  use() { if (this.tab && currentTab && this.tab !== currentTab) step('tab_select', { tab: this.tab }, 'page'); }
  do(what, f) { return act(() => named('page.' + what, () => { this.use(); return f(); })); }
  state() { return (step('tab_list', {}, 'page.url').tabs ?? []).find((t) => (this.tab ? t.tab === this.tab : t.selected)) ?? {}; }
  below(steps, label) { return new Locator(this, steps, label); }

  goto(url, o = {}) {
    return this.do('goto', () => {
      const to = /^[a-z][a-z0-9+.-]*:/i.test(url) ? url : new URL(url, this.state().url || 'about:blank').href;
      const wait = { commit: 'none', domcontentloaded: 'domcontentloaded', load: 'load', networkidle: 'networkidle' }[o.waitUntil];
      const r = step('open', { url: to, ...(wait && { wait_until: wait }) });
      this.tab ||= r.page?.tab ?? '';
      return new Response({ url: r.page?.url, status: r.page?.status }, () => step('read', { kind: 'html', max_chars: 1000000 }).content);
    });
  }
  url() { return named('page.url', () => this.state().url ?? ''); }
  title() { return this.do('title', () => this.state().title ?? ''); }
  content() { return this.do('content', () => step('read', { kind: 'html', max_chars: 1000000 }).content); }
  reload() { return this.do('reload', () => void step('reload', {})); }
  goBack() { return this.do('goBack', () => void step('back', {})); }
  goForward() { return this.do('goForward', () => void step('forward', {})); }
  bringToFront() { return this.do('bringToFront', () => {}); }
  close() { return this.do('close', () => void step('tab_close', { tab: this.tab || currentTab })); }
  isClosed() { return !(step('tab_list', {}).tabs ?? []).some((t) => t.tab === this.tab); }
  mainFrame() { return this; }
  frames() { return [this]; }
  opener() { return act(() => null); }
  viewportSize() { return named('page.viewportSize', () => { this.use(); return step('eval', { expression: '({ width: innerWidth, height: innerHeight })' }).value; }); }
  setViewportSize(s) { return this.do('setViewportSize', () => void step('emulate', { viewport: { width: s.width, height: s.height } })); }
  setDefaultTimeout(ms) { defaultTimeout = ms || TIMEOUT; }
  setDefaultNavigationTimeout() {}
  addInitScript(f, arg) { return this.do('addInitScript', () => void step('init_script', { script: typeof f === 'function' ? `(${f})(${literal(arg)})` : String(f?.content ?? f) })); }
  emulateMedia(o = {}) { return this.do('emulateMedia', () => void step('emulate', { ...(o.media && { media: o.media }), ...(o.colorScheme && { color_scheme: o.colorScheme }), ...(o.reducedMotion && { reduced_motion: o.reducedMotion }) })); }
  evaluate(f, arg) { return this.do('evaluate', () => step('eval', { expression: typeof f === 'function' ? `(${f})(${literal(arg)})` : String(f) }).value); }
  waitForTimeout(ms) { return this.do('waitForTimeout', () => sleep(ms)); }
  waitForURL(want, o) { return this.do('waitForURL', () => until(timeoutOf(o), () => urlFits(want, this.state().url ?? '') || undefined, () => `the URL is ${this.state().url} and not ${want}`)).then(() => this.waitForLoadState()); }
  waitForLoadState(state = 'load') { return this.do('waitForLoadState', () => { if (state !== 'domcontentloaded') step('wait', { state }); }); }
  waitForNavigation() { return later(() => named('page.waitForNavigation', () => { step('wait', { state: 'load' }); return new Response({ url: this.url(), status: 200 }, () => ''); })); }
  waitForFunction(f, arg, o) { return this.do('waitForFunction', () => void step('wait', { expression: typeof f === 'function' ? `(${f})(${literal(arg)})` : String(f), ...(o?.timeout && { timeout_ms: o.timeout }) })); }
  waitForSelector(s, o) { const l = this.locator(s).first(); return l.waitFor({ ...o }).then(() => (o && /hidden|detached/.test(o.state) ? null : l)); }
  screenshot(o = {}) { return this.do('screenshot', () => Buffer.of64(step('screenshot', { ...(o.fullPage && { full_page: true }) }).image)); }
  pdf() { return this.do('pdf', () => Buffer.of64(step('pdf', {}).pdf)); }
  $(s) { return this.locator(s).elementHandle(); }
  $$(s) { return this.locator(s).all(); }
  $eval(s, f, arg) { return this.locator(s).first().evaluate(f, arg); }
  $$eval(s, f, arg) { return this.locator(s).evaluateAll(f, arg); }
  pause() { return act(() => {}); }

  on(name, f) { on(name, f); return this; }
  addListener(name, f) { return this.on(name, f); }
  once(name, f) { on(name, f, true); return this; }
  off(name, f) { off(name, f); return this; }
  removeListener(name, f) { return this.off(name, f); }
  removeAllListeners(name) { if (name) delete listeners[name]; return this; }
  waitForEvent(name, o) {
    const fits = typeof o === 'function' ? o : o?.predicate ?? (() => true), timeout = timeoutOf(typeof o === 'object' ? o : undefined);
    switch (name) {
      case 'dialog': {
        dialogWaiters++;
        return later(() => { try { return until(timeout, () => dialogs.shift(), () => 'no dialog opened'); } finally { dialogWaiters--; } });
      }
      case 'popup': case 'page': {
        const before = new Set((step('tab_list', {}, 'page.waitForEvent').tabs ?? []).map((t) => t.tab));
        opened.length = 0;
        return later(() => until(timeout, () => opened.shift() ?? (step('tab_list', {}, 'page.waitForEvent').tabs ?? []).filter((t) => !before.has(t.tab)).map((t) => pages.of(t.tab))[0], () => 'no tab opened'));
      }
      case 'download': {
        const had = (step('downloads', {}, 'page.waitForEvent').entries ?? []).length;
        downloaded.length = 0;
        return later(() => until(timeout, () => downloaded.shift() ?? (step('downloads', {}, 'page.waitForEvent').entries ?? []).slice(had).map((e) => new Download(e.name))[0], () => 'no download began'));
      }
      case 'response': case 'request': case 'requestfinished': return this.waitForResponse(fits, { timeout });
      case 'filechooser': return later(() => { throw stopped('unsupported', 'file choosers do not open', 'give the files to the input: locator("input[type=file]").setInputFiles(…)'); });
      case 'load': case 'domcontentloaded': case 'framenavigated': return later(() => { step('wait', { state: 'load' }); return this; });
    }
    return later(() => { throw stopped('unsupported', `there is no event ${name} to wait for`, 'wait for dialog, popup, page, download, response or load'); });
  }
  waitForResponse(want, o) {
    this.use();
    const since = step('network', { limit: 1 }, 'page.waitForResponse').next;
    return later(() => named('page.waitForResponse', () => until(timeoutOf(o), () => {
      for (const e of step('network', { since, limit: 200 }).entries ?? []) {
        if (e.status === undefined && !e.error) continue;
        const r = new Response(e, () => { const one = step('network', { id: e.id, body: true, max_chars: 1000000 }).entries?.[0] ?? {}; return one.body ?? one.response_body ?? ''; });
        if (typeof want === 'function' ? want(r) : urlFits(want, e.url)) return r;
      }
    }, () => `no answer came from ${want}`)));
  }
  waitForRequest(want, o) { return this.waitForResponse(want, o); }
  route(want, handler) {
    return this.do('route', () => {
      let made = null;
      const route = {
        request: () => ({ url: () => String(want), method: () => 'GET', resourceType: () => 'fetch', headers: () => ({}) }),
        fulfill(o = {}) { made = { action: 'answer', status: o.status ?? 200, body: o.json !== undefined ? stringify(o.json) : String(o.body ?? ''), headers: { 'content-type': o.contentType ?? (o.json !== undefined ? 'application/json' : 'text/plain'), ...o.headers } }; },
        abort() { made = { action: 'block' }; }, continue() {}, fallback() {}, fetch() { throw stopped('unsupported', 'route.fetch is not there', 'answer with fulfill'); },
      };
      handler(route, route.request());
      if (made) step('route', { pattern: routed(want), ...made });
    });
  }
  unroute(want) { return this.do('unroute', () => void step('route', { pattern: routed(want), action: 'remove' })); }
  get mouse() {
    const m = (what, params) => this.do('mouse.' + what, () => void step('mouse', params));
    let at = this.at ??= { x: 0, y: 0 };
    const to = (x, y) => { Object.assign(at, { x, y }); return { x, y }; };
    return {
      move: (x, y) => m('move', { action: 'move', ...to(x, y) }), click: (x, y, o = {}) => m('click', { action: 'click', ...to(x, y), ...(o.button && { button: o.button }) }),
      dblclick: (x, y) => m('dblclick', { action: 'click', ...to(x, y), count: 2 }), down: () => m('down', { action: 'down', ...at }), up: () => m('up', { action: 'up', ...at }),
      wheel: (dx, dy) => m('wheel', { action: 'wheel', x: at.x || 400, y: at.y || 300, dx, dy }),
    };
  }
  get keyboard() {
    const focused = () => this.locator(':focus').first();
    return {
      press: (key) => this.do('keyboard.press', () => void step('press', { key: keyName(key) })),
      type: (text) => focused().on('page.keyboard.type', 'type', { text: String(text), mode: 'keys' }),
      insertText: (text) => focused().on('page.keyboard.insertText', 'type', { text: String(text) }),
      down: (key) => this.do('keyboard.down', () => void step('press', { key: keyName(key), action: 'down' })), up: (key) => this.do('keyboard.up', () => void step('press', { key: keyName(key), action: 'up' })),
    };
  }
}
Object.assign(Page.prototype, queries);
// page.click(selector, …) and its like: the first element, as Playwright's own do strictly.
for (const name of ['click', 'dblclick', 'tap', 'fill', 'type', 'press', 'check', 'uncheck', 'setChecked', 'hover', 'focus', 'selectOption', 'textContent', 'innerText', 'innerHTML', 'inputValue', 'getAttribute', 'isVisible', 'isHidden', 'isEnabled', 'isDisabled', 'isEditable', 'isChecked', 'setInputFiles', 'dispatchEvent']) {
  Page.prototype[name] = function (selector, ...args) { return this.locator(selector)[name](...args); };
}
Page.prototype.dragAndDrop = function (from, to, o) { return this.locator(from).dragTo(this.locator(to), o); };

const pages = {
  all: [],
  of(tab) {
    let p = this.all.find((p) => p.tab === tab);
    if (!p) this.all.push(p = new Page(tab));
    return p;
  },
  current() {
    if (!this.all.length) this.all.push(new Page(currentTab)); // which tab that is, the first step says
    return this.all.find((p) => p.tab === currentTab) ?? this.all[0];
  },
};

// context is what page.context() returns, and what a function ({ page, context }) gets.
const context = Object.assign(() => context, {
  pages: () => (step('tab_list', {}, 'context.pages').tabs ?? []).map((t) => pages.of(t.tab)),
  newPage: () => act(() => named('context.newPage', () => { step('tab_new', {}); return pages.of(currentTab); })),
  cookies: () => act(() => step('cookies_get', {}, 'context.cookies').cookies),
  addCookies: (cookies) => act(() => void step('cookies_set', { cookies }, 'context.addCookies')),
  clearCookies: () => act(() => void step('cookies_clear', {}, 'context.clearCookies')),
  on(name, f) { on(name, f); return this; }, once(name, f) { on(name, f, true); return this; }, off(name, f) { off(name, f); return this; },
  waitForEvent: (name, o) => pages.current().waitForEvent(name, o),
  route: (want, h) => pages.current().route(want, h),
  setDefaultTimeout(ms) { defaultTimeout = ms || TIMEOUT; }, setDefaultNavigationTimeout() {},
  grantPermissions: () => act(() => { throw stopped('unsupported', 'permissions are given when the session is opened', 'session_open {permissions} before the script'); }), close: () => act(() => {}), browser: () => browser,
});
const browser = { newContext: () => act(() => context), newPage: () => act(() => pages.current()), contexts: () => [context], close: () => act(() => {}), isConnected: () => true };

const ask = (method) => (url, o = {}) => act(() => {
  const to = /^[a-z]+:/i.test(url) ? url : new URL(url, pages.current().url()).href;
  const body = o.data === undefined ? undefined : typeof o.data === 'string' ? o.data : stringify(plain(o.data));
  const headers = { ...(body && typeof o.data !== 'string' && { 'content-type': 'application/json' }), ...o.headers };
  const r = step('http_request', { url: to, method, ...(body !== undefined && { body }), ...(Object.keys(headers).length && { headers }) }, 'request.' + method.toLowerCase());
  return new Response({ url: r.url ?? to, status: r.status, headers: r.headers }, () => (typeof r.body === 'string' ? r.body : r.content ?? stringify(r.body)));
});
Page.prototype.context = context;
const request = context.request = Page.prototype.request = { get: ask('GET'), post: ask('POST'), put: ask('PUT'), patch: ask('PATCH'), delete: ask('DELETE'), head: ask('HEAD') };

// ---- expect and test

const tests = [];
const test = (name, ...more) => { tests.push(more[more.length - 1]); };
const before = (f) => { tests.push(f); };
Object.assign(test, { describe: (_, f) => (typeof _ === 'function' ? _() : f()), beforeEach: before, beforeAll: before, afterEach() {}, afterAll() {}, step: async (_, f) => f(), use() {}, only: test, setTimeout() {}, slow() {}, info: () => ({ attach() {} }), expect: (...a) => expect(...a) });
test.describe.configure = () => {};

const textFits = (want, got, contains) => {
  const flat = (s) => String(s ?? '').replace(/\s+/g, ' ').trim();
  if (isPattern(want)) return want.test(flat(got));
  return contains ? flat(got).includes(flat(want)) : flat(got) === flat(want);
};
const same = (a, b) => {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return false;
  const ka = Object.keys(a).filter((k) => a[k] !== undefined), kb = Object.keys(b).filter((k) => b[k] !== undefined);
  return ka.length === kb.length && ka.every((k) => same(a[k], b[k]));
};

const locatorChecks = {
  toBeVisible: ['visible', (v) => v === true], toBeHidden: ['visible', (v) => v !== true, true], toBeEnabled: ['enabled', (v) => v === true], toBeDisabled: ['enabled', (v) => v === false],
  toBeEditable: ['editable', (v) => v === true], toBeFocused: ['focused', (v) => v === true], toBeAttached: ['visible', (v) => v !== undefined],
  toBeChecked: ['checked', (v, [o]) => v === (o?.checked ?? true)], toHaveValue: ['value', (v, [w]) => (isPattern(w) ? w.test(v ?? '') : (v ?? '') === String(w))],
  toBeEmpty: ['text', (v) => !(v ?? '').trim()], toHaveAttribute: [(a) => 'attr:' + a[0], (v, [, w]) => v !== undefined && v !== null && (w === undefined || (isPattern(w) ? w.test(v) : v === String(w)))],
  toHaveClass: [() => 'attr:class', (v, [w]) => (isPattern(w) ? w.test(v ?? '') : (v ?? '').trim() === w)], toContainClass: [() => 'attr:class', (v, [w]) => (v ?? '').split(/\s+/).includes(w)],
  toHaveId: [() => 'attr:id', (v, [w]) => v === w],
};

const expect = (got, message) => {
  const make = (not) => {
    const say = (name, args) => `expected ${got instanceof Locator ? got.label : got instanceof Page ? 'the page' : shown(got)} ${not ? 'not ' : ''}${name}${args.length ? ' ' + args.map((a) => (isPattern(a) ? String(a) : shown(a))).join(', ') : ''}${message ? ': ' + message : ''}`;
    const wait = (name, args, f) => act(() => named(`expect.${name}`, () => {
      let last;
      try {
        until(timeoutOf(args.find((a) => a && typeof a === 'object' && 'timeout' in a)), () => { const [ok, v] = f(); last = v; return ok !== not || undefined; }, () => '');
      } catch (e) {
        if (!(e instanceof StepError) || e.code !== 'timeout' || e.cause.next) throw e;
        throw stopped('timeout', `${say(name, args)}; it is ${shown(last) ?? last}`);
      }
    }));
    const m = {};
    if (got instanceof Locator) {
      for (const [name, [key, ok, absent]] of Object.entries(locatorChecks)) {
        m[name] = (...args) => wait(name, args, () => {
          const k = typeof key === 'function' ? key(args) : key, r = got.find(6, [k]);
          if (r.count > 1 && name !== 'toBeAttached') got.one();
          const v = r.nodes[0]?.read[k];
          return [r.nodes.length || absent ? ok(v, args) : false, r.nodes.length ? v : 'missing' + got.nearest()];
        });
      }
      const texts = (name, contains) => (want, o) => wait(name, [want, o].filter((a) => a !== undefined), () => {
        if (Array.isArray(want)) { const v = got.every('inner_text'); return [v.length === want.length && want.every((w, i) => textFits(w, v[i], contains)), v]; }
        const r = got.find(6, ['inner_text', 'text']);
        if (r.count > 1) got.one();
        const read = r.nodes[0]?.read;
        return [!!read && (textFits(want, read.inner_text, contains) || textFits(want, read.text, contains)), read ? read.inner_text : 'missing'];
      });
      m.toHaveText = texts('toHaveText', false);
      m.toContainText = texts('toContainText', true);
      m.toHaveCount = (n, o) => wait('toHaveCount', [n, o].filter((a) => a !== undefined), () => { const { count } = got.find(1); return [count === n, count]; });
    } else if (got instanceof Page) {
      m.toHaveURL = (want, o) => wait('toHaveURL', [want, o].filter((a) => a !== undefined), () => { const u = got.state().url ?? ''; return [urlFits(want, u), u]; });
      m.toHaveTitle = (want, o) => wait('toHaveTitle', [want, o].filter((a) => a !== undefined), () => { const t = got.state().title ?? ''; return [textFits(want, t, false), t]; });
    } else {
      const check = (name, f) => (...args) => { if (f(...args) === not) throw new Error(say(name, args)); };
      Object.assign(m, {
        toBe: check('toBe', (w) => Object.is(got, w)), toEqual: check('toEqual', (w) => same(got, w)), toStrictEqual: check('toStrictEqual', (w) => same(got, w)),
        toBeTruthy: check('toBeTruthy', () => !!got), toBeFalsy: check('toBeFalsy', () => !got), toBeNull: check('toBeNull', () => got === null), toBeUndefined: check('toBeUndefined', () => got === undefined),
        toBeDefined: check('toBeDefined', () => got !== undefined), toContain: check('toContain', (w) => got.includes(w)), toContainEqual: check('toContainEqual', (w) => got.some((e) => same(e, w))),
        toMatch: check('toMatch', (w) => (isPattern(w) ? w.test(got) : got.includes(w))), toHaveLength: check('toHaveLength', (n) => got.length === n), toBeGreaterThan: check('toBeGreaterThan', (n) => got > n),
        toBeGreaterThanOrEqual: check('toBeGreaterThanOrEqual', (n) => got >= n), toBeLessThan: check('toBeLessThan', (n) => got < n), toBeLessThanOrEqual: check('toBeLessThanOrEqual', (n) => got <= n),
        toBeCloseTo: check('toBeCloseTo', (n, d = 2) => Math.abs(got - n) < 10 ** -d / 2), toBeOK: check('toBeOK', () => got.ok()), toHaveProperty: check('toHaveProperty', (k, v) => k in got && (v === undefined || same(got[k], v))),
        toMatchObject: check('toMatchObject', (w) => Object.keys(w).every((k) => same(got[k], w[k]))), toBeInstanceOf: check('toBeInstanceOf', (c) => got instanceof c),
      });
    }
    return m;
  };
  return Object.assign(make(false), { not: make(true) });
};
expect.soft = expect;
expect.poll = (f, o) => ({ toBe: (w) => poll(f, (v) => Object.is(v, w), o), toEqual: (w) => poll(f, (v) => same(v, w), o), toBeGreaterThan: (n) => poll(f, (v) => v > n, o), toBeTruthy: () => poll(f, (v) => !!v, o), toContain: (w) => poll(f, (v) => v.includes(w), o) });
const poll = async (f, ok, o) => {
  for (const over = now() + timeoutOf(o); ;) {
    const v = await f();
    if (ok(v)) return;
    if (now() >= over) throw new Error(`the value is still ${shown(v)}`);
    sleep(100);
  }
};

// ---- what scripts use besides

const B64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const utf8 = (s) => Uint8Array.from([...unescape(encodeURIComponent(s))], (c) => c.charCodeAt(0));
const base64 = (b) => {
  const bytes = typeof b === 'string' ? utf8(b) : b;
  let s = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const n = bytes[i] << 16 | (bytes[i + 1] ?? 0) << 8 | (bytes[i + 2] ?? 0);
    s += B64[n >> 18] + B64[n >> 12 & 63] + (i + 1 < bytes.length ? B64[n >> 6 & 63] : '=') + (i + 2 < bytes.length ? B64[n & 63] : '=');
  }
  return s;
};
const fromBase64 = (s) => {
  const clean = s.replace(/[^A-Za-z0-9+/]/g, ''), out = [];
  for (let i = 0; i < clean.length; i += 4) {
    const n = [0, 1, 2, 3].reduce((v, k) => v << 6 | Math.max(0, B64.indexOf(clean[i + k] ?? 'A')), 0);
    out.push(n >> 16 & 255, n >> 8 & 255, n & 255);
  }
  return out.slice(0, Math.floor(clean.length * 3 / 4));
};
class Buffer extends Uint8Array {
  static from(v, encoding) { const bytes = typeof v === 'string' ? (encoding === 'base64' ? fromBase64(v) : utf8(v)) : v; return Object.setPrototypeOf(Uint8Array.from(bytes), Buffer.prototype); }
  static of64(s) { return Buffer.from(s ?? '', 'base64'); }
  static concat(list) { return Buffer.from(list.flatMap((b) => [...b])); }
  toString(encoding) { return encoding === 'base64' ? base64(this) : decodeURIComponent(escape(String.fromCharCode(...this))); }
  toJSON() { return `[${this.length} bytes]`; }
}

class URLSearchParams {
  constructor(s = '') { this.list = typeof s === 'string' ? s.replace(/^\?/, '').split('&').filter(Boolean).map((p) => p.split('=').map((x) => decodeURIComponent((x ?? '').replace(/\+/g, ' ')))) : Object.entries(s); }
  get(k) { return this.list.find(([n]) => n === k)?.[1] ?? null; }
  getAll(k) { return this.list.filter(([n]) => n === k).map(([, v]) => v); }
  has(k) { return this.get(k) !== null; }
  set(k, v) { this.list = [...this.list.filter(([n]) => n !== k), [k, String(v)]]; }
  append(k, v) { this.list.push([k, String(v)]); }
  delete(k) { this.list = this.list.filter(([n]) => n !== k); }
  entries() { return this.list[Symbol.iterator](); }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.list.map(([k, v = '']) => encodeURIComponent(k) + '=' + encodeURIComponent(v)).join('&'); }
}
class URL {
  constructor(url, base) {
    let s = String(url).trim();
    if (!/^[a-z][a-z0-9+.-]*:/i.test(s)) {
      if (!base) throw new TypeError('Invalid URL: ' + s);
      const b = new URL(base);
      s = s.startsWith('//') ? b.protocol + s : s.startsWith('/') ? b.origin + s : s.startsWith('?') ? b.origin + b.pathname + s : s.startsWith('#') ? b.origin + b.pathname + b.search + s : b.origin + b.pathname.replace(/[^/]*$/, '') + s;
    }
    const m = /^([a-z][a-z0-9+.-]*:)(?:\/\/(?:[^/?#@]*@)?([^/?#:]*|\[[^\]]*\])(?::(\d+))?)?([^?#]*)(\?[^#]*)?(#.*)?$/i.exec(s) ?? [];
    const path = [];
    for (const p of (m[4] ?? '').split('/')) if (p === '..') path.length > 1 && path.pop(); else if (p !== '.') path.push(p);
    Object.assign(this, { protocol: (m[1] ?? '').toLowerCase(), hostname: (m[2] ?? '').toLowerCase(), port: m[3] ?? '', pathname: m[2] !== undefined ? path.join('/') || '/' : m[4] ?? '', hash: m[6] ?? '', query: m[5] ?? '' });
    this.searchParams = new URLSearchParams(this.query);
  }
  get search() { const s = this.searchParams.toString(); return s && s !== new URLSearchParams(this.query).toString() ? '?' + s : this.searchParams.list.length ? this.query || '?' + s : ''; }
  get host() { return this.hostname + (this.port && ':' + this.port); }
  get origin() { return this.hostname ? this.protocol + '//' + this.host : 'null'; }
  get href() { return (this.hostname ? this.origin : this.protocol) + this.pathname + this.search + this.hash; }
  toString() { return this.href; }
  toJSON() { return this.href; }
}

const playwright = { chromium: { launch: () => act(() => browser), connect: () => act(() => browser), connectOverCDP: () => act(() => browser), launchPersistentContext: () => act(() => context) }, test, expect, devices: {}, request };
Object.assign(playwright, { firefox: playwright.chromium, webkit: playwright.chromium });
const require = (name) => {
  if (/^(node:)?(assert)(\/strict)?$/.test(name)) return assert;
  if (/playwright/.test(name)) return playwright;
  throw new Error(`there is no module ${name}: a script has page, browser, input and console, and no files, network or processes`);
};
const assert = Object.assign((v, m) => { if (!v) throw new Error(m ?? 'an assertion failed'); }, { ok: (v, m) => assert(v, m), equal: (a, b, m) => assert(a == b, m ?? `${shown(a)} is not ${shown(b)}`), strictEqual: (a, b, m) => assert(Object.is(a, b), m ?? `${shown(a)} is not ${shown(b)}`), deepEqual: (a, b, m) => assert(same(a, b), m), deepStrictEqual: (a, b, m) => assert(same(a, b), m), match: (s, re, m) => assert(re.test(s), m) });

Object.assign(globalThis, { browser, context, Buffer, URL, URLSearchParams, require, assert, expect, test, request, ...playwright, process: { env: {}, argv: [], exit() { throw new Error('process.exit was called'); } }, btoa: base64, atob: (s) => String.fromCharCode(...fromBase64(s)), structuredClone: (v) => parse(stringify(v)), queueMicrotask: (f) => void Promise.resolve().then(f) });
Object.defineProperty(globalThis, 'page', { configurable: true, get: () => pages.current() });
