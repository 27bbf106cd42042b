// Pages, the browser context, requests.

// ---- pages

const globRE = (g) => new RegExp('^' + g.replace(/[.+^$()|[\]\\]/g, '\\$&').replace(/\*\*/g, '\u0001').replace(/\*/g, '[^/]*').replace(/\u0001/g, '.*').replace(/\?/g, '\\?').replace(/\{([^}]*)\}/g, (_, a) => `(${a.split(',').join('|')})`) + '$');
const urlFits = (want, url) => {
  if (typeof want === 'function') return want(new URL(url));
  if (isPattern(want)) return new RegExp(want.source, want.flags.replace(/[gy]/g, '')).test(url);
  const s = String(want);
  return s === url || globRE(/^(\w+:|\*)/.test(s) ? s : '*' + '*' + s).test(url) || globRE(/^(\w+:|\*)/.test(s) ? s : new URL(s, url).href).test(url);
};

const bodyOf = (e) => { const one = step('network', { id: e.id, body: true, max_chars: 1000000 }).entries?.[0] ?? {}; return one.body ?? one.response_body ?? ''; };

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
  // A regular expression of words, escaped characters and .* is such an address too.
  if (isPattern(want)) {
    const simple = want.source.replace(/\\([^\w])|\.\*\??|(\[\^[^\]]*\]|\\[dwS]|\.)[+*]/g, (_, c) => c ?? '*');
    if (!/[\\^$+?()[\]{}|]/.test(simple.replace(/^\^|\$$/g, ''))) {
      return ((simple[0] === '^' ? '' : '*') + simple.replace(/^\^|\$$/g, '') + (simple.endsWith('$') ? '' : '*')).replace(/\*\*+/g, '*');
    }
  }
  if (typeof want !== 'string') throw stopped('unsupported', 'a route is for an address with * in it, no function and no regular expression but of words and .*', 'such as "**/api/prices"');
  return want.replace(/\*\*+/g, '*');
};

let clicked = ''; // the ref that was clicked last

