// The live view. It shows what the daemon says, as text, and asks nobody else.
const base = location.pathname, csrf = document.querySelector('meta[name=csrf]').content;
const $ = (id) => document.getElementById(id);
let state = JSON.parse($('state').textContent), socket, open = false, next = 1, drawn = '', panel = 'page';
const streams = new Map(); // by id: {key, id, canvas, size}
const hits = new Map(); // by session: the newest action that the picture shows
let lines = { text: '', boxes: {} };
let composing = false; // an input method, which a new field would end

// el makes an element: properties, attributes in kebab case or with on…, children.
function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (k === 'class') e.className = v;
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false && c !== ''));
  return e;
}
const keyOf = (s) => s.agent + '/' + s.name;
const say = (text) => { $('note').textContent = text || ''; };
const time = (t) => new Date(t).toLocaleTimeString();
const send = (m) => { if (open) socket.send(JSON.stringify(m)); };

function connect() {
  socket = new WebSocket(base.replace(/^/, location.origin.replace(/^http/, 'ws')) + 'live');
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => { open = true; say(''); streams.clear(); drawn = ''; render(); };
  socket.onclose = () => { open = false; say('The connection has ended. Trying again …'); setTimeout(connect, 1500); };
  socket.onmessage = (e) => (typeof e.data === 'string' ? heard(JSON.parse(e.data)) : frame(e.data));
}
setInterval(() => send({ t: 'here' }), 15000);

function heard(m) {
  switch (m.t) {
    case 'state': state = m; if (!composing) render(); break;
    case 'error': if (m.asked === 'watch') refused(m); else say(m.text); break;
    case 'asks': asks(m.id, m.asks); break;
    case 'snapshot': if (!m.busy) { lines = m; showLines(); } break;
    case 'person_tabs': listPersonTabs(m); break;
    case 'dark': dark(m); break;
    case 'ended': for (const [key, s] of streams) if (s.id === m.id) { streams.delete(key); drawn = ''; render(); } break;
    case 'over': say('The session has ended.'); break;
  }
}

async function frame(data) {
  const head = new DataView(data), id = head.getUint32(0);
  const s = [...streams.values()].find((x) => x.id === id);
  if (!s) return;
  s.width = head.getUint16(4); s.height = head.getUint16(6);
  const turn = ++s.turn;
  try {
    const picture = await createImageBitmap(new Blob([new Uint8Array(data, 8)], { type: 'image/jpeg' }));
    if (turn !== s.turn) return; // there is none any more
    s.why = '';
    if (s.canvas.width !== picture.width || s.canvas.height !== picture.height) { s.canvas.width = picture.width; s.canvas.height = picture.height; }
    s.canvas.getContext('2d').drawImage(picture, 0, 0);
    picture.close();
    s.canvas.dataset.frames = (+s.canvas.dataset.frames || 0) + 1;
    s.canvas.parentElement?.querySelector('.none')?.remove();
  } finally { send({ t: 'ack', id }); }
  if (s.whole) { place(s); refresh(); }
}

// dark has a card show no picture, and say why.
function dark(m) {
  const s = [...streams.values()].find((x) => x.id === m.id);
  if (!s) return;
  s.turn++;
  s.why = m.text;
  s.canvas.getContext('2d').clearRect(0, 0, s.canvas.width, s.canvas.height);
  drawn = '';
  render();
}

const watch = (st) => send({ t: 'watch', id: st.id, agent: st.of.agent, session: st.of.name, tab: st.tab, whole: st.whole });
// refused has a picture that is not watched say why, and asks for it again while it is on the page.
function refused(m) {
  const st = [...streams.values()].find((x) => x.id === m.id);
  if (!st) return;
  if (st.why !== m.text) dark(m);
  setTimeout(() => { if (streams.get(st.key) === st) watch(st); }, 1000);
}

// picture returns the canvas of a session's selected tab, which goes on showing it.
function picture(s, whole) {
  const tab = s.tabs.find((t) => t.selected)?.tab || '', key = [keyOf(s), tab, whole, s.node || ''].join('/');
  let st = streams.get(key);
  if (!st) {
    st = { id: next++, canvas: el('canvas', { width: 640, height: 360, role: 'img' }), whole, key, of: s, tab, turn: 0, why: s.node ? 'at node ' + s.node : '', fresh: true };
    streams.set(key, st);
  }
  st.used = true;
  st.canvas.setAttribute('aria-label', 'Live picture of ' + s.name);
  return st;
}

