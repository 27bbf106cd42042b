'use strict';
const text = async () => (await fetch('/platform/text')).text();
const does = {
	name: () => self.name === '' ? 'unnamed' : self.name,
	nested: () => new Promise((done) => { const w = new Worker('worker.js'); w.onmessage = (e) => done('inner ' + e.data); w.postMessage({what: 'fetch'}); }),
	fetch: text,
	xhr: () => { const x = new XMLHttpRequest(); x.open('GET', '/platform/text', false); x.send(); return x.responseText; },
	socket: () => new Promise((done) => { const s = new WebSocket('ws://' + location.host + '/platform/socket'); s.onopen = () => s.send('w'); s.onmessage = (e) => done(e.data); s.onerror = () => done('error'); }),
	import: () => { importScripts('imported.js'); return imported; },
	indexedDB: ({name}) => new Promise((done) => { const r = indexedDB.open('worker' + name); r.onsuccess = () => { r.result.close(); indexedDB.deleteDatabase('worker' + name); done('open'); }; r.onerror = () => done(r.error.name); }),
	timers: () => new Promise((done) => { let n = 0; const t = setInterval(() => { if (++n === 3) { clearInterval(t); done('three'); } }, 5); }),
	frames: () => new Promise((done) => self.requestAnimationFrame ? requestAnimationFrame(() => done('frame')) : done('none')),
	navigator: () => ({ua: navigator.userAgent, languages: navigator.languages, cores: navigator.hardwareConcurrency, online: navigator.onLine, zone: Intl.DateTimeFormat().resolvedOptions().timeZone, locale: Intl.DateTimeFormat().resolvedOptions().locale}),
	wasm: async () => (await WebAssembly.instantiateStreaming(fetch('/platform/add.wasm'))).instance.exports.add(2, 3),
	sum: ({n}) => { let s = 0; for (let i = 0; i <= n; i++) s += i; return s; },
	console: () => { console.log('from a worker'); console.error('an error of a worker'); return 'said'; },
	port: ({port}) => { port.postMessage('by the port'); },
};
onmessage = async (e) => {
	try {
		const v = await does[e.data.what](e.data);
		if (v !== undefined) postMessage(v);
	} catch (err) { postMessage(err.name + ' ' + err.message); }
};
