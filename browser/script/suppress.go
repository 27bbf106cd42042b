package script

// SuppressDialogs runs in the page's own world. It makes the functions that open dialogs
// answer by themselves, as a browser does where a person wants no more of them. Its value
// is a function that takes that back.
const SuppressDialogs = `(() => {
	const quiet = { alert() {}, confirm() { return false }, prompt() { return null } }, was = {};
	for (const name in quiet) {
		was[name] = Object.getOwnPropertyDescriptor(window, name) || { configurable: true };
		Object.defineProperty(window, name, { value: quiet[name], configurable: true, enumerable: true, writable: true });
	}
	const leaving = BeforeUnloadEvent.prototype, value = Object.getOwnPropertyDescriptor(leaving, 'returnValue'), handler = window.onbeforeunload;
	leaving.preventDefault = () => {};
	Object.defineProperty(leaving, 'returnValue', { value: '', configurable: true, enumerable: true, writable: true });
	window.onbeforeunload = null;
	return () => {
		Object.defineProperties(window, was);
		delete leaving.preventDefault;
		Object.defineProperty(leaving, 'returnValue', value);
		window.onbeforeunload = handler;
	};
})()`