// sight is what is to be seen of a picture: why there is none lies over it.
const sight = (st) => [st.canvas, st.why && el('span', { class: 'none' }, st.why)];

async function press(button, form) {
  const body = new URLSearchParams({ csrf, ...form });
  const a = await fetch(base + button, { method: 'POST', body });
  say(a.ok ? '' : await a.text());
  return a.ok;
}
// elsewhere opens the view of a session that another node of the fleet has.
async function elsewhere(s) {
  const a = await fetch(base + 'elsewhere', { method: 'POST', body: new URLSearchParams({ csrf, agent: s.agent, session: s.name }) });
  if (a.ok) location.assign((await a.json()).path);
  else say(await a.text());
}
const act = (s, button, more) => press(button, { agent: s.agent, session: s.name, ...more });

const shown = () => {
  const name = decodeURIComponent(location.hash.slice(1));
  if (!name && state.sessions.length === 1 && !state.everybody) return state.sessions[0];
  return state.sessions.find((s) => !s.node && (keyOf(s) === name || s.name === name));
};

// outline is what the page's build depends on: pictures and times come into what is there.
function render() {
  const s = shown();
  $('about').textContent = `${state.version} · ${state.open} of ${state.max} sessions` + (state.not_ready ? ` · not ready: ${state.not_ready}` : '') + (state.silent ? ` · no word of ${state.silent.join(', ')}` : '');
  const now = JSON.stringify([s ? keyOf(s) : '', panel, s ? { ...s, idle: 0 } : [state.sessions, state.silent], state.questions, open]);
  if (now === drawn) return;
  drawn = now;
  const typed = new Map([...document.querySelectorAll('#main input[data-keep], #main select[data-keep]')].map((i) => [i.dataset.keep, i.value]));
  const focus = document.activeElement?.dataset?.keep || document.activeElement?.id;
  for (const st of streams.values()) st.used = false;
  document.title = s ? `${s.name} · browserd` : 'browserd';
  $('main').replaceChildren(...questions(), s ? session(s) : overview());
  for (const i of document.querySelectorAll('#main [data-keep]')) if (typed.has(i.dataset.keep)) i.value = typed.get(i.dataset.keep);
  if (focus) (document.querySelector(`[data-keep="${CSS.escape(focus)}"]`) || $(focus))?.focus({ preventScroll: true });
  for (const [key, st] of streams) if (!st.used) { streams.delete(key); send({ t: 'unwatch', id: st.id }); }
  // Behind those: a view has room for so many pictures.
  for (const st of streams.values()) if (st.fresh) { st.fresh = false; watch(st); }
  for (const st of streams.values()) place(st);
  if (s) { showLines(); refresh(true); }
}

// What the questions' buttons stand for changes when a question comes or goes. Then they answer
// nothing for half a second: nobody means a question that they have not seen.
let questionsShown = '', settled = true;
function settle() {
  const now = state.questions.map((q) => q.id).join();
  if (now === questionsShown) return;
  questionsShown = now;
  settled = !now;
  if (now) setTimeout(() => { if (questionsShown === now) { settled = true; drawn = ''; render(); } }, 500);
}

