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
	t.Parallel()
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
			begun := time.Now()
			v.click(v.ref("button", "Track"))
			ended := func() bool { _, at := tab.requests.LastEnded(); return tab.requests.InFlight() == 0 && at.After(begun) }
			if err := tab.until(limit(t, 10*time.Second), ended); err != nil {
				t.Fatalf("it is under way: %v", err)
			}
			list, _, err := v.c.Network(t.Context(), protocol.Watching{Filter: path})
			if err != nil || len(list) != 1 || !list[0].Done || list[0].Status != 200 {
				t.Errorf("network says %+v, %v", list, err)
			}
			seen, err := v.c.Wait(limit(t, 10*time.Second), v.refs, protocol.Wait{State: protocol.WaitNetworkIdle}, nil, nil)
			equal(t, "idle", answer(seen, err), `{"state":"networkidle"}`)
		})
	}
}

// Chromium keeps the bodies of the last answers, and not of all that a page has asked for since it was
// opened.
func TestOnlyTheLastBodiesAreKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	pages := s.srv.Config.Handler
	s.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/part") {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, strings.Repeat("x", 2<<20))
			return
		}
		pages.ServeHTTP(w, r)
	})
	v := s.open(t, `<title>Feed</title>`)
	v.eval(`(async () => { for (let i = 0; i < 24; i++) await (await fetch("/part" + i + "?")).text() })()`)
	body := func(of string) string {
		list, _, err := v.c.Network(limit(t, 10*time.Second), protocol.Watching{Filter: of})
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %+v, %v", of, list, err)
		}
		list, _, err = v.c.Network(limit(t, 10*time.Second), protocol.Watching{ID: list[0].ID, Bodies: true, Max: 100})
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %+v, %v", of, list, err)
		}
		if list[0].Body == nil {
			return list[0].BodyError
		}
		return *list[0].Body
	}
	equal(t, "the first", body("/part0?"), "Chromium does not have it any more")
	if got := body("/part23?"); !strings.HasPrefix(got, "xxx") {
		t.Errorf("the last: %s", got)
	}
}
