//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// A page that makes a thousand of something, or never comes to its end: its
// commands answer in their time, another session goes on, and when the session
// is closed nothing of it is left.
func TestPagesWithoutEnd(t *testing.T) {
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily()})
	w := newPageServer(t)
	w.serve("/good", page("good", "<h1>Good</h1><button>Go</button>"), "")
	serveEndless(w)
	other := newAgent(t, d)
	other.open(w.URL + "/good")
	script := func(js string) string { return "<h1>Bad</h1><script>" + js + "</script>" }
	for _, tt := range []struct {
		name, markup string
		path         string // in place of markup
		works        bool   // the page itself is to be seen
	}{
		{"popups", script(`for (let i = 0; i < 1000; i++) open('/good')`), "", false},
		{"dialogs", script(`setTimeout(() => { for (let i = 0; i < 1000; i++) alert(i) })`), "", true},
		{"downloads", script(`const a = document.createElement('a'); a.download = 'x'; for (let i = 0; i < 1000; i++) { a.href = 'data:text/plain,' + i; a.click() }`), "", true},
		{"frames", script(`for (let i = 0; i < 300; i++) { const f = document.createElement('iframe'); f.srcdoc = '<button>In ' + i + '</button>'; document.body.append(f) }`), "", false},
		{"frames of another site", script(`for (let i = 0; i < 50; i++) { const f = document.createElement('iframe'); f.src = '` + w.alt() + `/good'; document.body.append(f) }`), "", false},
		{"timers", script(`for (let i = 0; i < 10000; i++) setInterval(() => document.body.dataset.i = i, 0)`), "", true},
		{"workers", script(`for (let i = 0; i < 100; i++) new Worker('data:text/javascript,for(;;);')`), "", false},
		{"a million nodes by script", script(`for (let i = 0; i < 1000; i++) { const d = document.createElement('div'); d.innerHTML = '<b>x</b>'.repeat(999); document.body.append(d) }`), "", false},
		{"a million nodes by markup", "", "/million", false},
		{"a document that never ends", "", "/endless?gold", true},
		{"a document that floods", "", "/flood", false},
		{"a stream that never ends", script(`fetch('/endless?data').then(async r => { for await (const c of r.body) document.title += '.' })`), "", true},
		{"redirects", "", "/redirect", false},
		{"meta refreshes", `<h1>Bad</h1><meta http-equiv=refresh content=0>`, "", false},
		{"locations", script(`location = '/bad/locations?' + Math.random()`), "", false},
		{"histories", script(`setInterval(() => { for (let i = 0; i < 300; i++) history.pushState(i, '', '?' + i) })`), "", true},
		{"a loop in a frame", `<h1>Bad</h1><iframe srcdoc="<script>for(;;);</script>"></iframe>`, "", false},
		{"a loop in beforeunload", script(`addEventListener('beforeunload', () => { for (;;); })`), "", true},
		{"a loop in unload", script(`addEventListener('pagehide', () => { for (;;); })`), "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other.t = t
			before := vitalsOf(t, d)
			r := rowTest{&agent{t: t, c: newAgent(t, d).c}, w, "bad"}
			path := tt.path
			if path == "" {
				path = "/bad/" + strings.ReplaceAll(tt.name, " ", "-")
				w.serve(path, page("bad", tt.markup), "")
			}
			began := time.Now()
			r.inTime("open", params{"url": w.URL + path, "timeout_ms": 2500})
			got, err := r.try("snapshot", params{"timeout_ms": 2000})
			if code := protocol.CodeOf(err); code == protocol.Internal {
				t.Errorf("snapshot: %v", err)
			}
			if tt.works && (err != nil || !strings.Contains(got.Snapshot.Text, "Bad")) {
				t.Errorf("snapshot: %v, want the page", err)
			}
			r.inTime("status", params{"timeout_ms": 3000})
			r.inTime("tab_list", params{"timeout_ms": 3000})
			asked := time.Now()
			other.do("click", click(other.snapshot().ref(t, "button", "Go"), nil))
			beside := time.Since(asked)
			if beside > 5*time.Second {
				t.Errorf("the other session's click took %v", beside)
			}
			// 16, and the one that takes the place of a tab that died for it.
			if tabs := ask[result](r.agent, "tab_list", nil).Tabs; len(tabs) > 17 {
				t.Errorf("%d tabs are open", len(tabs))
			}
			// The same session goes on elsewhere; that its page was lost for it is said once.
			if _, err := r.try("open", params{"url": w.URL + "/good", "timeout_ms": 30000}); protocol.CodeOf(err) == protocol.PageCrashed {
				r.open(w.URL + "/good")
			} else if err != nil {
				t.Errorf("the next page: %v", err)
			}
			r.snapshot().ref(t, "heading", "Good")
			r.do("session_close", params{"timeout_ms": 5000})
			r.c.Close()
			asBefore(t, d, before)
			t.Logf("%v in all; the other session's snapshot and click %v", time.Since(began).Round(time.Millisecond), beside.Round(time.Millisecond))
		})
	}
}

// serveEndless serves documents that never end, one of a million elements, and
// one that leads to itself forever.
func serveEndless(w *pageServer) {
	w.mux.HandleFunc("/endless", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<!doctype html><title>endless</title><h1>Bad</h1>")
		for r.Context().Err() == nil {
			if _, err := fmt.Fprintf(rw, "<p>%s</p>\n", r.URL.RawQuery); err != nil {
				return
			}
			rw.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	some := []byte(strings.Repeat("<b>x</b>", 1000))
	w.mux.HandleFunc("/flood", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		for r.Context().Err() == nil {
			if _, err := rw.Write(some); err != nil {
				return
			}
		}
	})
	w.mux.HandleFunc("/million", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<!doctype html><h1>Bad</h1>")
		for range 1000 {
			rw.Write(some)
		}
	})
	w.mux.HandleFunc("/redirect", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "/redirect?"+r.URL.RawQuery+"x", http.StatusFound)
	})
}

// A page that takes memory until its process may have no more dies of it, and
// the client is told of what.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__ARGS": "--js-flags=--max-old-space-size=100"}})
	r := rowTest{newAgent(t, d), newPageServer(t), "memory"}
	r.w.serve("/next", page("next", "<h1>Next</h1>"), "")
	r.w.serve("/eats", page("eats", `<h1>Eats</h1><button onclick="const all = []; for (;;) all.push(new Array(10000).fill(Math.random()))">Eat</button>`), "")
	r.open(r.w.URL + "/eats")
	began := time.Now()
	_, err := r.try("click", click(r.snapshot().ref(t, "button", "Eat"), params{"timeout_ms": 20000}))
	if protocol.CodeOf(err) != protocol.PageCrashed || !strings.Contains(err.Error(), "memory") {
		t.Errorf("click: %v, want page_crashed and that the memory was all used", err)
	}
	t.Logf("told after %v", time.Since(began).Round(time.Millisecond))
	if e := r.told(protocol.EventPageCrashed, time.Second); e.Fields["reason"] != "oom" {
		t.Errorf("event: %v, want the reason oom", e.Fields)
	}
	r.works()
}
