'use strict';
check('localStorage', () => { localStorage['k' + run] = 'v'; const v = localStorage['k' + run]; localStorage.removeItem('k' + run); return v; });
check('sessionStorage', () => { sessionStorage.k = 'v'; return sessionStorage.k; });
check('storage event', async () => { const f = frameOf('/platform/child.html'); await event(f, 'load'); f.contentWindow.localStorage['e' + run] = '1'; const e = await event(self, 'storage'); localStorage.removeItem('e' + run); f.remove(); return e.newValue; });
check('indexedDB', async () => {
	const r = indexedDB.open('db' + run, 1); r.onupgradeneeded = () => r.result.createObjectStore('s', {keyPath: 'id'}).createIndex('i', 'n');
	const db = await answered(r), t = db.transaction('s', 'readwrite'), s = t.objectStore('s');
	s.put({id: 1, n: 5, blob: new Blob(['bytes'])}); s.put({id: 2, n: 4});
	await event(t, 'complete');
	const one = await answered(db.transaction('s').objectStore('s').get(1)), all = await answered(db.transaction('s').objectStore('s').index('i').getAllKeys());
	const text = await one.blob.text(); db.close(); await answered(indexedDB.deleteDatabase('db' + run));
	return text + ' ' + all;
});
check('Cache API', async () => { const c = await caches.open('c' + run); await c.add('/platform/text?c'); const r = await (await c.match('/platform/text?c')).text(); await caches.delete('c' + run); return r; });
check('OPFS', async () => {
	const d = await navigator.storage.getDirectory(), f = await d.getFileHandle('f' + run, {create: true}), w = await f.createWritable();
	await w.write('opfs'); await w.close(); const s = await (await f.getFile()).text(); await d.removeEntry('f' + run); return s;
});
check('OPFS: worker handle', async () => {
	const w = new Worker(blob(`(async () => { const d = await navigator.storage.getDirectory(), f = await d.getFileHandle('w${run}', {create: true}), h = await f.createSyncAccessHandle(); h.write(new Uint8Array(5)); h.flush(); const n = h.getSize(); h.close(); await d.removeEntry('w${run}'); postMessage(n) })()`));
	return message(w);
});
check('cookie', () => { document.cookie = 'c' + run + '=1; path=/platform'; const has = document.cookie.includes('c' + run + '=1'); document.cookie = 'c' + run + '=; path=/platform; max-age=0'; return has + ' ' + navigator.cookieEnabled; });
check('cookie: of the server', async () => { await fetch('/platform/cookie?name=s' + run); const h = (await (await fetch('/platform/headers')).json()).Cookie ?? ''; return h.includes('s' + run); });
check('cookieStore', async () => { await cookieStore.set('cs' + run, '2'); const c = await cookieStore.get('cs' + run); await cookieStore.delete('cs' + run); return c ? c.value : 'none'; });
check('cookieStore: change event', async () => { const p = new Promise((done) => { cookieStore.onchange = (e) => e.changed.some((c) => c.name === 'ch' + run) && done('changed'); }); await cookieStore.set('ch' + run, String(Date.now())); return p; });
check('locks', async () => { const got = []; await Promise.all([navigator.locks.request('l' + run, async () => { await sleep(30); got.push(1); }), navigator.locks.request('l' + run, async () => { got.push(2); })]); return got.join(); });
check('storage.estimate', async () => { const e = await navigator.storage.estimate(); return (e.quota > 100 << 20) + ' ' + (e.usage >= 0); });
check('storage.persisted', () => navigator.storage.persisted());
check('storage.persist', () => navigator.storage.persist());
check('storage buckets', async () => { const b = await navigator.storageBuckets.open('b' + run.toLowerCase()); await navigator.storageBuckets.delete('b' + run.toLowerCase()); return b.name === 'b' + run.toLowerCase(); });
check('hasStorageAccess', () => document.hasStorageAccess());
check('requestStorageAccess', () => document.requestStorageAccess().then(() => 'given'));
check('history', async () => { const n = history.length; history.pushState({a: 1}, '', '#pushed'); const s = history.state.a; history.replaceState(null, '', location.pathname + location.search); return s + ' ' + (history.length >= n); });
check('history: back', async () => {
	const back = event(self, 'popstate', 'none'); history.pushState({b: 1}, '', '#back'); history.back(); await back; return location.hash;
});
check('navigation API', async () => { const e = event(navigation, 'navigatesuccess', 'none'); navigation.addEventListener('navigate', (e) => e.canIntercept && e.intercept({handler: async () => {}}), {once: true}); navigation.navigate('#nav', {history: 'replace'}); await e; history.replaceState(null, '', location.pathname + location.search); return navigation.currentEntry ? 'entry' : 'none'; });
for (const c of checks) if (/^(history|navigation API)/.test(c.name)) c.alone = true;
check('file: reader', async () => { const r = new FileReader(); r.readAsDataURL(new Blob(['x'], {type: 'text/plain'})); await event(r, 'load'); return r.result; });
check('file system access', () => [typeof showOpenFilePicker, typeof showSaveFilePicker, typeof showDirectoryPicker].join());
check('webkitRequestFileSystem', async () => new Promise((done) => webkitRequestFileSystem(0, 1 << 20, (fs) => done(fs.name === '' ? 'unnamed' : 'there'), (e) => done(e.name))));
