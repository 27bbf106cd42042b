package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// A step in the history may lead to a document, to another place in one, to the
// document before in a frame, or to nothing. All of it is answered when it is over,
// and none of it with the end of the command's time.
func TestHistory(t *testing.T) {
	t.Parallel()
	b := sharedBrowser(t)
	var first atomic.Value // how the server answers for /first
	first.Store("page")
	bodies := map[string]string{
		"/frames":  `<iframe id=f src=/inner></iframe>`,
		"/refuses": `<script>navigation.onnavigate = e => { if (e.navigationType == 'traverse') e.preventDefault() }</script>`,
		"/holds": `<script>navigation.onnavigate = e => { if (e.navigationType == 'traverse' && e.cancelable)
			e.intercept({precommitHandler: () => new Promise(() => {})}) }</script>`,
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if r.URL.Path == "/first" {
			switch first.Load() {
			case "nothing":
				w.WriteHeader(http.StatusNoContent)
				return
			case "a download":
				w.Header().Set("Content-Disposition", "attachment; filename=a.txt")
			case "a reset":
				panic(http.ErrAbortHandler)
			}
		}
		fmt.Fprintf(w, "<!doctype html><title>%s</title><h1>Here</h1>%s", r.URL.Path, bodies[r.URL.Path])
	}))
	t.Cleanup(site.Close)
	// The far half of /frames is another site, in a process of its own.
	far := strings.Replace(site.URL, "127.0.0.1", "localhost", 1)

	open := func(t *testing.T, paths ...string) *Context {
		c, err := b.NewContext(limit(t, 20*time.Second), ContextOptions{}, func(string, map[string]any) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		for _, p := range paths {
			if _, err := c.Open(limit(t, 20*time.Second), site.URL+p, protocol.WaitAuto); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
		}
		return c
	}
	eval := func(t *testing.T, c *Context, expression string) string {
		got, err := c.Eval(limit(t, 20*time.Second), snapshot.NewRefs(), "", expression)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		return string(got)
	}
	// step answers with the error's code and where the page is, without its site.
	step := func(t *testing.T, c *Context, delta int) string {
		t.Helper()
		_, err := c.History(limit(t, 20*time.Second), delta)
		where := strings.TrimPrefix(c.State().URL, site.URL)
		if err != nil {
			return fmt.Sprint(protocol.CodeOf(err), " ", asDetails(err)["reason"], " at ", where)
		}
		return where
	}

	t.Run("documents", func(t *testing.T) {
		c := open(t, "/first", "/second")
		equal(t, "back", step(t, c, -1), "/first")
		equal(t, "back from the first", step(t, c, -1), "navigation_failed no_history at /first")
		equal(t, "forward", step(t, c, +1), "/second")
		equal(t, "again", step(t, c, 0), "/second")
	})
	t.Run("within a document", func(t *testing.T) {
		c := open(t, "/first", "/second")
		eval(t, c, "history.pushState(1, '', '#1')")
		equal(t, "back", step(t, c, -1), "/second")
		equal(t, "forward", step(t, c, +1), "/second#1")
	})
	for name, src := range map[string]string{"a frame": "/inner?2", "a frame of another site": far + "/inner?2"} {
		t.Run(name, func(t *testing.T) {
			c := open(t, "/first", "/frames")
			eval(t, c, "new Promise(r => { f.onload = r; f.src = '"+src+"' })")
			equal(t, "steps", eval(t, c, "history.length"), "4")
			equal(t, "back in the frame", step(t, c, -1), "/frames")
			equal(t, "the frame", eval(t, c, "new Promise(r => { const at = () => f.contentDocument?.readyState == 'complete' ? r(f.contentDocument.title) : setTimeout(at, 5); at() })"), `"/inner"`)
			equal(t, "forward in the frame", step(t, c, +1), "/frames")
			equal(t, "back in the frame", step(t, c, -1), "/frames")
			equal(t, "back", step(t, c, -1), "/first")
		})
	}
	t.Run("a frame that is gone", func(t *testing.T) {
		c := open(t, "/first", "/frames")
		eval(t, c, "new Promise(r => { f.onload = r; f.src = '/inner?2' })")
		eval(t, c, "f.remove()")
		equal(t, "back", step(t, c, -1), "/frames")
		equal(t, "back", step(t, c, -1), "/first")
	})
	for _, answer := range []string{"nothing", "a download"} {
		t.Run(answer, func(t *testing.T) {
			c := open(t, "/first", "/second")
			first.Store(answer)
			defer first.Store("page")
			equal(t, "back", step(t, c, -1), "navigation_failed net::ERR_ABORTED at /second")
			first.Store("page")
			equal(t, "back", step(t, c, -1), "/first")
		})
	}
	t.Run("a server that is gone", func(t *testing.T) {
		c := open(t, "/first", "/second")
		first.Store("a reset")
		defer first.Store("page")
		equal(t, "back", step(t, c, -1), "navigation_failed net::ERR_EMPTY_RESPONSE at /first")
		equal(t, "again", step(t, c, 0), "navigation_failed net::ERR_EMPTY_RESPONSE at /first")
		first.Store("page")
		equal(t, "forward", step(t, c, +1), "/second")
		equal(t, "back", step(t, c, -1), "/first")
	})
	t.Run("back from what did not load", func(t *testing.T) {
		c := open(t, "/second")
		first.Store("a reset")
		defer first.Store("page")
		for range 3 {
			if _, err := c.Open(limit(t, 20*time.Second), site.URL+"/first", protocol.WaitAuto); protocol.CodeOf(err) != protocol.NavigationFailed {
				t.Fatal(err)
			}
			equal(t, "back", step(t, c, -1), "/second")
		}
	})
	t.Run("a page that refuses", func(t *testing.T) {
		c := open(t, "/first", "/refuses")
		eval(t, c, "history.pushState(1, '', '#1')")
		equal(t, "back", step(t, c, -1), "navigation_failed net::ERR_ABORTED at /refuses#1")
	})
	t.Run("a page that holds", func(t *testing.T) {
		c := open(t, "/first", "/holds")
		eval(t, c, "history.pushState(1, '', '#1')")
		_, err := c.History(limit(t, 2*time.Second), -1)
		equal(t, "code", protocol.CodeOf(err), protocol.Timeout)
		d := asDetails(err)
		equal(t, "waited for", d["waited_for"], any(map[string]any{"state": "commit", "url": site.URL + "/holds"}))
		seen, _ := d["seen"].(map[string]any)
		equal(t, "seen", seen["url"], any(site.URL+"/holds#1"))
		if _, err := c.Open(limit(t, 20*time.Second), site.URL+"/second", protocol.WaitAuto); err != nil {
			t.Error(err)
		}
	})
}

// asDetails are an error's details; empty if it has none.
func asDetails(err error) map[string]any {
	var e *protocol.Error
	if asError(err, &e) && e != nil {
		return e.Details
	}
	return nil
}
