// A worker's own ways out; WHERE is worker, shared or service.
const socket = url => new Promise(done => { const s = new WebSocket(url); s.onopen = s.onerror = done });
const all = Promise.allSettled([
  fetch('http://FORBIDDEN/WHERE-fetch', {mode: 'no-cors'}),
  socket('ws://FORBIDDEN/WHERE-socket'),
  (async () => new WebSocketStream('ws://FORBIDDEN/WHERE-stream').opened)(),
]);
if ('WHERE' === 'worker') {
  try { importScripts('http://FORBIDDEN/WHERE-import') } catch {}
  all.then(() => postMessage('tried'));
} else if ('WHERE' === 'shared') {
  onconnect = e => all.then(() => e.ports[0].postMessage('tried'));
} else {
  oninstall = () => skipWaiting();
  onactivate = e => e.waitUntil(clients.claim().then(() => all).then(async () => {
    for (const c of await clients.matchAll()) c.postMessage('tried');
  }));
}
