package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testtime"
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
	type read struct {
		source, method string
		wait           params
	}
	cases := func(ms int) []read {
		return []read{
			{"chromium", "wait", params{"ms": ms}},
			{"chromium", "wait", params{"text": "New", "timeout_ms": ms}},
			{"chromium", "wait", params{"text": "New", "state": "networkidle", "timeout_ms": ms}},
			{"chromium", "wait", params{"expression": "window.never", "timeout_ms": ms}},
			{"http", "wait", params{"ms": ms}},
			{"chromium", "downloads", params{"wait": true, "timeout_ms": ms}},
		}
	}
	// beside returns what came too late for a wait of so many milliseconds, and tells t all else.
	beside := func(t *testing.T, c read, ms int) error {
		a := newAgent(t, d)
		a.do("session_open", params{"source": c.source, "downloads": true})
		a.do("open", params{"url": w.URL + "/old"})
		if c.method == "downloads" {
			a.do("click", params{"ref": a.snapshot().ref(t, "link", "Slow")})
		}
		lasts := time.Duration(ms) * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), lasts+20*time.Second)
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
			if len(waited) > 0 {
				return fmt.Errorf("the wait was over after %v, before it was seen", time.Since(began))
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
				return fmt.Errorf("%s was not answered before the wait, which took %v", r.method, time.Since(began))
			}
		}
		t.Logf("all read after %v", time.Since(began))
		if c.method == "downloads" {
			return nil // at once: it holds no turn
		}
		// The wait lasts that long, and open would end it sooner: so open's time tells whether
		// it has overtaken the wait. Which of two answers is seen first does not.
		if err := <-send("open", params{"url": w.URL + "/next"}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < lasts-100*time.Millisecond {
			t.Errorf("open was answered after %v: it overtook the wait", took)
		}
		<-waited
		return nil
	}
	for i, c := range cases(0) {
		t.Run(fmt.Sprintf("%s %s %d", c.source, c.method, i), func(t *testing.T) {
			ms := 3000
			testtime.OneOfThree(t, func() error {
				err := beside(t, cases(ms)[i], ms)
				ms *= 3
				return err
			})
		})
	}
}