// FileChooser stands for the chooser that the click before it opened: the files go to the
// file input that belongs to what was clicked.
class FileChooser {
  constructor(page_, ref) { Object.assign(this, { page_, ref }); }
  page() { return this.page_; }
  isMultiple() { return true; }
  element() { return this.page_.locator('input[type=file]').first(); }
  setFiles(files) { return act(() => named('fileChooser.setFiles', () => void step('upload', { ref: this.ref, files: uploads(files) }))); }
}

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
  setContent(html) { return this.do('setContent', () => void step('eval', { expression: `document.open(); document.write(${stringify(String(html))}); document.close();` })); }
  ariaSnapshot() { return this.do('ariaSnapshot', () => step('snapshot', {}).snapshot?.text ?? ''); }
  reload() { return this.do('reload', () => void step('reload', {})); }
  goBack() { return this.do('goBack', () => void step('back', {})); }
  goForward() { return this.do('goForward', () => void step('forward', {})); }
  bringToFront() { return this.do('bringToFront', () => {}); }
  close() { return this.do('close', () => void step('tab_close', { tab: this.tab || currentTab })); }
  isClosed() { return !(step('tab_list', {}).tabs ?? []).some((t) => t.tab === this.tab); }
  mainFrame() { return this; }
  childFrames() { return Array.from({ length: this.locator('iframe,frame').find(1).count }, (_, i) => new Frame(this.locator('iframe,frame').nth(i))); }
  frames() { return [this, ...this.childFrames()]; }
  name() { return ''; }
  frame(o) {
    const name = typeof o === 'string' ? o : o.name;
    return this.childFrames().find((f) => (name !== undefined ? f.name() === name : urlFits(o.url, f.url()))) ?? null;
  }
  opener() { return act(() => null); }
  viewportSize() { return named('page.viewportSize', () => { this.use(); return step('eval', { expression: '({ width: innerWidth, height: innerHeight })' }).value; }); }
  setViewportSize(s) { return this.do('setViewportSize', () => void step('emulate', { viewport: { width: s.width, height: s.height } })); }
  setDefaultTimeout(ms) { defaultTimeout = ms || TIMEOUT; }
  setDefaultNavigationTimeout() {}
  addInitScript(f, arg) { return this.do('addInitScript', () => void step('init_script', { script: typeof f === 'function' ? `(${f})(${literal(arg)})` : String(f?.content ?? f) })); }
  setExtraHTTPHeaders(headers) { return this.do('setExtraHTTPHeaders', () => void step('emulate', { headers })); }
  addStyleTag(o) { return this.tag('style', o); }
  addScriptTag(o) { return this.tag('script', o); }
  tag(kind, o = {}) {
    if (o.path) throw stopped('unsupported', 'a script has no files', 'give the text in content, or a url');
    const at = o.url ? (kind === 'style' ? { rel: 'stylesheet', href: o.url } : { src: o.url }) : { textContent: String(o.content ?? '') };
    const name = kind === 'style' && o.url ? 'link' : kind;
    return this.do(kind === 'style' ? 'addStyleTag' : 'addScriptTag', () => void step('eval', {
      expression: `new Promise((done, fail) => { const e = Object.assign(document.createElement('${name}'), ${stringify({ ...at, ...(o.type && { type: o.type }) })}); e.onload = () => done(); e.onerror = () => fail(new Error('it did not load')); document.head.append(e); ${o.url ? '' : 'done();'} })`,
    }));
  }
  emulateMedia(o = {}) { return this.do('emulateMedia', () => void step('emulate', { ...(o.media && { media: o.media }), ...(o.colorScheme && { color_scheme: o.colorScheme }), ...(o.reducedMotion && { reduced_motion: o.reducedMotion }) })); }
  evaluate(f, arg) { return arg instanceof Locator ? arg.evaluate(f) : this.do('evaluate', () => step('eval', { expression: typeof f === 'function' ? `(${f})(${literal(arg)})` : String(f) }).value); }
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
      case 'filechooser': clicked = ''; return later(() => new FileChooser(this, until(timeout, () => clicked || undefined, () => 'nothing was clicked that opens a file chooser')));
      case 'load': case 'domcontentloaded': case 'framenavigated': return later(() => { step('wait', { state: 'load' }); return this; });
      case 'console': case 'pageerror': case 'requestfailed': {
        const seen = [], hear = (v) => { seen.push(v); };
        on(name, hear);
        return later(() => { try { return until(timeout, () => { pollRecords(); return seen.find((v) => fits(v)); }, () => `no ${name} came`); } finally { off(name, hear); } });
      }
    }
    return later(() => { throw stopped('unsupported', `there is no event ${name} to wait for`, 'wait for dialog, popup, page, download, response, console, pageerror or load'); });
  }
  waitForResponse(want, o) {
    this.use();
    const since = step('network', { limit: 1 }, 'page.waitForResponse').next;
    return later(() => named('page.waitForResponse', () => until(timeoutOf(o), () => {
      for (const e of step('network', { since, limit: 200 }).entries ?? []) {
        if (e.status === undefined && !e.error) continue;
        const r = new Response(e, () => bodyOf(e));
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
  // write types where the caret is: the command type goes to the end of a field.
  write(what, text, mode) {
    return this.do('keyboard.' + what, () => {
      const field = this.locator(':focus').first().find(1, ['caret']).nodes[0], caret = field?.read.caret;
      if (field && (caret !== 'within' || text.length > 200)) step('type', { ref: field.ref, text, ...mode, ...(caret === 'all' && { clear: true }) });
      else for (const key of text) step('press', { key: key === '\n' ? 'Enter' : key });
    });
  }
  get keyboard() {
    return {
      press: (key) => this.do('keyboard.press', () => void step('press', { key: keyName(key) })),
      type: (text) => this.write('type', String(text), { mode: 'keys' }),
      insertText: (text) => this.write('insertText', String(text), {}),
      down: (key) => this.do('keyboard.down', () => void step('press', { key: keyName(key), action: 'down' })), up: (key) => this.do('keyboard.up', () => void step('press', { key: keyName(key), action: 'up' })),
    };
  }
}
Object.assign(Page.prototype, queries);
// page.click(selector, …) and its like: the first element, as in Playwright.
for (const name of ['click', 'dblclick', 'tap', 'fill', 'type', 'press', 'check', 'uncheck', 'setChecked', 'hover', 'focus', 'selectOption', 'textContent', 'innerText', 'innerHTML', 'inputValue', 'getAttribute', 'isVisible', 'isHidden', 'isEnabled', 'isDisabled', 'isEditable', 'isChecked', 'setInputFiles', 'dispatchEvent']) {
  Page.prototype[name] = Frame.prototype[name] = function (selector, ...args) { return this.locator(selector).first()[name](...args); };
}
for (const name of ['waitForSelector', '$', '$$', '$eval', '$$eval', 'waitForTimeout', 'waitForLoadState']) Frame.prototype[name] = Page.prototype[name];
Page.prototype.dragAndDrop = function (from, to, o) { return this.locator(from).dragTo(this.locator(to), o); };

// What a script of this kind cannot have, and what to use in its place.
for (const [name, instead] of Object.entries({ evaluateHandle: 'evaluate, which returns the value itself', exposeFunction: 'console.log in the page, and page.on("console")', exposeBinding: 'console.log in the page, and page.on("console")', routeFromHAR: 'route', workers: 'evaluate', video: 'screenshot' })) {
  Page.prototype[name] = () => { throw stopped('unsupported', `page.${name} is not there`, 'use ' + instead); };
}

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
  storageState: () => act(() => named('context.storageState', () => {
    const here = step('eval', { expression: '({ origin, localStorage: Object.entries(localStorage).map(([name, value]) => ({ name, value })) })' }).value;
    return { cookies: step('cookies_get', {}).cookies, origins: here.localStorage.length ? [here] : [] };
  })),
  clearCookies: () => act(() => void step('cookies_clear', {}, 'context.clearCookies')),
  on(name, f) { on(name, f); return this; }, once(name, f) { on(name, f, true); return this; }, off(name, f) { off(name, f); return this; },
  waitForEvent: (name, o) => pages.current().waitForEvent(name, o),
  route: (want, h) => pages.current().route(want, h),
  setExtraHTTPHeaders: (headers) => pages.current().setExtraHTTPHeaders(headers),
  setOffline: (offline) => act(() => void step('emulate', { offline: !!offline }, 'context.setOffline')),
  setGeolocation: (place) => act(() => void step('emulate', { geolocation: place }, 'context.setGeolocation')),
  addInitScript: (f, arg) => pages.current().addInitScript(f, arg),
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