function questions() {
  settle();
  return state.questions.map((q) => {
    const remember = el('select', { 'aria-label': 'How long the answer holds', 'data-keep': 'remember' + q.id },
      el('option', { value: 'no' }, 'for this once'), el('option', { value: 'session' }, 'for the session'), el('option', { value: 'always' }, 'for good'));
    const answer = (allow) => () => press('confirm', { id: q.id, allow, remember: remember.value });
    return el('section', { class: 'question', 'aria-label': 'A question' },
      el('p', {}, el('b', {}, q.agent), ' asks for ', el('b', {}, q.command), q.name ? [' on ', el('bdi', {}, q.name)] : '', q.session ? ` in ${q.session}` : '', q.origin ? ` at ${q.origin}` : q.host ? ` at ${q.host}` : '', q.tab_origin ? `, in a tab of ${q.tab_origin}` : ''),
      el('p', { class: 'soft' }, q.why), q.url ? el('code', {}, q.url) : '', q.params ? el('code', {}, JSON.stringify(q.params)) : '',
      q.config ? el('p', {}, 'A yes adds to the policy, for this session or agent alone unless it is for good: ', el('code', {}, JSON.stringify(q.config))) : '',
      q.script ? [el('p', { class: 'soft' }, 'The script calls ', el('code', {}, q.script.call || '')), el('pre', { class: 'code' }, q.script.code || '')] : '',
      el('div', { class: 'row' }, el('button', { class: 'main', onclick: answer('yes'), disabled: !settled }, 'Allow'), el('button', { onclick: answer('no'), disabled: !settled }, 'Deny'), remember));
  });
}

const doing = (s) => s.handoff.driver ? `${s.mine ? 'You drive' : s.handoff.driver + ' drives'} since ${time(s.handoff.driving_since)}`
  : s.command ? `${s.command} runs since ${time(s.since)}` + (s.waiting ? `, ${s.waiting} wait` : '') : 'nothing runs';

function handoff(s) {
  const h = s.handoff;
  if (!h.state && !state.drives) return '';
  const free = !h.driver || s.mine, keep = 'note ' + keyOf(s);
  const note = el('input', { placeholder: 'A note for the agent', 'aria-label': 'A note for the agent', 'data-keep': keep, maxlength: 2000, class: 'grow' });
  const button = (what, label, kind) => el('button', { class: kind, onclick: async () => (await act(s, what, { note: note.value })) && what === 'take' && $('keys')?.focus() }, label);
  const parts = [];
  if (h.asked) parts.push(el('p', {}, el('b', {}, h.driver ? doing(s) + '. ' : 'The agent asks for a person. '), el('bdi', {}, h.reason || ''), el('span', { class: 'soft' }, ` It waits until ${time(h.until)}.`)));
  else if (h.driver) parts.push(el('p', {}, el('b', {}, doing(s) + '.'), el('span', { class: 'soft' }, ` Until ${time(h.until)}, or longer while they work.`)));
  if (s.mine && s.scripts) parts.push(el('p', { class: 'bad' }, 'The agent has run JavaScript in this session: a page may tell it what you type.'));
  const buttons = [];
  if (state.drives && free) {
    buttons.push(s.mine ? button('back', 'Hand back', h.asked ? '' : 'main') : s.live && button('take', 'Take over', h.asked ? 'main' : ''));
    if (h.asked) buttons.push(button('done', 'Done', s.mine ? 'main' : ''), button('cancel', 'Cancel'), note);
  }
  if (state.drives) buttons.push(el('button', { class: 'stop', onclick: () => sure(`Stop ${s.name}? Its pages are closed, and its agent is told.`, () => act(s, 'stop')) }, 'Stop'));
  else if (h.asked) parts.push(el('p', { class: 'soft' }, 'This link only shows: an operator takes over in their own view.'));
  return el('div', { class: h.state ? 'handoff' : 'row' }, parts, el('div', { class: 'row' }, buttons));
}

function sure(text, then) {
  const d = $('ask');
  d.replaceChildren(el('form', { method: 'dialog' }, el('p', {}, text), el('div', { class: 'row' }, el('button', { class: 'main', onclick: then }, 'Stop it'), el('button', {}, 'Keep it'))));
  d.showModal();
}

function action(a) {
  const failed = a.code !== 'ok' && a.ms !== null;
  const e = a.effect || {}, effects = [e.navigated && 'went to ' + e.navigated, e.changed && 'the page changed', e.dialog && `dialog: ${e.dialog.message}`, e.downloads && 'download ' + e.downloads.join(', '),
    e.requests_failed && `${e.requests_failed.length} requests failed`, e.console_errors && `${e.console_errors.length} console errors`].filter(Boolean).join(' · ');
  return el('li', { class: failed ? 'failed' : '' }, el('b', {}, a.command), el('span', { class: 'clip' }, a.ref ? el('bdi', {}, `${a.ref.ref} ${a.ref.role} “${a.ref.name}”`) : ''),
    el('span', { class: failed ? 'bad' : 'soft' }, failed ? a.code : a.ms === null ? a.code : a.ms + ' ms'),
    a.message || effects ? el('small', {}, [a.message, effects].filter(Boolean).join(' · ')) : '');
}

