package browser

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// guarded is a Chromium behind an egress proxy.
type guarded struct {
	*Browser
	chromium *Chromium
	egress   *policy.Egress
	policy   *policy.Policy
}

// behindProxy starts a Chromium behind an egress proxy whose policy is pol, in
// a jail or with flags only.
func behindProxy(t *testing.T, cfg Config, pol policy.Config, jailed bool) *guarded {
	t.Helper()
	p, err := policy.New(pol)
	if err != nil {
		t.Fatal(err)
	}
	e, err := policy.NewEgress(policy.EgressOptions{Jailed: jailed}, p.AddSelf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	cfg.ProxyServer = e.Refusing()
	if jailed {
		if err := CanJail(cfg); err != nil {
			t.Fatalf("no jail here: %v", err)
		}
		cfg.Adopt, cfg.JailPort = e.Serve, e.Port()
	}
	c := started(t, cfg)
	return &guarded{New(c, discard()), c, e, p}
}

// open opens a context on a lane of its own.
func (g *guarded) open(t *testing.T, o policy.GateOptions, emit func(string, map[string]any)) *Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := g.NewContext(ctx, ContextOptions{Way: g.way(o)}, emit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func (g *guarded) way(o policy.GateOptions) func(func(map[string]any)) (Way, error) {
	return func(refused func(map[string]any)) (Way, error) {
		gate, err := g.policy.Gate(o)
		if err != nil {
			return nil, err
		}
		return g.egress.Lane(gate, "test", func(r policy.Refusal) {
			refused(map[string]any{"reason": r.Reason, "host": r.Host, "url": r.URL})
		})
	}
}

func quiet(string, map[string]any) {}

// bothWays runs a test with each build, in a jail and with flags only.
func bothWays(t *testing.T, f func(t *testing.T, cfg Config, jailed bool)) {
	builds(t, func(t *testing.T, cfg Config) {
		t.Run("jail", func(t *testing.T) { f(t, cfg, true) })
		t.Run("flags", func(t *testing.T) { f(t, cfg, false) })
	})
}

// A refused page answers with the proxy's reason, a page that cannot be reached
// with the connection's, and what is allowed opens.
func TestOpenThroughTheProxy(t *testing.T) {
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
	bothWays(t, func(t *testing.T, cfg Config, jailed bool) {
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
