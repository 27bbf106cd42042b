package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

// A command whose time is over says what it waited for, and where the page is in
// its place.
func TestATimeoutSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	w := newPageServer(t)
	w.serve("/page", page("page", `<p>One</p>`), "")
	w.mux.HandleFunc("/never", func(rw http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	a := newAgent(t, sharedDaemon(t))
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

// A batch that is cut short, by its time or by a cancel, says what it had done.
func TestABatchThatIsCutShortSaysWhatItDid(t *testing.T) {
	t.Parallel()
	w := newPageServer(t)
	w.serve("/page", page("page", `<button onclick="document.title += '!'">Pay</button>`), "")
	asked := make(chan struct{}, 9) // 9: more than there are
	w.mux.HandleFunc("/hangs", func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	a := newAgent(t, sharedDaemon(t))
	a.open(w.URL + "/page")
	v := a.snapshot()
	commands := []params{
		{"method": "click", "params": params{"ref": v.ref(t, "button", "Pay"), "snapshot": "none"}},
		{"method": "click", "params": params{"ref": "@e99"}},
		{"method": "open", "params": params{"url": w.URL + "/hangs"}},
	}
	said := func(err *protocol.Error) {
		t.Helper()
		results, _ := err.Details["results"].([]any)
		if len(results) != 2 {
			t.Fatalf("details: %v", err.Details)
		}
		effect := results[0].(map[string]any)["result"].(map[string]any)["effect"].(map[string]any)
		failed := results[1].(map[string]any)["error"].(map[string]any)
		if effect["changed"] != true || failed["code"] != "unknown_ref" {
			t.Errorf("got %v and %v", effect, failed)
		}
	}
	said(a.refused("batch", params{"commands": commands, "stop_on_error": false, "timeout_ms": 5000}, protocol.Timeout))

	<-asked
	running := a.send("batch", params{"commands": commands, "stop_on_error": false})
	<-asked
	a.do("cancel", params{"id": running.ID})
	var e *protocol.Error
	if err := running.Wait(t.Context(), nil); !errors.As(err, &e) || e.Code != protocol.Cancelled {
		t.Fatalf("the cancelled batch: %v", err)
	}
	said(e)
}
