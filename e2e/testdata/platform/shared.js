let n = 0;
onconnect = async (e) => { n++; e.ports[0].postMessage('connection ' + n + ' ' + await (await fetch('/platform/text')).text()); };
