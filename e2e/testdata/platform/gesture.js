'use strict';
// What a page may do only while a person's click is fresh. All is begun at once, in
// the click's own handler; what takes the click for itself, fullscreen, comes last.
const pointer = [];
for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) {
	addEventListener(type, (e) => pointer.push(type + ' ' + e.isTrusted + ' ' + e.button + ' ' + e.detail + ' ' + (e.pointerType ?? '')), true);
}
check('gesture: events', () => pointer.join(', '));
check('gesture: activation', () => navigator.userActivation.hasBeenActive + ' ' + navigator.userActivation.isActive);
check('gesture: focus', () => document.activeElement.localName);
check('gesture: audio', async () => { const a = new Audio('tone.wav'); await a.play(); return 'plays'; });
check('gesture: audio context', async () => { const c = new AudioContext(); await c.resume(); const s = c.state; await c.close(); return s; });
check('gesture: clipboard write', async () => { await navigator.clipboard.writeText('written'); return 'written'; });
check('gesture: clipboard read', async () => { await navigator.clipboard.readText(); return 'read'; }, 2000);
check('gesture: copy command', () => { document.getElementById('field').select(); return document.execCommand('copy'); });
check('gesture: vibrate', () => navigator.vibrate(1));
check('gesture: fullscreen', async () => { await document.documentElement.requestFullscreen(); const s = !!document.fullscreenElement; await document.exitFullscreen(); return s; }, 3000);
document.querySelector('button').onclick = async () => {
	const out = {};
	await Promise.all(checks.map(async (c) => { out[c.name] = await within(c); }));
	await fetch('/platform/result?run=' + run, {method: 'POST', body: JSON.stringify(out)});
};
