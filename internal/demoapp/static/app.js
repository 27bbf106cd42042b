// The demo's single page: a router on history.pushState, a list that is built
// anew on every change, a form, two shadow roots, a frame and a dialog. All
// state is here: a reload starts again.

const items = [
  { id: 1, name: 'Apples', done: false },
  { id: 2, name: 'Bread', done: true },
  { id: 3, name: 'Coffee', done: false },
];
let nextID = 4;
let filter = 'all';

const main = document.getElementById('main');
const say = text => { document.getElementById('status').textContent = text; };

// el makes an element: el('button', {type: 'button', onclick: f}, 'text', child).
function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

// ---- routes

const routes = [
  [/^\/$/, 'Home', home],
  [/^\/items$/, 'Items', list],
  [/^\/items\/(\d+)$/, 'Item', detail],
  [/^\/contact$/, 'Contact', contact],
  [/^\/about$/, 'About', about],
];

function render() {
  const path = location.pathname;
  const [pattern, title, view] = routes.find(([p]) => p.test(path)) || [/^/, 'Not found', missing];
  document.title = `${title} · Pantry`;
  for (const a of document.querySelectorAll('nav a')) {
    const here = a.pathname === '/' ? path === '/' : path.startsWith(a.pathname);
    if (here) a.setAttribute('aria-current', 'page'); else a.removeAttribute('aria-current');
  }
  main.replaceChildren(...view(...path.match(pattern).slice(1)));
}

function go(path) {
  history.pushState(null, '', path);
  say('');
  render();
}

document.addEventListener('click', event => {
  const a = event.target.closest('a[data-route]');
  if (!a || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(a.pathname);
});
addEventListener('popstate', render);

// ---- pages

function home() {
  return [el('h1', {}, 'Pantry'), el('p', {}, 'What is in the house, and what to buy.')];
}

function missing() {
  return [el('h1', {}, 'Not found'), el('p', {}, 'There is no such page.')];
}

// list builds every row anew on each change, as many an app does: whoever holds
// on to an element of the old list holds nothing.
function list() {
  const input = el('input', { name: 'item', autocomplete: 'off' });
  const rows = el('ul', { 'aria-label': 'Items' });
  const add = el('form', {
    onsubmit: event => {
      event.preventDefault();
      const name = input.value.trim();
      if (!name) return;
      items.push({ id: nextID++, name, done: false });
      input.value = '';
      fill();
      say(`Added ${name}`);
    },
  }, el('label', {}, 'New item ', input), el('button', {}, 'Add'));

  const show = el('fieldset', {}, el('legend', {}, 'Show'), ...['All', 'Open', 'Done'].map(name => el('label', {},
    el('input', {
      type: 'radio', name: 'filter', checked: filter === name.toLowerCase(),
      onchange: () => { filter = name.toLowerCase(); fill(); },
    }), ' ', name)));

  function fill() {
    const shown = items.filter(i => filter === 'all' || i.done === (filter === 'done'));
    rows.replaceChildren(...shown.map(row));
  }

  function row(item) {
    const toggle = el('input', {
      type: 'checkbox', checked: item.done,
      onchange: () => { item.done = toggle.checked; fill(); },
    });
    return el('li', { className: item.done ? 'done' : '' },
      el('label', {}, toggle, ' ', item.name),
      el('a', { href: `/items/${item.id}`, 'data-route': '' }, 'Details'),
      el('button', { type: 'button', onclick: () => remove(item) }, 'Delete'));
  }

  async function remove(item) {
    if (!await confirmed(`Delete ${item.name}?`)) return;
    items.splice(items.indexOf(item), 1);
    fill();
    say(`Deleted ${item.name}`);
  }

  fill();
  return [el('h1', {}, 'Items'), add, show, rows];
}

function detail(id) {
  const item = items.find(i => i.id === Number(id));
  if (!item) return missing();
  return [
    el('h1', {}, item.name),
    el('p', {}, item.done ? 'In the house.' : 'To buy.'),
    el('a', { href: '/items', 'data-route': '' }, 'Back to the list'),
  ];
}

function contact() {
  const field = (label, control) => {
    const error = el('p', { className: 'error', id: `${control.name}-error` });
    control.setAttribute('aria-describedby', error.id);
    return el('div', {}, el('label', {}, `${label} `, control), error);
  };
  const topic = el('select', { name: 'topic' }, ...['Question', 'Complaint', 'Praise'].map(t => el('option', {}, t)));
  const form = el('form', { noValidate: true, onsubmit: send },
    field('Name', el('input', { name: 'name', required: true, autocomplete: 'name' })),
    field('Message', el('textarea', { name: 'message', required: true, rows: 3 })),
    el('label', {}, 'Topic ', topic),
    el('fieldset', {}, el('legend', {}, 'Reply by'),
      el('label', {}, el('input', { type: 'radio', name: 'reply', value: 'email', checked: true }), ' Email'),
      el('label', {}, el('input', { type: 'radio', name: 'reply', value: 'phone' }), ' Phone')),
    el('label', {}, 'Not before ', el('input', { type: 'date', name: 'date' })),
    el('label', {}, el('input', { type: 'checkbox', name: 'copy' }), ' Send me a copy'),
    el('button', {}, 'Save'));

  async function send(event) {
    event.preventDefault();
    let bad = null;
    for (const control of form.querySelectorAll('[required]')) {
      const empty = !control.value.trim();
      if (empty) control.setAttribute('aria-invalid', 'true'); else control.removeAttribute('aria-invalid');
      document.getElementById(`${control.name}-error`).textContent = empty ? 'This is required.' : '';
      if (empty) bad ||= control;
    }
    if (bad) {
      bad.focus();
      say('Not saved');
      return;
    }
    const reply = await fetch('/api/contact', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...Object.fromEntries(new FormData(form)), copy: form.elements.copy.checked }),
    });
    say(reply.ok ? 'Saved' : 'Not saved');
  }
  return [el('h1', {}, 'Contact'), form];
}

function about() {
  return [
    el('h1', {}, 'About'),
    el('demo-counter'),
    el('demo-tip'),
    el('iframe', { src: '/frame', title: 'Newsletter' }),
  ];
}

// ---- parts

// confirmed shows the modal dialog and says whether Delete was chosen.
let answer = () => {};
const dialog = document.getElementById('confirm');
dialog.addEventListener('close', () => answer(dialog.returnValue === 'delete'));

function confirmed(question) {
  document.getElementById('confirm-title').textContent = question;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise(resolve => { answer = resolve; });
}

customElements.define('demo-counter', class extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: 'open' });
    const count = el('output', {}, '0');
    root.append(el('button', { type: 'button', onclick: () => { count.textContent = Number(count.textContent) + 1; } }, 'Count'), ' ', count);
  }
});

customElements.define('demo-tip', class extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: 'closed' });
    const tip = el('p', { hidden: true }, 'Coffee keeps longest in whole beans.');
    root.append(el('button', { type: 'button', onclick: () => { tip.hidden = false; } }, 'Show tip'), tip);
  }
});

render();
