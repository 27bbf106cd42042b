package browser

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// guarded is a Chromium behind an egress proxy.
type guarded struct {
	*Browser
	chromium *chromium.Supervisor
	egress   *policy.Egress
	policy   *policy.Policy
}

// behindProxy starts a Chromium behind an egress proxy whose policy is pol, in
// a jail or with flags only. before are called with the proxy before the start.
func behindProxy(t *testing.T, cfg chromium.Config, pol policy.Config, jailed bool, before ...func(*policy.Egress)) *guarded {
	t.Helper()
	p, err := policy.New(pol)
	if err != nil {
		t.Fatal(err)
	}
	e, err := policy.NewEgress(policy.EgressOptions{Jailed: jailed, Trust: p.Trust()}, p.AddSelf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	cfg.ProxyServer, cfg.TrustedKey = e.Refusing(), e.KeyHash()
	if jailed {
		if err := chromium.CanJail(cfg); err != nil {
			t.Fatalf("no jail here: %v", err)
		}
		cfg.Adopt, cfg.JailPort = e.Serve, e.Port()
	}
	for _, f := range before {
		f(e)
	}
	c := started(t, cfg)
	b := New(c, discard())
	t.Cleanup(b.Close)
	// What a session gets was there before it.
	b.StartPool(Pool{Egress: func() (Egress, error) { return e.Unbound() }, Ready: 1, Ahead: true})
	pooledReady(t, b)
	return &guarded{b, c, e, p}
}

// open opens a context with an egress proxy of its own.
func (g *guarded) open(t *testing.T, o policy.GateOptions, emit func(string, map[string]any)) *Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := g.NewContext(ctx, ContextOptions{Bind: g.bind(o)}, emit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func (g *guarded) bind(o policy.GateOptions) func(Egress, func(map[string]any)) error {
	return func(w Egress, refused func(map[string]any)) error {
		gate, err := g.policy.Gate(o)
		if err != nil {
			return err
		}
		w.Bind(gate, "test", func(r policy.Refusal) {
			refused(map[string]any{"reason": r.Reason, "host": r.Host, "url": r.URL})
		})
		return nil
	}
}

func quiet(string, map[string]any) {}

// bothWays runs a test with each build, in a jail and with flags only.
func bothWays(t *testing.T, f func(t *testing.T, cfg chromium.Config, jailed bool)) {
	builds(t, func(t *testing.T, cfg chromium.Config) {
		t.Run("jail", func(t *testing.T) { f(t, cfg, true) })
		t.Run("flags", func(t *testing.T) { f(t, cfg, false) })
	})
}

// A refused page answers with the proxy's reason, a page that cannot be reached
// with the connection's, and what is allowed opens.
func TestOpenThroughTheProxy(t *testing.T) {
	t.Parallel()
	var port string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://10.1.2.3/", http.StatusFound)
		case "/upward":
			http.Redirect(w, r, "https://10.1.2.3/", http.StatusFound)
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<title>site</title>"))
	}))
	defer site.Close()
	closed, _ := net.Listen("tcp", "127.0.0.1:0")
	dead := closed.Addr().String()
	closed.Close()
	_, port, _ = net.SplitHostPort(site.Listener.Addr().String())
	bothWays(t, func(t *testing.T, cfg chromium.Config, jailed bool) {
		g := behindProxy(t, cfg, policy.Config{AllowHosts: []string{"127.0.0.1", "localhost:" + port}}, jailed)
		begin := time.Now()
		c := g.open(t, policy.GateOptions{}, quiet)
		t.Logf("context after %v", time.Since(begin))
		for i := range 3 {
			begin = time.Now()
			g.open(t, policy.GateOptions{}, quiet)
			t.Logf("context %d after %v", i+2, time.Since(begin))
		}
		for _, k := range []struct {
			url, host, reason string
			code              protocol.Code
		}{
			{url: site.URL + "/"},
			{url: "http://localhost:" + port + "/"},
			{site.URL + "/away", "10.1.2.3", "ip_private", protocol.PolicyDenied},
			{site.URL + "/upward", "10.1.2.3", "ip_private", protocol.PolicyDenied},
			{"http://10.9.9.9/", "10.9.9.9", "ip_private", protocol.PolicyDenied},
			{"https://[::1]/", "::1", "ip_loopback", protocol.PolicyDenied},
			{"http://" + dead + "/", "127.0.0.1", "connect_failed", protocol.NavigationFailed},
			{g.egress.Refusing() + "/", "127.0.0.1", "ip_self", protocol.PolicyDenied},
			{url: site.URL + "/"},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			_, err := c.Open(ctx, k.url, protocol.WaitLoad)
			cancel()
			if k.code == "" {
				if s := c.State(); err != nil || s.Status != 200 || s.URL != k.url {
					t.Errorf("%s: %v, at %+v", k.url, err, c.State())
				}
				continue
			}
			e, ok := err.(*protocol.Error)
			if !ok || e.Code != k.code || e.Details["reason"] != k.reason || strings.Trim(e.Details["host"].(string), "[]") != k.host {
				t.Errorf("%s: %#v", k.url, err)
			}
		}
	})
}