// far is the card of a session at another node: it is looked at there.
function far(s) {
  const tab = s.tabs.find((t) => t.selected), h = s.handoff, st = s.live && !s.private ? picture(s, false) : null;
  const why = state.silent?.includes(s.node) ? 'no word of node ' + s.node : s.private ? 'a person drives' : st ? st.why : 'at node ' + s.node;
  return el('article', { class: 'card' + (h.state ? ' waits' : ''), 'aria-label': s.name },
    el('p', { class: 'shot' }, st && st.canvas, why && el('span', { class: 'none' }, why)),
    el('div', {}, el('div', { class: 'row' }, el('h2', { class: 'grow' }, s.name), el('span', { class: 'soft' }, s.agent)),
      tab ? el('p', { class: 'clip' }, el('bdi', {}, tab.title || 'no title')) : '', tab ? el('p', { class: 'address clip' }, tab.url) : '',
      el('p', { class: s.lost ? 'bad' : 'soft' }, s.lost ? 'page lost: the next command makes another' : doing(s)),
      h.asked ? el('p', {}, el('b', {}, 'The agent asks for a person. '), el('bdi', {}, h.reason || '')) : '',
      el('div', { class: 'row' }, el('button', { class: h.asked ? 'main' : '', onclick: () => elsewhere(s) }, 'Look there'))));
}

function overview() {
  if (!state.sessions.length) return el('p', { class: 'soft' }, 'No session is open.');
  return el('div', { class: 'cards' }, state.sessions.map((s) => {
    if (s.node) return far(s);
    const tab = s.tabs.find((t) => t.selected), href = '#' + encodeURIComponent(keyOf(s));
    return el('article', { class: 'card' + (s.handoff.state ? ' waits' : ''), 'aria-label': s.name },
      el('a', { class: 'shot', href, 'aria-label': 'Look at ' + s.name }, s.private ? el('span', { class: 'none' }, 'a person drives') : s.live ? sight(picture(s, false)) : el('span', { class: 'none' }, s.tabs.length ? 'no picture: ' + s.source : 'no page yet')),
      el('div', {}, el('div', { class: 'row' }, el('h2', { class: 'grow' }, el('a', { href }, s.name)), el('span', { class: 'soft' }, s.agent + (s.credits !== undefined ? ` · ${s.credits} credits` : ''))),
        tab ? el('p', { class: 'clip' }, el('bdi', {}, tab.title || 'no title')) : '', tab ? el('p', { class: 'address clip' }, tab.url) : '', unprotected(s),
        el('p', { class: s.lost ? 'bad' : 'soft' }, s.lost ? 'page lost: the next command makes another' : doing(s)),
        el('ul', { class: 'actions' }, s.actions.slice(-3).reverse().map(action)), handoff(s)));
  }));
}

