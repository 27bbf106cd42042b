package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// What only reads does not stand behind a wait, or a download, of its session. What acts
// does.
func TestReadsBesideAWait(t *testing.T) {
	t.Parallel()
	w := newPageServer(t)
	w.serve("/old", page("Old", `<p>Old</p><a href="/next">Next</a> <a href="/slowfile">Slow</a>`), "")
	w.serve("/next", page("New", `<p>New</p>`), "")
	release := make(chan struct{})
	defer close(release)
	w.mux.HandleFunc("/slowfile", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Disposition", `attachment; filename="slow.bin"`)
		rw.Write(make([]byte, 100))
		rw.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	d := sharedDaemon(t)
	for i, c := range []struct {
		source, method string
		wait           params
	}{
		{"chromium", "wait", params{"ms": 3000}},
		{"chromium", "wait", params{"text": "New", "timeout_ms": 3000}},
		{"chromium", "wait", params{"text": "New", "state": "networkidle", "timeout_ms": 3000}},
		{"chromium", "wait", params{"expression": "window.never", "timeout_ms": 3000}},
		{"http", "wait", params{"ms": 3000}},
		{"chromium", "downloads", params{"wait": true, "timeout_ms": 3000}},
	} {
		t.Run(fmt.Sprintf("%s %s %d", c.source, c.method, i), func(t *testing.T) {
			a := newAgent(t, d)
			a.do("session_open", params{"source": c.source, "downloads": true})
			a.do("open", params{"url": w.URL + "/old"})
			if c.method == "downloads" {
				a.do("click", params{"ref": a.snapshot().ref(t, "link", "Slow")})
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			send := func(method string, p params) <-chan error {
				answered := make(chan error, 1)
				go func() { answered <- a.c.Call(ctx, method, p, nil) }()
				return answered
			}
			began := time.Now()
			waited := send(c.method, c.wait)
			for c.method == "wait" { // until it has begun
				type list struct{ Sessions []struct{ Queued int } }
				queued := 0
				for _, s := range ask[list](a, "session_list", nil).Sessions {
					queued += s.Queued
				}
				if queued > 0 {
					break
				}
			}
			for _, r := range []struct {
				method string
				p      params
			}{{"snapshot", nil}, {"read", nil}, {"find", params{"text": "Next"}}, {"screenshot", nil}, {"wait", params{"text": "Old"}}, {"snapshot", params{"delta": true}}} {
				if r.p == nil {
					r.p = params{}
				}
				select {
				case err := <-send(r.method, r.p):
					if err != nil && !(r.method == "screenshot" && c.source == "http") {
						t.Errorf("%s: %v", r.method, err)
					}
				case <-waited:
					t.Fatalf("%s was not answered before the wait, which took %v", r.method, time.Since(began))
				}
			}
			t.Logf("all read after %v", time.Since(began))
			if c.method == "downloads" {
				return // at once: it holds no turn
			}
			// The wait lasts 3 s, and open would end it sooner: so open's time tells whether
			// it has overtaken the wait. Which of two answers is seen first does not.
			if err := <-send("open", params{"url": w.URL + "/next"}); err != nil {
				t.Error(err)
			}
			if d := time.Since(began); d < 2900*time.Millisecond {
				t.Errorf("open was answered after %v: it overtook the wait", d)
			}
			<-waited
		})
	}
}
