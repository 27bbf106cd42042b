package browser

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// An answer whose body the page leaves unread has no end that Chromium tells where it
// may not be stored: nobody waits for one, and it is not shown as under way.
func TestRequestWhoseAnswerIsNotRead(t *testing.T) {
	s := newStage(t)
	pages := s.srv.Config.Handler
	s.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		switch r.URL.Path {
		case "/small":
			io.WriteString(w, "done")
		case "/chunked":
			w.(http.Flusher).Flush()
			io.WriteString(w, "done")
		case "/large":
			io.WriteString(w, strings.Repeat("x", 4<<20))
		default:
			pages.ServeHTTP(w, r)
		}
	})
	for _, path := range []string{"/small", "/chunked", "/large"} {
		t.Run(path, func(t *testing.T) {
			v := s.open(t, `<button onclick="window.kept=fetch('`+path+`',{method:'POST',body:'x'})">Track</button>`)
			tab := v.c.selected
			v.click(v.ref("button", "Track"))
			ended := func() bool { return len(tab.inflight) == 0 && tab.answered.kind == "Fetch" }
			if err := tab.until(limit(t, 10*time.Second), ended); err != nil {
				t.Fatalf("it is under way: %v", err)
			}
			list, _, err := v.c.Network(t.Context(), protocol.Watching{Filter: path})
			if err != nil || len(list) != 1 || !list[0].Done || list[0].Status != 200 {
				t.Errorf("network says %+v, %v", list, err)
			}
			seen, err := v.c.Wait(limit(t, 10*time.Second), v.refs, protocol.Wait{State: protocol.WaitNetworkIdle})
			equal(t, "idle", answer(seen, err), `{"state":"networkidle"}`)
		})
	}
}

// An answer that comes in parts is read, and is waited for until its end is told.
func TestRequestWhoseAnswerComesInParts(t *testing.T) {
	s := newStage(t)
	tab := s.open(t, `<p>Parts</p>`).c.selected
	tab.c.mu.Lock()
	defer tab.c.mu.Unlock()
	for _, c := range []struct {
		name    string
		headers map[string]string
		parts   int
	}{
		{"of a length", map[string]string{"content-length": "20"}, 1},
		{"of no length", nil, 2},
	} {
		r := request{kind: "Fetch"}.reading(tab, tab.cdp, "parts", c.headers, 1, 100)
		tab.inflight["parts"] = r
		for range c.parts {
			r.body.comes(2, 5)
		}
		if _, ok := tab.inflight["parts"]; !ok || !r.body.read {
			t.Errorf("%s: it is not waited for", c.name)
		}
		delete(tab.inflight, "parts")
	}
}
