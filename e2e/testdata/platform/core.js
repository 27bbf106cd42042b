'use strict';
// A check is a name and a function whose value, or the name of whose error, is the
// outcome. Each has a limit of its own; one that is not done by then is pending.
const checks = [];
const run = new URLSearchParams(location.search).get('run');
const other = new URLSearchParams(location.search).get('other'); // another origin of the same server

function check(name, f, ms = 30000) { checks.push({name, f, ms}); }
// present is a check of nothing but whether an interface is there.
function present(...names) {
	for (const n of names) check('present: ' + n, () => {
		let o = self;
		for (const part of n.split('.')) { if (o === undefined || o === null) return 'no'; if (!(part in Object(o))) return 'no'; o = o[part]; }
		return o === undefined || o === null ? 'empty' : 'yes';
	});
}
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const kept = []; // what would be collected while it is waited for
const event = (target, ok, bad = 'error') => new Promise((done, fail) => {
	kept.push(target);
	target.addEventListener(ok, done, {once: true});
	target.addEventListener(bad, () => fail(new Error(bad)), {once: true});
});
const message = (port) => event(port, 'message').then((e) => e.data);
const answered = (request) => new Promise((done, fail) => { request.onsuccess = () => done(request.result); request.onerror = () => fail(request.error); });
const blob = (text, type = 'text/javascript') => URL.createObjectURL(new Blob([text], {type}));
const color = (id, tag) => getComputedStyle(tag ? document.querySelector('#' + id + ' ' + tag) : document.getElementById(id)).color;
const frameOf = (src) => { const f = document.createElement('iframe'); f.src = src; f.hidden = true; document.body.append(f); return f; };

function outcome(v) {
	if (v instanceof Error || v instanceof DOMException) {
		return v.name === 'Error' || v.name === 'TypeError' ? v.name + ': ' + v.message.slice(0, 80) : v.name;
	}
	return typeof v === 'string' ? v : JSON.stringify(v) ?? 'undefined';
}
async function within(c) {
	let timer;
	const late = new Promise((done) => { timer = setTimeout(() => done('pending'), c.ms); });
	try {
		return outcome(await Promise.race([(async () => c.f())(), late]));
	} catch (e) {
		return outcome(e);
	} finally { clearTimeout(timer); }
}
