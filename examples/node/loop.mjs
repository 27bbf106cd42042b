// An agent loop in a few dozen lines: it connects to a running
// `browserd serve`, opens a page, and acts on it by refs that it reads in the
// snapshot, as a language model would.
//
//   npm install
//   BROWSERD_TOKEN=… node loop.mjs ws://127.0.0.1:9333/v1/ws http://127.0.0.1:8080/
//
// The page is the app of `browserd demo`: the loop puts a thing on its list.
import WebSocket from 'ws';

const [url, app] = process.argv.slice(2);
if (!app) throw new Error('usage: BROWSERD_TOKEN=… node loop.mjs WEBSOCKET-URL APP-URL');

const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${process.env.BROWSERD_TOKEN}` } });
await new Promise((open, fail) => socket.once('open', open).once('error', fail));

// call sends one command and waits for its answer; events are passed over.
let id = 0;
function call(method, params = {}) {
  const mine = ++id;
  return new Promise((resolve, reject) => {
    socket.on('message', function read(frame) {
      const reply = JSON.parse(frame);
      if (reply.id !== mine) return;
      socket.off('message', read);
      if (!reply.error) return resolve(reply.result);
      const { message, data } = reply.error;
      reject(new Error(`${method}: ${data.code}: ${message}; next: ${data.next}`));
    });
    socket.once('close', () => reject(new Error(`${method}: the connection was closed`)));
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: mine, method, params }));
  });
}

// ref takes a snapshot and finds the line of a role and name in it:
// `@e7 [button …] "Add"`.
async function ref(role, name) {
  const { text } = (await call('snapshot')).snapshot;
  for (const line of text.split('\n')) {
    const found = /^ *(@e\d+) \[(\w+).*\] (".*")$/.exec(line);
    if (found && found[2] === role && JSON.parse(found[3]) === name) return found[1];
  }
  throw new Error(`no ${role} "${name}" in:\n${text}`);
}

// shown is what an answer shows of the page: what changed, or after a
// navigation the new page.
const shown = ({ delta, snapshot }) => (delta ?? snapshot).text;

console.log(shown(await call('open', { url: app })));
console.log(shown(await call('click', { ref: await ref('link', 'Items') })));
await call('type', { ref: await ref('textbox', 'New item'), text: 'Oat milk' });
console.log(shown(await call('click', { ref: await ref('button', 'Add') })));

const page = (await call('read', { kind: 'text' })).content;
if (!page.includes('Oat milk')) throw new Error(`the page does not show what was added:\n${page}`);
console.log(page);
socket.close();
