package e2e_test

import (
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// A dialog holds the renderer, and with it everything that is told the page.
// emulate says so at once where the dialog is the selected tab's, and does not
// wait for another tab's; that tab has taken it when the dialog is answered.
func TestEmulateBesideADialog(t *testing.T) {
	t.Parallel()
	d := sharedDaemon(t)
	w := newPageServer(t)
	w.serve("/talk", page("talk", `<button onclick="this.textContent = confirm('sure?')">Ask</button>`), "")
	a := newAgent(t, d)
	a.open(w.URL + "/talk")
	a.do("click", click(a.snapshot().ref(t, "button", "Ask"), nil))
	dark := params{"color_scheme": "dark", "timezone": "Europe/Oslo", "timeout_ms": 5000}
	const look = `matchMedia("(prefers-color-scheme: dark)").matches + " " + Intl.DateTimeFormat().resolvedOptions().timeZone`

	// Where it waited for the tab with the dialog it would take its 5 s.
	inTime := func(emulate func()) {
		t.Helper()
		began := time.Now()
		emulate()
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("beside a dialog it took %v", took)
		}
	}
	inTime(func() { a.refused("emulate", dark, protocol.DialogOpen) })
	a.do("tab_new", params{"url": w.URL + "/talk"})
	inTime(func() { a.do("emulate", dark) })
	if got := a.do("eval", params{"expression": look}).Value; got != "true Europe/Oslo" {
		t.Errorf("the selected tab sees %v", got)
	}
	a.do("dialog", params{"accept": true})
	a.do("tab_select", params{"tab": "t1"})
	if got := a.do("eval", params{"expression": look}).Value; got != "true Europe/Oslo" {
		t.Errorf("the other tab sees %v, after its dialog", got)
	}
}
