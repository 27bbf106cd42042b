// expect and test, and what scripts use besides: Buffer, URL, assert, require.

// ---- expect and test

const tests = [];
const hooks = { before: [], after: [] };
const test = (name, ...more) => {
  const f = more[more.length - 1];
  tests.push(async (world) => {
    for (const h of hooks.before) await h(world);
    const v = await f(world);
    for (const h of hooks.after) await h(world);
    return v;
  });
};
const before = (f) => { tests.push(typeof f === 'function' ? f : () => {}); };
Object.assign(test, { describe: (_, f) => (typeof _ === 'function' ? _() : f()), beforeEach: (f) => { hooks.before.push(f); }, beforeAll: before, afterEach: (f) => { hooks.after.push(f); }, afterAll: before, step: async (_, f) => f(), use() {}, only: test, setTimeout() {}, slow() {}, info: () => ({ attach() {} }), expect: (...a) => expect(...a) });
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
  toHaveCSS: [(a) => 'css:' + a[0], (v, [, w]) => (isPattern(w) ? w.test(v ?? '') : v === w)], toHaveValues: ['values', (v, [w]) => (v ?? []).length === w.length && w.every((x, i) => (isPattern(x) ? x.test(v[i]) : v[i] === x))],
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
        if (Array.isArray(want)) { const v = got.every('inner_text'); let at = 0; return [contains ? want.every((w) => { while (at < v.length && !textFits(w, v[at], true)) at++; return at++ < v.length; }) : v.length === want.length && want.every((w, i) => textFits(w, v[i], false)), v]; }
        const r = got.find(6, ['inner_text', 'text']);
        if (r.count > 1) got.one();
        const read = r.nodes[0]?.read;
        return [!!read && (textFits(want, read.inner_text, contains) || textFits(want, read.text, contains)), read ? read.inner_text : 'missing'];
      });
      m.toHaveText = texts('toHaveText', false);
      m.toContainText = texts('toContainText', true);
      for (const [name, key] of [['toHaveAccessibleName', 'name'], ['toHaveRole', 'role']]) m[name] = (want, o) => wait(name, [want, o].filter((a) => a !== undefined), () => { const v = got.one(o)[key] ?? ''; return [textFits(want, v, false), v]; });
      m.toHaveCount = (n, o) => wait('toHaveCount', [n, o].filter((a) => a !== undefined), () => { const { count } = got.find(1); return [count === n, count]; });
    } else if (got instanceof Page) {
      m.toHaveURL = (want, o) => wait('toHaveURL', [want, o].filter((a) => a !== undefined), () => { const u = got.state().url ?? ''; return [urlFits(want, u), u]; });
      m.toHaveTitle = (want, o) => wait('toHaveTitle', [want, o].filter((a) => a !== undefined), () => { const t = got.state().title ?? ''; return [textFits(want, t, false), t]; });
    } else {
      if (typeof got === 'function') {
        m.toPass = (o) => act(() => 0).then(async () => {
          for (const over = now() + timeoutOf(o); ;) {
            try { return void await got(); } catch (e) { unhandled.delete(e); if (now() >= over) throw e; }
            sleep(100);
          }
        });
      }
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
