package browser

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/protocol"
)

// What a state holds of the origin that a tab shows is asked of the tab: a page of its own, and with it a process of
// Chromium, is made for an origin only that none shows.
func TestAStateIsAskedOfTheTabs(t *testing.T) {
	t.Parallel()
	site := func() *httptest.Server {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, `<!doctype html><title>Keeps</title><script>localStorage.n = Number(localStorage.n || 0) + 1; sessionStorage.here = location.origin</script>`)
		}))
		t.Cleanup(srv.Close)
		return srv
	}
	left, shown := site(), site()
	cfg := defaults()
	cfg.StateDir = t.TempDir()
	var sent *tap
	cfg.WrapTransport = func(transport cdp.Transport) cdp.Transport {
		sent = &tap{Transport: transport}
		return sent
	}
	log := slog.New(slog.DiscardHandler)
	supervisor := chromium.Start(t.Context(), cfg, log)
	t.Cleanup(func() { supervisor.Close(context.Background()) })
	c, err := New(supervisor, log).NewContext(t.Context(), ContextOptions{}, quietly)
	if err != nil {
		t.Fatal(err)
	}
	save := func(url string, pages, origins int) {
		t.Helper()
		if _, err := c.Open(t.Context(), url, protocol.WaitAuto); err != nil {
			t.Fatal(err)
		}
		var state protocol.State
		made := 0
		for _, trip := range sent.taken(func() { state, err = c.SaveState(t.Context()) }) {
			for _, m := range trip {
				if m.Method == "Target.createTarget" {
					made++
				}
			}
		}
		if err != nil || made != pages || len(state.Origins) != origins {
			t.Fatalf("%d pages were made, for %+v, %v", made, state.Origins, err)
		}
		for _, o := range state.Origins {
			if fmt.Sprint(o.LocalStorage) != "[[n 1]]" || fmt.Sprint(o.SessionStorage) != "[[here "+o.Origin+"]]" {
				t.Errorf("%+v", o)
			}
		}
	}
	save(left.URL, 0, 1)
	save(shown.URL, 1, 2)
}