// A click that leads where the policy forbids it, or where nothing answers, says
// so as open does, and so for as often as it is tried.
func TestClickThroughTheProxy(t *testing.T) {
	t.Parallel()
	dead := deadURL(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, `<a href="http://10.0.0.1/x">Private</a><a href="https://10.0.0.1/">Secure</a><a href="`+dead+`">Refused</a>`)
	}))
	defer site.Close()
	g := behindProxy(t, testConfig(t), policy.Config{AllowHosts: []string{"127.0.0.1"}}, false)
	c := g.open(t, policy.GateOptions{}, quiet)
	for _, k := range []struct {
		link string
		code protocol.Code
		want map[string]any
	}{
		{"Private", protocol.PolicyDenied, map[string]any{"reason": "ip_private", "host": "10.0.0.1", "url": "http://10.0.0.1/x"}},
		{"Private", protocol.PolicyDenied, map[string]any{"reason": "ip_private", "host": "10.0.0.1", "url": "http://10.0.0.1/x"}},
		{"Secure", protocol.PolicyDenied, map[string]any{"reason": "ip_private", "host": "10.0.0.1", "url": "https://10.0.0.1/"}},
		{"Refused", protocol.NavigationFailed, map[string]any{"reason": "connect_failed", "host": "127.0.0.1", "url": dead}},
	} {
		v := &visit{t: t, c: c, refs: snapshot.NewRefs()}
		if _, err := c.Open(limit(t, 15*time.Second), site.URL, protocol.WaitAuto); err != nil {
			t.Fatal(err)
		}
		v.look()
		_, err := c.Act(limit(t, 15*time.Second), v.refs, protocol.Act{Action: protocol.Click{Ref: v.ref("link", k.link)}})
		var e *protocol.Error
		if !asError(err, &e) || e.Code != k.code {
			t.Errorf("%s: %v", k.link, err)
			continue
		}
		for key, want := range k.want {
			equal(t, k.link+": "+key, e.Details[key], want)
		}
		if _, ok := e.Details["config"]; ok != (k.code == protocol.PolicyDenied) {
			t.Errorf("%s: %v", k.link, e.Details)
		}
	}
}

// Two sessions with lists of their own in one Chromium: neither gets what the
// other may, neither reaches the other's proxy, and nothing of one is seen in
// the other (session-x).
func TestSessionsAreApart(t *testing.T) {
	t.Parallel()
	serve := func(addr string) string {
		l, err := net.Listen("tcp4", addr+":0")
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Access-Control-Allow-Origin", "*")
			io.WriteString(w, "cookies:"+r.Header.Get("Cookie")+" proxy:"+r.Header.Get("Proxy-Authorization"))
		})}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
		return "http://" + l.Addr().String()
	}
	one, two := serve("127.0.0.2"), serve("127.0.0.3")
	bothWays(t, func(t *testing.T, cfg chromium.Config, jailed bool) {
		g := behindProxy(t, cfg, policy.Config{AllowHosts: []string{"127.0.0.0/8"}}, jailed)
		a := g.open(t, policy.GateOptions{AllowedDomains: []string{"127.0.0.2"}}, quiet)
		b := g.open(t, policy.GateOptions{AllowedDomains: []string{"127.0.0.3"}}, quiet)
		open := func(c *Context, url string) error {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			_, err := c.Open(ctx, url, protocol.WaitLoad)
			return err
		}
		ask := func(c *Context, expression string) string {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			got, err := c.Eval(ctx, nil, "", expression)
			if err != nil {
				t.Fatalf("%s: %v", expression, err)
			}
			return string(got)
		}
		for _, k := range []struct {
			who      string
			c        *Context
			url      string
			expected protocol.Code
		}{
			{"the first", a, one, ""}, {"the first", a, two, protocol.PolicyDenied},
			{"the second", b, one, protocol.PolicyDenied}, {"the second", b, two, ""},
			{"the first", a, b.egress.ProxyServer() + "/", protocol.PolicyDenied},
			{"the first", a, one, ""},
		} {
			if err := open(k.c, k.url); (err == nil) != (k.expected == "") || err != nil && protocol.CodeOf(err) != k.expected {
				t.Errorf("%s at %s: %v", k.who, k.url, err)
			}
		}
		// A page of the first asks by fetch: its own host answers, without the
		// proxy's secret; the second's does not, nor does the second's proxy.
		if got := ask(a, `fetch("/").then(r => r.text())`); got != `"cookies: proxy:"` {
			t.Errorf("its own host: %s", got)
		}
		for _, url := range []string{two, b.egress.ProxyServer(), g.egress.Refusing()} {
			if got := ask(a, `fetch("`+url+`").then(r => r.text(), e => "refused")`); got != `"refused"` {
				t.Errorf("%s from a page of the first: %s", url, got)
			}
		}
		// Both on one origin now: what one leaves there the other does not find.
		both := g.open(t, policy.GateOptions{}, quiet)
		again := g.open(t, policy.GateOptions{}, quiet)
		if err := open(both, one); err != nil {
			t.Fatal(err)
		}
		ask(both, `document.cookie = "a=1", localStorage.setItem("a", "1"), caches.open("a").then(c => c.put("/x", new Response("1"))).then(() => 1)`)
		if err := open(again, one); err != nil {
			t.Fatal(err)
		}
		if got := ask(again, `caches.keys().then(k => document.cookie + localStorage.length + k.length)`); got != `"00"` {
			t.Errorf("the other session sees %s", got)
		}
	})
}

