//go:build linux

package e2e_test

import (
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// A page that takes more memory than a page may is ended, and the command that
// ran says so; its session goes on with an empty tab, which does not take it all
// again, and another session has not noticed.
func TestAPageThatEatsMemoryIsEnded(t *testing.T) {
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__PAGE_MEMORY_MB": "400"}})
	w := newPageServer(t)
	w.serve("/good", page("good", "<h1>Good</h1>"), "")
	w.serve("/eats", page("eats", `<h1>Eats</h1><script>const m = []; setInterval(() => m.push(new Uint8Array(20 << 20).fill(1)), 20)</script>`), "")
	other := newAgent(t, d)
	other.open(w.URL + "/good")

	r := rowTest{newAgent(t, d), w, "eats"}
	r.open(w.URL + "/eats")
	err := r.refused("wait", params{"text": "never said", "timeout_ms": 20000}, protocol.PageCrashed)
	if err.Details["reason"] != "memory" || err.Details["url"] != w.URL+"/eats" {
		t.Errorf("page_crashed with %v: %s", err.Details, err.Message)
	}
	if e := r.told(protocol.EventPageCrashed, time.Second); e.Fields["reason"] != "memory" {
		t.Errorf("the event says %v", e.Fields)
	}
	if at := r.do("snapshot", nil).Page.URL; at != "about:blank" {
		t.Errorf("the tab is at %s", at)
	}

	// Where no command ran, the next one is told, unless it opens another page.
	r.open(w.URL + "/eats")
	r.told(protocol.EventPageCrashed, 20*time.Second)
	if err := r.refused("snapshot", nil, protocol.PageCrashed); err.Details["reason"] != "memory" {
		t.Errorf("the next command is told %v", err.Details)
	}
	r.open(w.URL + "/good")
	if at := other.do("snapshot", nil).Page.URL; at != w.URL+"/good" {
		t.Errorf("the other session is at %s", at)
	}
}
