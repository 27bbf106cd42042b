package e2e_test

import (
	"testing"

	"github.com/browserd/browserd/internal/testdaemon"
)

// The clipboard is Chromium's own, and one for all sessions: docs/security.md says so among
// what is not promised. What a page copies is read by another session's page only with the
// permission clipboard-read, and pasted there where that agent presses Control+V.
func TestTheClipboardIsOneForAllSessions(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newPageServer(t)
	w.serve("/copies", page("copies", `<textarea id=t aria-label=Words>of the first</textarea><button onclick="t.select(); document.execCommand('copy')">Copy</button>`), "")
	w.serve("/pastes", page("pastes", `<input aria-label=Field><output></output><script>addEventListener('paste', e => document.querySelector('output').textContent = 'heard ' + e.clipboardData.getData('text'))</script>`), "")
	first, without, with := newAgent(t, d), newAgent(t, d), newAgent(t, d)
	first.open(w.URL + "/copies")
	without.open(w.URL + "/pastes")
	with.do("session_open", params{"permissions": []string{"clipboard-read"}})
	with.open(w.URL + "/pastes")
	first.do("click", params{"ref": first.snapshot().ref(t, "button", "Copy")})

	const read = `navigator.clipboard.readText().catch(e => e.name)`
	if got := without.do("eval", params{"expression": read}).Value; got != "NotAllowedError" {
		t.Errorf("without the permission a page of another session reads %v", got)
	}
	if got := without.do("eval", params{"expression": `(document.querySelector('input').focus(), document.execCommand('paste'))`}).Value; got != false {
		t.Errorf("without the permission a page of another session pastes: %v", got)
	}
	if got := with.do("eval", params{"expression": read}).Value; got != "of the first" {
		t.Errorf("with the permission it reads %v: is the clipboard no longer one? Then change docs/security.md", got)
	}
	without.do("press", params{"ref": without.snapshot().ref(t, "textbox", "Field"), "key": "Control+v"})
	const pasted = `[document.querySelector('input').value, document.querySelector('output').textContent].join()`
	if got := without.do("eval", params{"expression": pasted}).Value; got != "of the first,heard of the first" {
		t.Errorf("Control+V pastes %v: is the clipboard no longer one? Then change docs/security.md", got)
	}
}