function session(s) {
  const tab = s.tabs.find((t) => t.selected), go = (t, more) => send({ t, id: whole(s)?.id, ...more });
  const st = s.live && !s.private ? picture(s, true) : null;
  const address = el('input', { class: 'grow address', 'aria-label': 'Address', 'data-keep': 'address ' + (tab?.url || ''), value: tab?.url || '', readonly: !s.mine, onkeydown: (e) => { if (e.key === 'Enter' && s.mine) go('open', { url: address.value }); } });
  const tabs = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Tabs' }, s.tabs.map((t) => el('button', { role: 'tab', 'aria-selected': String(!!t.selected), class: 'clip', disabled: !s.mine && !t.selected, onclick: () => go('tab', { tab: t.tab }) }, (t.person ? 'Yours: ' : '') + (t.title || t.url || t.tab))),
    s.mine && el('button', { onclick: () => go('newtab'), 'aria-label': 'New tab' }, '+'));
  const live = el('div', { class: 'shot live' + (s.mine ? ' driven' : ''), id: 'live' }, st ? sight(st) : el('p', { class: 'none' }, s.private ? 'a person drives' : 'no picture'));
  if (st && s.mine) drive(live, st);
  else st?.driven?.abort();
  const pick = (name, label) => el('button', { role: 'tab', id: 'tab-' + name, 'aria-selected': String(panel === name), 'aria-controls': 'panel', onclick: () => { panel = name; render(); } }, label);
  if (s.dialog && s.mine) dialog(s.dialog, go);
  return el('div', { class: 'session' },
    el('section', { 'aria-label': 'The page' }, el('div', { class: 'row' }, el('h2', { class: 'grow' }, s.name), el('span', { class: 'soft' }, `${s.agent} · ${doing(s)}`)), unprotected(s), personTabs(s), handoff(s),
      el('div', { class: 'bar' }, tabs, el('div', { class: 'row' }, s.mine && [el('button', { onclick: () => go('back'), 'aria-label': 'Back' }, '←'), el('button', { onclick: () => go('forward'), 'aria-label': 'Forward' }, '→'), el('button', { onclick: () => go('reload'), 'aria-label': 'Reload' }, '↻')], address)), live,
      s.mine && el('p', { class: 'soft' }, 'Keys go to the page; F6 leaves it.')),
    el('aside', { class: 'side' }, el('div', { role: 'tablist', 'aria-label': 'Beside the page' }, pick('page', 'As the agent sees it'), pick('log', 'Timeline'), s.recordings.length > 0 && pick('recordings', 'Recordings')),
      panel === 'recordings' ? el('div', { class: 'panel', id: 'panel', role: 'tabpanel', 'aria-labelledby': 'tab-recordings' }, el('ul', { class: 'actions' }, s.recordings.map((r) => recorded(s, r)))) :
        panel === 'page' ? el('div', { class: 'panel lines', id: 'panel', role: 'tabpanel', 'aria-labelledby': 'tab-page' }) :
        el('div', { class: 'panel', id: 'panel', role: 'tabpanel', 'aria-labelledby': 'tab-log' }, s.actions.length ? el('ol', { class: 'actions' }, s.actions.slice().reverse().map((a) => { const li = action(a); li.prepend(el('small', {}, time(a.at))); return li; })) : el('p', { class: 'soft' }, 'Nothing since somebody first looked.'))));
}
const films = new Map(); // videos by address: they go on playing while the page around them is built again
// recorded is a recording: a video that plays here, or a trace to be kept as a file.
function recorded(s, r) {
  const href = base + 'recording?' + new URLSearchParams({ agent: s.agent, session: s.name, name: r.name });
  const size = r.state === 'done' ? `${Math.max(1, Math.round(r.bytes / 1024))} KB` : 'is being recorded';
  if (r.kind === 'video' && r.state === 'done' && !films.has(href)) films.set(href, el('video', { src: href, controls: true, muted: true, preload: 'metadata', playsinline: true, 'aria-label': 'Video ' + r.name }));
  return el('li', {}, el('b', {}, r.kind), el('span', { class: 'clip' }, r.state === 'done' ? el('a', { href, download: r.name }, r.name) : r.name), el('span', { class: 'soft' }, size),
    el('small', {}, new Date(r.time).toLocaleString() + (r.full ? ' · its end is left out: it is full' : '') + (r.kind === 'trace' ? ' · npx playwright show-trace opens it' : '')), films.get(href));
}
const whole = (s) => [...streams.values()].find((st) => st.whole && st.used && keyOf(st.of) === keyOf(s));

let due = 0, asked = 0;
// refresh asks for the lines again, now or when the page has been quiet for a moment.
function refresh(now) {
  const s = shown(), st = s && whole(s);
  if (!st || s.dialog || panel !== 'page' || document.hidden) return;
  clearTimeout(due);
  due = setTimeout(() => { asked = Date.now(); send({ t: 'snapshot', id: st.id }); }, now && Date.now() - asked > 1000 ? 0 : 700);
}
function showLines() {
  const box = document.querySelector('.lines');
  if (!box) return;
  box.replaceChildren(...lines.text.split('\n').map((line) => {
    const ref = /^\s*(@e\d+) /.exec(line)?.[1], at = ref && lines.boxes?.[ref];
    const light = (on) => () => hover(on && at);
    return at ? el('div', { tabindex: 0, onmouseenter: light(true), onfocus: light(true), onmouseleave: light(false), onblur: light(false) }, line) : el('div', {}, line);
  }));
}