// A context without its proxy's secret is asked for it and gets nothing; one
// without a proxy reaches nothing.
func TestEgressProxyAsksForTheSecret(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 100)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.URL.Path }))
	defer site.Close()
	bothWays(t, func(t *testing.T, cfg chromium.Config, jailed bool) {
		g := behindProxy(t, cfg, policy.Config{AllowHosts: []string{"127.0.0.1"}}, jailed)
		owner := g.open(t, policy.GateOptions{}, quiet)
		for name, server := range map[string]string{"without its secret": owner.egress.ProxyServer(), "without a proxy": ""} {
			conn, _, err := g.chromium.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			params := target.CreateBrowserContextParams{ProxyServer: server}
			if server != "" {
				params.ProxyBypassList = "<-loopback>"
			}
			bc, err := cdproto.Call(ctx, conn.Session(""), target.CreateBrowserContext, params)
			if err != nil {
				t.Fatal(err)
			}
			made, err := cdproto.Call(ctx, conn.Session(""), target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: bc.BrowserContextID})
			if err != nil {
				t.Fatal(err)
			}
			at, err := cdproto.Call(ctx, conn.Session(""), target.AttachToTarget, target.AttachToTargetParams{TargetID: made.TargetID, Flatten: ptr(true)})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Status int `json:"status"`
			}
			responses, stop := conn.Session(at.SessionID).Subscribe("Network.responseReceived")
			defer stop()
			s := conn.Session(at.SessionID)
			s.Send("Runtime.runIfWaitingForDebugger", cdproto.Empty{})
			s.Send("Network.enable", cdproto.Empty{})
			navigated := s.Send("Page.navigate", map[string]any{"url": site.URL + "/" + strings.ReplaceAll(name, " ", "-")})
			select {
			case v := <-responses:
				var e struct {
					Response *struct {
						Status int `json:"status"`
					} `json:"response"`
				}
				e.Response = &got
				json.Unmarshal(v, &e)
			case <-ctx.Done():
				t.Fatalf("%s: no answer", name)
			}
			navigated.Wait(ctx, nil)
			if want := map[bool]int{true: http.StatusProxyAuthRequired, false: http.StatusForbidden}[server != ""]; got.Status != want {
				t.Errorf("%s: %d, want %d", name, got.Status, want)
			}
		}
		select {
		case path := <-reached:
			t.Errorf("%s was reached", path)
		default:
		}
	})
}

// The whole context has learnt the secret: new tabs and what a page opens have
// it, and a site that has its data cleared takes it from nobody.
func TestTheContextKeepsItsSecret(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/clear" {
			w.Header().Set("Clear-Site-Data", `"*"`)
		}
		io.WriteString(w, "<title>"+r.URL.Path+"</title>")
	}))
	defer site.Close()
	builds(t, func(t *testing.T, cfg chromium.Config) {
		g := behindProxy(t, cfg, policy.Config{AllowHosts: []string{"127.0.0.1"}}, false)
		c := g.open(t, policy.GateOptions{}, quiet)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for _, path := range []string{"/", "/clear", "/after"} {
			if _, err := c.Open(ctx, site.URL+path, protocol.WaitLoad); err != nil || c.State().Status != 200 {
				t.Fatalf("%s: %v, %+v", path, err, c.State())
			}
		}
		if _, err := c.TabNew(ctx, site.URL+"/tab"); err != nil || c.State().Status != 200 {
			t.Errorf("a new tab: %v, %+v", err, c.State())
		}
		got, err := c.Eval(ctx, nil, "", `fetch("/clear").then(() => fetch("/again")).then(r => r.status)`)
		if err != nil || string(got) != "200" {
			t.Errorf("after clearing: %s, %v", got, err)
		}
	})
}
