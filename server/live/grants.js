// unprotected says on a session in the person's own browser what does not hold there.
function unprotected(s) {
  return s.attached && el('p', { class: 'unprotected bad' }, 'In your own browser: neither the jail nor the egress policy holds here.');
}

// personTabs is the button that lists the person's own tabs. Nobody asks for them before it is pressed.
function personTabs(s) {
  return s.attached && state.owner && el('button', { onclick: () => send({ t: 'person_tabs', agent: s.agent, session: s.name }) }, 'Your tabs');
}

// listPersonTabs shows them, each with the button that grants it or takes it back.
function listPersonTabs(m) {
  const d = $('ask'), s = { agent: m.agent, name: m.session };
  const row = (t) => el('li', { class: 'row' }, el('span', { class: 'grow clip' }, el('bdi', {}, t.title || 'no title'), ' ', el('span', { class: 'soft' }, t.host)),
    t.granted === 'elsewhere' ? el('span', { class: 'soft' }, 'granted to another session')
      : el('button', { class: t.granted ? '' : 'main', 'aria-label': `${t.granted ? 'Take back' : 'Grant'} ${t.title || t.host}`, onclick: () => act(s, t.granted ? 'takeback' : 'grant', { tab: t.id }) }, t.granted ? 'Take back' : 'Grant'));
  d.replaceChildren(el('form', { method: 'dialog' }, el('p', {}, el('b', {}, 'Your own tabs. '), `An agent sees and uses none of them unless you grant it: ${s.name} then has it, with your login, until you take it back or the session ends.`),
    m.tabs.length ? el('ul', { class: 'actions tabs-of-yours' }, m.tabs.map(row)) : el('p', { class: 'soft' }, 'You have no other tab open.'), el('div', { class: 'row' }, el('button', {}, 'Close'))));
  if (!d.open) d.showModal();
}
