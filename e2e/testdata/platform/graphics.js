'use strict';
const pixel = (x) => [...x.getImageData(1, 1, 1, 1).data].join();
check('canvas: 2d', () => { const x = document.createElement('canvas').getContext('2d'); x.fillStyle = 'rgb(1 2 3)'; x.fillRect(0, 0, 9, 9); return pixel(x); });
check('canvas: toBlob', async () => { const c = document.createElement('canvas'); const types = []; for (const t of ['image/png', 'image/jpeg', 'image/webp', 'image/avif']) types.push((await new Promise((done) => c.toBlob(done, t))).type); return types.join(); });
check('canvas: text', () => { const x = document.createElement('canvas').getContext('2d'); x.font = '20px sans-serif'; return x.measureText('Hamburgefons').width.toFixed(1); });
check('canvas: filter', () => { const x = document.createElement('canvas').getContext('2d'); x.filter = 'invert(1)'; x.fillStyle = '#000'; x.fillRect(0, 0, 9, 9); return pixel(x); });
check('canvas: offscreen', async () => { const c = new OffscreenCanvas(4, 4), x = c.getContext('2d'); x.fillRect(0, 0, 4, 4); const b = await createImageBitmap(c); return pixel(x) + ' ' + b.width + ' ' + (await c.convertToBlob()).type; });
check('canvas: image', async () => { const i = new Image(); i.src = 'data:image/svg+xml,' + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="3" height="3"><rect width="3" height="3" fill="red"/></svg>'); await i.decode(); const x = document.createElement('canvas').getContext('2d'); x.drawImage(i, 0, 0); return pixel(x); });
for (const kind of ['webgl', 'webgl2']) {
	check('canvas: ' + kind, () => {
		const g = document.createElement('canvas').getContext(kind, {preserveDrawingBuffer: true});
		if (!g) return 'none';
		g.clearColor(0, 1, 0, 1); g.clear(g.COLOR_BUFFER_BIT); const p = new Uint8Array(4); g.readPixels(0, 0, 1, 1, g.RGBA, g.UNSIGNED_BYTE, p);
		return p.join() + ' ' + g.getParameter(g.VERSION) + ' ' + g.getSupportedExtensions().length;
	});
}
check('canvas: webgl renderer', () => { const g = document.createElement('canvas').getContext('webgl'); if (!g) return 'none'; const e = g.getExtension('WEBGL_debug_renderer_info'); return e ? g.getParameter(e.UNMASKED_RENDERER_WEBGL) : 'hidden'; });
check('canvas: shader', () => {
	const g = document.createElement('canvas').getContext('webgl2'); if (!g) return 'none';
	const s = g.createShader(g.VERTEX_SHADER); g.shaderSource(s, '#version 300 es\nvoid main() { gl_Position = vec4(0); }'); g.compileShader(s); return g.getShaderParameter(s, g.COMPILE_STATUS);
});
check('WebGPU', async () => { if (!navigator.gpu) return 'none'; return await navigator.gpu.requestAdapter() ? 'adapter' : 'no adapter'; });
check('ImageDecoder', async () => (await ImageDecoder.isTypeSupported('image/png')) + ' ' + (await ImageDecoder.isTypeSupported('image/avif')));
check('WebAssembly', async () => (await WebAssembly.instantiate(await (await fetch('/platform/add.wasm')).arrayBuffer())).instance.exports.add(1, 2));
check('WebAssembly: streaming', async () => (await WebAssembly.instantiateStreaming(fetch('/platform/add.wasm'))).instance.exports.add(40, 2));
check('WebAssembly: features', () => ['Exception', 'Tag', 'JSTag', 'promising', 'Suspending'].filter((k) => k in WebAssembly).join());
check('audio: decode', async () => {
	const n = 800, v = new DataView(new ArrayBuffer(44 + n)); const s = (o, t) => [...t].forEach((c, i) => v.setUint8(o + i, c.charCodeAt(0)));
	s(0, 'RIFF'); v.setUint32(4, 36 + n, true); s(8, 'WAVEfmt '); v.setUint32(16, 16, true); v.setUint16(20, 1, true); v.setUint16(22, 1, true); v.setUint32(24, 8000, true); v.setUint32(28, 8000, true); v.setUint16(32, 1, true); v.setUint16(34, 8, true); s(36, 'data'); v.setUint32(40, n, true);
	return (await new OfflineAudioContext(1, 100, 8000).decodeAudioData(v.buffer)).duration.toFixed(2);
});
check('audio: oscillator', async () => { const c = new OfflineAudioContext(1, 4410, 44100), o = c.createOscillator(); o.connect(c.destination); o.start(); return (await c.startRendering()).getChannelData(0).some((v) => v > 0.9); });
check('audio: context', async () => { const c = new AudioContext(); const s = c.state; await c.close(); return s + ' ' + c.sampleRate + ' ' + c.state; });
check('audio: play', async () => { const a = new Audio('/platform/tone.wav'); return a.play().then(() => 'plays'); });
check('audio: metadata', async () => { const a = new Audio('/platform/tone.wav'); a.preload = 'metadata'; a.load(); await event(a, 'loadedmetadata'); return a.duration.toFixed(1); });
check('audio: muted autoplay', async () => { const a = new Audio('/platform/tone.wav'); a.muted = true; await a.play(); await event(a, 'ended'); return 'played'; });
for (const t of ['video/mp4; codecs="avc1.42E01E"', 'video/webm; codecs="vp9"', 'video/mp4; codecs="av01.0.05M.08"', 'video/mp4; codecs="hvc1.1.6.L93.B0"', 'audio/mpeg', 'audio/mp4; codecs="mp4a.40.2"', 'audio/ogg; codecs="opus"', 'audio/flac', 'application/vnd.apple.mpegurl']) {
	check('media: ' + t, () => (document.createElement('video').canPlayType(t) || 'no') + ', source ' + MediaSource.isTypeSupported(t));
}
check('media: source', async () => { const m = new MediaSource(), v = document.createElement('video'); v.src = URL.createObjectURL(m); await event(m, 'sourceopen'); return m.addSourceBuffer('video/webm; codecs="vp8"').mode; });
check('media: recorder', async () => {
	const c = document.createElement('canvas'), x = c.getContext('2d'), r = new MediaRecorder(c.captureStream(30), {mimeType: 'video/webm'}); let n = 0;
	r.ondataavailable = (e) => { n += e.data.size; }; r.start(); for (let i = 0; i < 10; i++) { x.fillRect(i, 0, 5, 5); await sleep(40); } r.stop(); await event(r, 'stop'); return n > 0 ? 'recorded' : 'nothing';
});
check('media: video codec', async () => (await VideoDecoder.isConfigSupported({codec: 'vp8'})).supported + ' ' + (await VideoEncoder.isConfigSupported({codec: 'vp8', width: 64, height: 64})).supported);
check('media: capabilities', async () => { const c = await navigator.mediaCapabilities.decodingInfo({type: 'file', video: {contentType: 'video/webm; codecs="vp8"', width: 320, height: 240, bitrate: 1e5, framerate: 30}}); return c.supported; });
check('media: key system', () => navigator.requestMediaKeySystemAccess('org.w3.clearkey', [{initDataTypes: ['keyids'], videoCapabilities: [{contentType: 'video/webm; codecs="vp8"'}]}]).then((k) => k.keySystem));
check('media: devices', async () => (await navigator.mediaDevices.enumerateDevices()).map((d) => d.kind).sort().join() || 'none');
check('media: getUserMedia', () => navigator.mediaDevices.getUserMedia({audio: true, video: true}).then(() => 'given'));
check('media: getDisplayMedia', () => navigator.mediaDevices.getDisplayMedia().then(() => 'given'), 4000);
check('media: session', () => { navigator.mediaSession.metadata = new MediaMetadata({title: 't'}); return navigator.mediaSession.metadata.title; });
check('media: picture in picture', () => document.pictureInPictureEnabled);
check('speech: synthesis', () => 'speechSynthesis' in self ? 'voices ' + speechSynthesis.getVoices().length : 'none');
present('SpeechRecognition', 'webkitSpeechRecognition');
check('fonts: check', () => document.fonts.check('16px sans-serif') + ' ' + document.fonts.status);
check('fonts: load', async () => (await document.fonts.load('16px Face')).length);
check('fonts: FontFace missing', () => new FontFace('F', 'url(/platform/none.woff2)').load().then(() => 'loaded'));
check('fonts: local', async () => { const f = new FontFace('L', 'local("Liberation Sans")'); await f.load(); document.fonts.add(f); return f.status; });
check('fonts: ready', async () => { await document.fonts.ready; return 'ready'; });
check('fonts: queryLocalFonts', async () => (await queryLocalFonts()).length > 0 ? 'some' : 'none');
check('frames: rate', async () => {
	const at = []; await new Promise((done) => { const f = (t) => { at.push(t); at.length < 40 ? requestAnimationFrame(f) : done(); }; requestAnimationFrame(f); });
	const gaps = at.slice(1).map((t, i) => t - at[i]).sort((a, b) => a - b), g = gaps[8];
	return g < 12 ? 'faster than 60 Hz' : g < 50 ? '60 Hz' : 'slower';
});
check('frames: idle', async () => { const d = await new Promise((done) => requestIdleCallback(done)); return typeof d.timeRemaining(); });
check('animation: element.animate', async () => { const a = document.getElementById('anchor').animate({opacity: [0, 1]}, 50); await a.finished; return a.playState; });
check('animation: transition', async () => { const d = document.createElement('div'); d.style.cssText = 'opacity: 0; transition: opacity 50ms'; document.body.append(d); d.offsetWidth; d.style.opacity = 1; await event(d, 'transitionend'); d.remove(); return 'ended'; });
check('animation: css', async () => { const d = document.createElement('div'); d.style.animation = 'grow 50ms'; document.body.append(d); await event(d, 'animationend'); d.remove(); return 'ended'; });
check('animation: timeline', async () => { await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); return document.timeline.currentTime > 0; });
check('view transition', async () => { const t = document.startViewTransition(() => { document.body.dataset.v = '1'; }); await t.ready; t.skipTransition(); await t.finished; return 'finished'; });
checks[checks.length - 1].alone = true;
