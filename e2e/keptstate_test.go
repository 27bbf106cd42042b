package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// tabSite keeps who is logged in in session storage, and shows what it finds there before it
// writes anything. /leave goes on to the other origin, /out logs out.
func tabSite(t *testing.T) *pageServer {
	w := newPageServer(t)
	html := func(body string) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			fmt.Fprint(rw, "<!doctype html><title>Tab</title>"+body)
		}
	}
	const shows = `<p id=s><script>s.textContent = (sessionStorage.user || 'nobody') + ', ' + sessionStorage.length + ' kept, ' + (sessionStorage.visits || 0) + ' visits'</script>`
	w.mux.HandleFunc("/login", html(`<script>sessionStorage.user = 'Zoë "quoted" \ud83d\ude00'; sessionStorage.visits = 1;
		const then = new URLSearchParams(location.search).get('then'); if (then) location.href = then</script>Welcome`))
	w.mux.HandleFunc("/held", html(`Held<script>onbeforeunload = e => e.preventDefault(); setTimeout(() => { const end = Date.now() + 60000; while (Date.now() < end); }, 300)</script>`))
	w.mux.HandleFunc("/account", html(shows))
	w.mux.HandleFunc("/out", html(`<script>sessionStorage.clear()</script>Bye`))
	w.mux.HandleFunc("/redirect", func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	return w
}

const inTab = `Zoë "quoted" 😀, 2 kept, 1 visits`

// Session storage is saved with a state, and is there before the scripts of the first document
// of its origin run: once, in one tab, after redirects too, and for no other origin.
func TestAStateHasSessionStorage(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	w := tabSite(t)
	a := newAgent(t, d)
	a.open(w.URL + "/login")
	a.open(w.alt() + "/login") // the first origin is left, and saved all the same
	saved := ask[stateAnswer](a, "state_save", params{"name": "tab"})
	if len(saved.Origins) != 2 {
		t.Fatalf("%+v", saved)
	}
	says := func(a *agent, how, want string) {
		t.Helper()
		if got := a.do("read", nil).Content; got != want {
			t.Errorf("%s: the page says %q, want %q", how, got, want)
		}
	}
	b := newAgent(t, d)
	b.do("session_open", params{"state": "tab"})
	b.open(w.URL + "/account")
	says(b, "the first document", inTab)
	b.open(w.alt() + "/redirect?to=" + w.alt() + "/account")
	says(b, "behind a redirect", inTab)
	b.do("tab_new", params{"url": w.URL + "/account"})
	says(b, "another tab", "nobody, 0 kept, 0 visits")
	b.do("tab_close", nil)
	if tabs := b.do("tab_list", nil).Tabs; len(tabs) != 1 || tabs[0].Tab != "t1" {
		t.Errorf("tabs: %+v", tabs)
	}
	b.open(w.URL + "/out")
	b.open(w.URL + "/account")
	says(b, "after logging out", "nobody, 0 kept, 0 visits")

	// Into a document that is there, and what a session has not shown stays in its state.
	e := newAgent(t, d)
	e.open(w.URL + "/account")
	e.do("state_load", params{"name": "tab"})
	e.do("reload", nil)
	says(e, "loaded into the open page", inTab)
	e.do("state_save", params{"name": "again"})
	f := newAgent(t, d)
	f.do("session_open", params{"state": "again"})
	f.open(w.alt() + "/account")
	says(f, "saved without having been shown", inTab)

	// What a page left by itself is there when the session has ended, whatever the last page does.
	g := newAgent(t, d)
	s := g.do("session_open", params{"state": "left", "keep": true}).Session
	g.open(w.URL + "/login?then=" + w.alt() + "/held")
	g.do("wait", params{"url": w.alt() + "/held"})
	g.do("session_close", params{"session": s})
	h := newAgent(t, d)
	h.do("session_open", params{"state": "left"})
	h.open(w.URL + "/account")
	says(h, "left by its page", inTab)
}

// A session that keeps a state saves it while it runs: of what a killed daemon has seen little
// is lost. A name has one writer, in this daemon and another one with its state directory.
func TestAKeptStateSurvivesAKilledDaemon(t *testing.T) {
	aboutOneProcess(t, "it starts again in the home of the first")
	t.Parallel()
	for _, source := range []string{"chromium", "http"} {
		t.Run(source, func(t *testing.T) {
			w, _ := loginSite(t)
			o := testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__CHECKPOINT": "1s", "BROWSERD_STATE__KEY": "a passphrase of some length"}}
			d := testdaemon.Start(t, o)
			keeps := params{"state": "work", "keep": true, "source": source}
			a := newAgent(t, d)
			own := a.do("session_open", keeps).Session
			a.open(w.URL + "/login")
			b := newAgent(t, d)
			e := b.refused("session_open", keeps, protocol.InUse)
			if e.Details["state"] != "work" || e.Next == "" {
				t.Errorf("%v %v %q", e, e.Details, e.Next)
			}
			b.refused("state_delete", params{"name": "work"}, protocol.InUse)
			b.refused("state_import", params{"name": "work", "content": "127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t42"}, protocol.InUse)
			b.do("session_open", params{"name": "reader"})
			b.refused("state_save", params{"name": "work"}, protocol.InUse)
			a.do("state_save", params{"session": own, "name": "work"})
			second := testdaemon.Start(t, testdaemon.Options{Home: d.Home, Env: o.Env})
			newAgent(t, second).refused("session_open", keeps, protocol.InUse)
			second.Kill() // it has started no Chromium

			a.open(w.alt() + "/login")
			until(t, 20*time.Second, "a checkpoint", func() bool {
				got := ask[stateAnswer](b, "state_load", params{"session": "reader", "name": "work"})
				return slices.Contains(got.Origins, w.alt()) || source == "http" && got.Cookies == 2
			})
			d.Kill()
			third := testdaemon.Start(t, testdaemon.Options{Home: d.Home, Env: o.Env})
			c := newAgent(t, third)
			c.do("session_open", keeps)
			c.open(w.alt() + "/account")
			if text := c.do("read", nil).Content; !strings.Contains(text, "the cookie's") {
				t.Errorf("after the daemon was killed: %q", text)
			}
		})
	}
}

// Chromium's death takes nothing from a kept state.
func TestAKeptStateSurvivesChromium(t *testing.T) {
	t.Parallel()
	w, _ := loginSite(t)
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_STATE__CHECKPOINT": "1s"}})
	keeps := params{"state": "work", "keep": true}
	a := newAgent(t, d)
	s := a.do("session_open", keeps).Session
	a.open(w.URL + "/login")
	a.do("state_save", params{"name": "work"})
	for _, p := range d.Chromium("browser") {
		p.Kill()
	}
	until(t, 20*time.Second, "another Chromium", func() bool {
		_, err := a.try("open", params{"url": w.alt() + "/account"})
		return err == nil
	})
	a.do("session_close", params{"session": s})
	b := newAgent(t, d)
	b.do("session_open", keeps)
	b.open(w.URL + "/account")
	if text := b.do("read", nil).Content; text != loggedIn {
		t.Errorf("after Chromium was killed: %q", text)
	}
}
