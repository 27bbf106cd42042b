// What a script finds in its engine, in four files that are one module (steps, locators, page,
// expect): browser, page in Playwright's shape, console, timers.
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
  if (e === null) return { message: 'out of memory' }; // the engine throws null where it has no memory left for an Error
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
      pollRecords();
      return r;
    } catch (e) {
      // A dialog that opened between two steps is answered as one that opened in a step.
      if (!(e instanceof StepError) || e.code !== 'dialog_open' || tries > 20 || command === 'dialog') throw e;
      if (!dialogOpened({ ...e.details, answer: 'open' })) throw e;
      if (!e.details?.begun) continue;
      log(`browserd: the value of ${calling || call || command} is lost, since a dialog opened in it`);
      return {};
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

let answering = null; // the dialog that the step under way answers

class Dialog {
  constructor(d) { Object.assign(this, { d, answered: d.answer !== undefined && d.answer !== '' && d.answer !== 'open' }); }
  type() { return this.d.kind; }
  message() { return this.d.message ?? ''; }
  defaultValue() { return this.d.default ?? ''; }
  page() { return pages.current(); }
  answer(accept, text) {
    if (this.answered) return;
    this.answered = true;
    answering = this.d;
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
  for (const d of r.since?.dialogs ?? []) if (d.answer !== 'open') told(d);
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
    else told(d);
  }
};

// told tells the script of a dialog that has been answered, unless the script did that.
const told = (d) => {
  if (answering && d.kind === answering.kind && d.message === answering.message) { answering = null; return; }
  const dialog = new Dialog(d);
  if (!emit('dialog', dialog) && dialogWaiters > 0) dialogs.push(dialog);
};

const listeners = {};
const heard = ['dialog', 'popup', 'page', 'download', 'console', 'pageerror', 'request', 'response', 'requestfinished', 'requestfailed'];
const on = (name, f, once = false) => {
  if (!heard.includes(name) && !listeners[name]) log(`browserd: a listener of ${name} is never called; ${heard.join(', ')} are`);
  (listeners[name] ??= []).push({ f, once });
  for (const r of records) if (r.names.includes(name)) r.since ??= step(r.command, { limit: 1 }, 'page.on').next;
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

// records are what the daemon records of a page, for listeners: asked for after each step
// while something listens.
const records = [
  { command: 'console', names: ['console', 'pageerror'], tell(e) { emit(e.kind === 'exception' ? 'pageerror' : 'console', e.kind === 'exception' ? new Error(e.text) : new ConsoleMessage(e)); } },
  { command: 'network', names: ['request', 'response', 'requestfinished', 'requestfailed'], tell(e) {
    if (e.status === undefined && !e.error) return;
    const r = new Response(e, () => bodyOf(e));
    for (const name of ['request', ...(e.error ? ['requestfailed'] : ['response', 'requestfinished'])]) emit(name, r);
  } },
];
let polling = false;
const pollRecords = () => {
  if (polling) return;
  polling = true;
  try {
    for (const r of records) {
      if (r.since === undefined || !r.names.some((n) => listeners[n]?.length)) continue;
      const got = send(r.command, { since: r.since, limit: 200 }, 'page.on');
      r.since = got.next;
      for (const e of got.entries ?? []) r.tell(e);
    }
  } finally { polling = false; }
};
class ConsoleMessage {
  constructor(e) { this.e = e; }
  type() { return this.e.kind; }
  text() { return this.e.text; }
  args() { return []; }
  location() { return { url: this.e.url ?? '', lineNumber: this.e.line ?? 0, columnNumber: this.e.column ?? 0 }; }
}

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
