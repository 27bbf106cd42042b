package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// A command whose time is over says what it waited for, and where the page is in
// its place.
func TestATimeoutSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	w.serve("/page", page("page", `<p>One</p>`), "")
	w.mux.HandleFunc("/never", func(rw http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := newAgent(t, testdaemon.Start(t, testdaemon.Options{}))
	a.open(w.URL + "/page")
	a.do("wait", params{"ms": 0})
	at := map[string]any{"url": w.URL + "/page", "ready": "complete"}
	for _, c := range []struct {
		method       string
		params       params
		waited, seen any
	}{
		{"wait", params{"ms": 3000}, map[string]any{"ms": 3000.0}, at},
		{"eval", params{"expression": "new Promise(() => {})"}, map[string]any{"command": "eval"}, at},
		{"batch", params{"commands": []params{{"method": "eval", "params": params{"expression": "new Promise(() => {})"}}}}, map[string]any{"command": "batch"}, at},
		{"wait", params{"text": "Two"}, map[string]any{"text": "Two"}, map[string]any{"url": at["url"], "ready": "complete", "text": "not shown"}},
		{"open", params{"url": w.URL + "/never", "source": "chromium"}, map[string]any{"state": "commit", "url": w.URL + "/never"}, nil},
		{"http_request", params{"url": w.URL + "/never", "timeout_secs": 1, "timeout_ms": 5000}, map[string]any{"host": strings.TrimPrefix(w.URL, "http://")}, nil},
	} {
		t.Run(fmt.Sprint(c.method, c.params), func(t *testing.T) {
			if c.params["timeout_ms"] == nil {
				c.params["timeout_ms"] = 700
			}
			err := a.refused(c.method, c.params, protocol.Timeout)
			if diff := cmp.Diff(err.Details["waited_for"], c.waited); diff != "" {
				t.Errorf("waited for, got before want:\n%s", diff)
			}
			if diff := cmp.Diff(err.Details["seen"], c.seen); diff != "" && c.seen != nil {
				t.Errorf("seen, got before want:\n%s", diff)
			}
		})
	}
}