function mark(st, at, kind, label) {
  const host = st.canvas.parentElement;
  if (!host || !at || !st.width) return;
  const kx = st.canvas.clientWidth / st.width, k = host.classList.contains('live') ? kx : Math.min(kx, st.canvas.clientHeight / st.height);
  const left = host.classList.contains('live') ? 0 : (st.canvas.clientWidth - st.width * k) / 2;
  const m = el('div', { class: 'mark ' + kind }, label ? el('span', {}, label) : '');
  Object.assign(m.style, { left: left + at[0] * k + 'px', top: at[1] * k + 'px', width: at[2] * k + 'px', height: at[3] * k + 'px' });
  host.append(m);
}
// place draws where the last action hit, for a while.
function place(st) {
  const host = st.canvas.parentElement, s = state.sessions.find((x) => keyOf(x) === keyOf(st.of));
  host?.querySelectorAll('.mark:not(.hover)').forEach((m) => m.remove());
  const last = s?.actions.at(-1);
  if (last?.box && Date.now() - Date.parse(last.at) < 20000) mark(st, last.box, '', `${last.command} ${last.ref?.ref || ''}`);
}
function hover(at) {
  document.querySelectorAll('.mark.hover').forEach((m) => m.remove());
  const s = shown(), st = s && whole(s);
  if (st && at) mark(st, at, 'hover');
}

