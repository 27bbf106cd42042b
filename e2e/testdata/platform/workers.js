'use strict';
const echo = 'onmessage = (e) => postMessage(e.data + 1)';
async function ask(w, m, transfer) { w.postMessage(m, transfer); return message(w); }

check('worker: blob', async () => ask(new Worker(blob(echo)), 1));
check('worker: data', async () => ask(new Worker('data:text/javascript,' + encodeURIComponent(echo)), 1));
check('worker: file', async () => ask(new Worker('worker.js'), {what: 'name'}));
check('worker: name', async () => ask(new Worker('worker.js', {name: 'called'}), {what: 'name'}));
check('worker: module', async () => message(new Worker('worker-module.js', {type: 'module'})));
check('worker: nested', async () => ask(new Worker('worker.js'), {what: 'nested'}));
check('worker: fetch', async () => ask(new Worker('worker.js'), {what: 'fetch'}));
check('worker: XHR', async () => ask(new Worker('worker.js'), {what: 'xhr'}));
check('worker: socket', async () => ask(new Worker('worker.js'), {what: 'socket'}));
check('worker: importScripts', async () => ask(new Worker('worker.js'), {what: 'import'}));
check('worker: dynamic import', async () => ask(new Worker('worker-module.js?ask', {type: 'module'}), 'import'));
check('worker: indexedDB', async () => ask(new Worker('worker.js'), {what: 'indexedDB', name: run}));
check('worker: timers', async () => ask(new Worker('worker.js'), {what: 'timers'}));
check('worker: animation frames', async () => ask(new Worker('worker.js'), {what: 'frames'}));
check('worker: navigator', async () => {
	const got = await ask(new Worker('worker.js'), {what: 'navigator'});
	const own = {ua: navigator.userAgent, languages: navigator.languages, cores: navigator.hardwareConcurrency, online: navigator.onLine, zone: Intl.DateTimeFormat().resolvedOptions().timeZone, locale: Intl.DateTimeFormat().resolvedOptions().locale};
	return Object.keys(own).map((k) => k + (JSON.stringify(own[k]) === JSON.stringify(got[k]) ? ' as in the page' : ': ' + got[k] + ' and not ' + own[k])).join(', ');
});
check('worker: error event', async () => {
	const e = await new Promise((done) => { new Worker(blob('throw new Error("thrown")')).onerror = (e) => { e.preventDefault(); done(e); }; });
	return e.message + ' line ' + e.lineno;
});
check('worker: missing file', async () => { await event(new Worker('/platform/none.js'), 'error', 'message'); return 'error event'; });
check('worker: other origin', () => new Worker(other + '/platform/worker.js'));
check('worker: transferred port', async () => { const c = new MessageChannel(); const w = new Worker('worker.js'), got = message(c.port2); kept.push(w, c); c.port2.start(); w.postMessage({what: 'port', port: c.port1}, [c.port1]); return got; });
check('worker: terminate', async () => {
	const w = new Worker(blob('setInterval(() => postMessage(0), 5)'));
	await message(w); w.terminate(); await sleep(50);
	let after = 0; w.onmessage = () => after++; await sleep(100);
	return after === 0 ? 'ended' : 'goes on';
});
check('worker: close', async () => { const w = new Worker(blob('postMessage("last"); close()')); return message(w); });
check('worker: transfer', async () => {
	const b = new ArrayBuffer(8), w = new Worker(blob('onmessage = (e) => postMessage(e.data.byteLength)'));
	const got = await ask(w, b, [b]);
	return got + ' there, ' + b.byteLength + ' here';
});
check('worker: transferred stream', async () => {
	const s = new ReadableStream({start(c) { c.enqueue('a'); c.enqueue('b'); c.close(); }});
	return ask(new Worker(blob('onmessage = async (e) => { let s = ""; for await (const c of e.data) s += c; postMessage(s) }')), s, [s]);
});
check('worker: transferred canvas', async () => {
	const c = document.createElement('canvas').transferControlToOffscreen();
	return ask(new Worker(blob('onmessage = (e) => { const x = e.data.getContext("2d"); x.fillStyle = "#f00"; x.fillRect(0, 0, 9, 9); postMessage([...x.getImageData(1, 1, 1, 1).data].join()) }')), c, [c]);
});
check('worker: WebAssembly', async () => ask(new Worker('worker.js'), {what: 'wasm'}));
check('worker: shared memory', async () => {
	if (!self.crossOriginIsolated) return 'not isolated, SharedArrayBuffer ' + typeof SharedArrayBuffer;
	const b = new Int32Array(new SharedArrayBuffer(8));
	const w = new Worker(blob('onmessage = (e) => { const r = Atomics.wait(e.data, 0, 0, 5000); postMessage(r + " " + Atomics.load(e.data, 1)) }'));
	w.postMessage(b); Atomics.store(b, 1, 42); await sleep(100); Atomics.store(b, 0, 1); Atomics.notify(b, 0);
	return (await message(w)).replace('not-equal', 'ok');
});
check('worker: shared WebAssembly memory', () => {
	const m = new WebAssembly.Memory({initial: 1, maximum: 2, shared: true});
	return m.buffer.constructor.name;
});
check('worker: eight at once', async () => (await Promise.all(Array.from({length: 8}, (_, i) => ask(new Worker('worker.js'), {what: 'sum', n: i * 1000})))).join());
check('worker: console', async () => ask(new Worker('worker.js'), {what: 'console'}));
check('shared worker', async () => { const w = new SharedWorker('shared.js', 'a' + run); w.port.start(); return message(w.port); });
check('shared worker: blob', async () => { const w = new SharedWorker(blob('onconnect = (e) => e.ports[0].postMessage("blob")')); w.port.start(); return message(w.port); });
check('shared worker: module', async () => { const w = new SharedWorker('shared.js', {type: 'module', name: 'b' + run}); w.port.start(); return message(w.port); });
check('shared worker: one for two', async () => {
	const a = new SharedWorker('shared.js', 'c' + run); a.port.start(); await message(a.port);
	const b = new SharedWorker('shared.js', 'c' + run); b.port.start(); return message(b.port);
});
check('service worker', async () => {
	const scope = '/platform/sw/' + run + '/';
	const reg = await navigator.serviceWorker.register('/platform/sw.js?for=' + run, {scope});
	const sw = reg.installing || reg.waiting || reg.active;
	if (sw.state !== 'activated') await new Promise((done) => { sw.onstatechange = () => sw.state === 'activated' && done(); });
	const got = [];
	const f = frameOf(scope + 'page.html'); // one that it controls; it comes from the worker too
	await event(f, 'load');
	const w = f.contentWindow;
	got.push('frame ' + w.document.body.textContent.trim());
	got.push('controller ' + !!w.navigator.serviceWorker.controller);
	got.push('fetch ' + await (await w.fetch(scope + 'made')).text());
	got.push('cache ' + await (await w.fetch(scope + 'cached')).text());
	got.push('through ' + await (await w.fetch(scope + '../../text')).text());
	const c = new MessageChannel(); c.port1.start();
	sw.postMessage('clients', [c.port2]);
	got.push('clients ' + await message(c.port1));
	f.remove();
	got.push('unregister ' + await reg.unregister());
	return got.join('; ');
});
check('service worker: missing file', () => navigator.serviceWorker.register('/platform/none.js', {scope: '/platform/none/'}).then(() => 'registered', (e) => e.name));
check('service worker: wrong type', () => navigator.serviceWorker.register('/platform/text', {scope: '/platform/none/'}).then(() => 'registered', (e) => e.name));
check('audio worklet', async () => {
	const c = new OfflineAudioContext(1, 128, 44100);
	await c.audioWorklet.addModule('audio-worklet.js');
	const n = new AudioWorkletNode(c, 'half'); n.connect(c.destination);
	return (await c.startRendering()).getChannelData(0)[5];
});
check('audio worklet: blob', async () => { await new OfflineAudioContext(1, 128, 44100).audioWorklet.addModule(blob('registerProcessor("x", class extends AudioWorkletProcessor { process() { return false } })')); return 'added'; });
check('paint worklet', async () => { await CSS.paintWorklet.addModule('paint-worklet.js'); return 'added'; });
check('animation worklet', async () => CSS.animationWorklet ? 'there' : 'none');
check('shared storage worklet', async () => self.sharedStorage ? 'there' : 'none');
