import {value} from './module.js';
if (location.search === '?ask') {
	onmessage = async () => postMessage('imported ' + (await import('./module.js?later')).value);
} else {
	postMessage('module ' + value + ' ' + import.meta.url.split('/').pop());
}
