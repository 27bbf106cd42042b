oninstall = (e) => e.waitUntil((async () => {
	const c = await caches.open('sw' + location.search);
	await c.put(registration.scope + 'cached', new Response('kept'));
	await skipWaiting();
})());
onactivate = (e) => e.waitUntil(clients.claim());
onfetch = (e) => {
	if (e.request.url.endsWith('/made')) e.respondWith(new Response('made'));
	if (e.request.url.endsWith('/page.html')) e.respondWith(new Response('<!doctype html>made here', {headers: {'Content-Type': 'text/html'}}));
	if (e.request.url.endsWith('/cached')) e.respondWith(caches.match(e.request));
};
onmessage = (e) => e.waitUntil(clients.matchAll().then((list) => e.ports[0].postMessage(list.length)));