// drive gives the page what the person does on the picture.
function drive(live, st) {
  const keys = el('textarea', { id: 'keys', 'aria-label': 'Keyboard of the page', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false' });
  live.append(keys);
  st.driven?.abort();
  const { signal } = st.driven = new AbortController();
  const c = st.canvas, put = (a) => send({ t: 'act', id: st.id, act: a });
  const mods = (e) => (e.altKey ? 1 : 0) | (e.ctrlKey ? 2 : 0) | (e.metaKey ? 4 : 0) | (e.shiftKey ? 8 : 0);
  const at = (e) => { const r = c.getBoundingClientRect(); return { x: (e.clientX - r.left) * st.width / r.width, y: (e.clientY - r.top) * st.height / r.height }; };
  const mouse = (what) => (e) => { e.preventDefault(); put({ do: what, ...at(e), button: e.button, buttons: e.buttons, clicks: e.detail || 1, modifiers: mods(e) }); };
  c.onmousedown = (e) => { keys.focus({ preventScroll: true }); mouse('down')(e); };
  c.onmouseup = mouse('up');
  c.oncontextmenu = (e) => e.preventDefault();
  let moved = null;
  c.onmousemove = (e) => {
    if (!moved) requestAnimationFrame(() => { const a = moved; moved = null; put(a); });
    moved = { do: 'move', ...at(e), buttons: e.buttons, modifiers: mods(e) };
  };
  c.onwheel = (e) => { e.preventDefault(); const k = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1; put({ do: 'wheel', ...at(e), dx: e.deltaX * k, dy: e.deltaY * k, modifiers: mods(e) }); };
  const touch = (e) => { e.preventDefault(); if (e.type === 'touchend') keys.focus({ preventScroll: true }); put({ do: 'touch', touch: e.type.replace(/h(.)/, (_, l) => 'h' + l.toUpperCase()), modifiers: mods(e), points: [...e.touches].map((f) => ({ id: f.identifier, ...at(f) })) }); };
  // Neither these nor those of an input method are attributes of all elements: on… does nothing.
  for (const t of ['touchstart', 'touchmove', 'touchend', 'touchcancel']) c.addEventListener(t, touch, { passive: false, signal });
  keys.onkeydown = (e) => {
    if (e.isComposing || e.key === 'Process' || e.key === 'Unidentified') return;
    if (e.key === 'F6') { e.preventDefault(); keys.blur(); document.querySelector('.handoff button')?.focus(); return; }
    if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'v') return; // paste says what
    e.preventDefault();
    const plain = !e.ctrlKey && !e.metaKey && !e.altKey || e.getModifierState('AltGraph');
    put({ do: 'key', key: e.key, code: e.code, vk: e.keyCode, location: e.location, repeat: e.repeat, modifiers: mods(e), text: plain ? (e.key.length === 1 ? e.key : e.key === 'Enter' ? '\r' : '') : '' });
  };
  keys.onkeyup = (e) => { if (!e.isComposing && e.key !== 'Process' && e.key !== 'Unidentified' && e.key !== 'F6') put({ do: 'keyup', key: e.key, code: e.code, vk: e.keyCode, location: e.location, modifiers: mods(e) }); };
  keys.onpaste = (e) => { e.preventDefault(); const text = e.clipboardData.getData('text/plain'); if (text) put({ do: 'text', text }); };
  keys.addEventListener('compositionstart', () => { composing = true; });
  keys.addEventListener('compositionupdate', (e) => put({ do: 'compose', text: e.data }));
  keys.addEventListener('compositionend', (e) => { composing = false; put(e.data ? { do: 'text', text: e.data } : { do: 'compose', text: '' }); keys.value = ''; render(); });
  keys.onblur = () => { composing = false; };
  keys.oninput = (e) => { // the keyboard of a phone
    if (composing) return;
    if (e.inputType.startsWith('delete')) for (const what of ['key', 'keyup']) put({ do: what, key: 'Backspace', code: 'Backspace', vk: 8 });
    else if (e.inputType === 'insertLineBreak') for (const what of ['key', 'keyup']) put({ do: what, key: 'Enter', code: 'Enter', vk: 13, text: what === 'key' ? '\r' : '' });
    else if (e.data) put({ do: 'text', text: e.data });
    keys.value = '';
  };
}

// asks shows what the page wants and the picture does not show.
function asks(id, a) {
  const d = $('ask');
  if (a.files) {
    const input = el('input', { type: 'file', multiple: a.multiple, 'aria-label': 'Files' }), s = shown();
    const upload = async () => {
      const body = new FormData();
      for (const f of input.files) body.append('file', f);
      const r = await fetch(base + 'files?' + new URLSearchParams({ agent: s.agent, session: s.name }), { method: 'POST', headers: { 'Browserd-Csrf': csrf }, body });
      say(r.ok ? '' : await r.text());
    };
    d.replaceChildren(el('form', { method: 'dialog' }, el('p', {}, 'The page asks for ' + (a.multiple ? 'files.' : 'a file.')), input, el('div', { class: 'row' }, el('button', { class: 'main', onclick: upload }, 'Give'), el('button', {}, 'Not now'))));
  } else {
    d.replaceChildren(el('form', { method: 'dialog' }, el('div', { class: 'options', role: 'listbox', 'aria-label': 'Options' },
      a.options.map((o, i) => el('button', { role: 'option', 'aria-selected': String(!!o.selected), disabled: o.disabled, onclick: () => send({ t: 'choose', id, option: i }) }, (o.group ? o.group + ': ' : '') + o.text)))));
  }
  d.showModal();
  d.querySelector('[aria-selected=true]')?.focus();
}

let answering = '';
function dialog(open, go) {
  const now = JSON.stringify(open), d = $('ask');
  if (d.open && answering === now) return;
  answering = now;
  const text = open.kind === 'prompt' ? el('input', { value: open.default || '', 'aria-label': open.message }) : null;
  const answer = (accept) => () => { answering = ''; go('dialog', { accept, text: text?.value || '' }); };
  d.replaceChildren(el('form', { method: 'dialog' }, el('p', {}, el('b', {}, 'The page says: '), el('bdi', {}, open.message)), text, el('div', { class: 'row' }, el('button', { class: 'main', onclick: answer(true) }, 'OK'), open.kind !== 'alert' && el('button', { onclick: answer(false) }, 'Cancel'))));
  if (!d.open) d.showModal();
}

$('ask').addEventListener('close', () => $('keys')?.focus({ preventScroll: true })); // what had the focus may be another element by now
addEventListener('hashchange', () => { lines = { text: '', boxes: {} }; drawn = ''; render(); });
addEventListener('resize', () => { for (const st of streams.values()) place(st); });
render();
connect();
