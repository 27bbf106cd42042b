package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/protocol"
)

// forbiddenPage is a page with a button that asks a forbidden address, once by fetch
// and once by a worker's socket.
const forbiddenPage = `<title>asking</title><button onclick="
  fetch('http://%[1]s/fetch').catch(() => {});
  new Worker(URL.createObjectURL(new Blob(['new WebSocket(\'ws://%[1]s/socket\')'])));
  document.title = 'asked'">Ask</button>`

// What the proxy refuses is told: by the command whose page it was, in the
// effect of the action that asked, and as events; the log has the host alone.
// What an operator allows then works.
func TestRefusalsAreTold(t *testing.T) {
	t.Parallel()
	inBothJails(t, func(t *testing.T, jail string) {
		reached := make(chan string, 100)
		forbidden := serveAt(t, "127.0.0.2", func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path })
		site := serveAt(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/away" {
				http.Redirect(w, r, "http://"+forbidden+"/redirected?token=hush", http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, forbiddenPage, forbidden)
		})
		d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__JAIL": jail, "BROWSERD_POLICY__ALLOW_HOSTS": site}})
		a := newAgent(t, d)

		e := a.refused("open", params{"url": "http://" + site + "/away"}, protocol.PolicyDenied)
		if e.Details["reason"] != "ip_loopback" || e.Details["host"] != "127.0.0.2" || !strings.Contains(fmt.Sprint(e.Details["config"]), "policy.allow_hosts") {
			t.Errorf("a redirect to a forbidden address: %+v", e.Details)
		}
		a.open("http://" + site + "/")
		r := a.do("click", params{"ref": a.snapshot().ref(t, "button", "Ask")})
		if r.Effect == nil || len(r.Effect.RequestsFailed) == 0 {
			t.Errorf("the effect counts no failed request: %+v", r.Effect)
		}
		for range 2 { // the redirect's, and the page's
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			ev, err := a.c.Event(ctx, client.OfType(protocol.EventPolicyDenied))
			cancel()
			if err != nil || ev.Fields["host"] != "127.0.0.2" || ev.Fields["reason"] != "ip_loopback" || ev.Session == "" {
				t.Errorf("event %+v, %v", ev, err)
			}
		}
		// How the context learnt its proxy's secret is no request of the page's.
		for _, format := range []string{"entries", "har"} {
			var all json.RawMessage
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := a.c.Call(ctx, "network", params{"format": format}, &all)
			cancel()
			if err != nil || !strings.Contains(string(all), site) || strings.Contains(string(all), "browserd.invalid") {
				t.Errorf("network as %s: %v %s", format, err, all)
			}
		}
		var status struct {
			Egress struct{ Mode, Why string }
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := a.c.Call(ctx, "status", nil, &status); err != nil || status.Egress.Mode != map[string]string{"required": "jail", "off": "flags"}[jail] {
			t.Errorf("status: %+v, %v", status, err)
		}
		log := d.Log()
		if !strings.Contains(log, "host=127.0.0.2") || strings.Contains(log, "hush") || strings.Contains(log, "/redirected") {
			t.Errorf("the log:\n%s", log)
		}
		if strings.Contains(log, "its flags alone") != (jail == "off") {
			t.Errorf("the warning about flags, with the jail %s:\n%s", jail, log)
		}
		select {
		case path := <-reached:
			t.Errorf("%s was reached", path)
		default:
		}
	})
}

// A session's own list narrows what the daemon allows, and holds after
// Chromium has died and the session has gone on in another.
func TestAllowedDomainsOfASession(t *testing.T) {
	t.Parallel()
	inBothJails(t, func(t *testing.T, jail string) {
		page := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<title>here</title><h1>"+r.Host)
		}
		one, two := serveAt(t, "127.0.0.1", page), serveAt(t, "127.0.0.2", page)
		d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__JAIL": jail, "BROWSERD_POLICY__ALLOW_HOSTS": "127.0.0.0/8"}})
		a, b := newAgent(t, d), newAgent(t, d)
		a.do("session_open", params{"name": "first", "allowed_domains": []string{"127.0.0.1"}})
		b.do("session_open", params{"name": "second", "allowed_domains": []string{"127.0.0.2"}})
		e := a.refused("session_open", params{"name": "third", "allowed_domains": []string{"http://no list"}}, protocol.InvalidParams)
		if !strings.Contains(e.Message, "allowed_domains") {
			t.Error(e.Message)
		}
		check := func() {
			t.Helper()
			a.do("open", params{"session": "first", "url": "http://" + one + "/"})
			b.do("open", params{"session": "second", "url": "http://" + two + "/"})
			for _, k := range []struct {
				agent         *agent
				session, host string
			}{{a, "first", two}, {b, "second", one}} {
				e := k.agent.refused("open", params{"session": k.session, "url": "http://" + k.host + "/"}, protocol.PolicyDenied)
				if e.Details["reason"] != "not_allowlisted" {
					t.Errorf("%s at %s: %+v", k.session, k.host, e.Details)
				}
				// Nor by another command, and so by no other way out.
				for _, command := range []string{"tab_new", "web_fetch", "http_request"} {
					e := k.agent.refused(command, params{"session": k.session, "url": "http://" + k.host + "/"}, protocol.PolicyDenied)
					if e.Details["reason"] != "not_allowlisted" {
						t.Errorf("%s in %s at %s: %+v", command, k.session, k.host, e.Details)
					}
				}
			}
		}
		check()
		for _, p := range d.Chromium("browser") {
			p.Kill()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := a.c.Event(ctx, client.OfType(protocol.EventBrowserLost)); err != nil {
			t.Fatal(err)
		}
		check()
	})
}

func inBothJails(t *testing.T, f func(t *testing.T, jail string)) {
	for _, jail := range []string{"required", "off"} {
		t.Run("jail="+jail, func(t *testing.T) { f(t, jail) })
	}
}

// serveAt serves on a loopback address, and returns host:port.
func serveAt(t *testing.T, address string, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp4", address+":0")
	if err != nil {
		untested.Missing(t, "%s: %v", address, err)
	}
	s := &http.Server{Handler: h}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}
