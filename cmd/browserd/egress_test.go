package main

import (
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/internal/untested"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// What holds Chromium to the proxy is said, and where it is less than was
// asked for the daemon does not start.
func TestPageEgress(t *testing.T) {
	rules, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name             string
		cfg              chromium.Config
		pol              policy.Config
		mode, why, wrong string
		root, proxied    bool
	}{
		{name: "off", cfg: chromium.Config{Jail: "off"}, mode: "flags", why: "browser.jail is off", proxied: true},
		{name: "off, and required elsewhere", cfg: chromium.Config{Jail: "auto", RunAs: "no-such-user"}, mode: "flags", why: "no-such-user", root: true, proxied: true},
		{name: "required", cfg: chromium.Config{Jail: "required", RunAs: "no-such-user"}, wrong: "browser.jail: required", root: true},
		{name: "no Chromium", cfg: chromium.Config{Jail: "required", Disabled: true}, mode: "flags", why: "browser.disabled", proxied: true},
		{name: "required, and elsewhere", cfg: chromium.Config{Jail: "required", Endpoint: "http://127.0.0.1:1", EndpointUnprotected: true}, wrong: "browser.jail: required"},
		{name: "elsewhere", cfg: chromium.Config{Endpoint: "http://127.0.0.1:1", EndpointUnprotected: true}, mode: "unprotected", why: "endpoint_unprotected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				untested.Skip(t, "not root: browser.run_as does not count")
			}
			var log strings.Builder
			cfg := c.cfg
			out, err := setUpEgress(&cfg, c.pol, rules, slog.New(slog.NewTextHandler(&log, nil)))
			defer out.close()
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("got %v, want %s", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			way, err := out()
			if err := cfg.Complete(&cfg); err != nil {
				t.Fatal(err)
			}
			if err != nil || way.Mode != c.mode || !strings.Contains(way.Why, c.why) || (way.proxy != nil) != c.proxied || (cfg.ProxyServer != "") != c.proxied {
				t.Errorf("%+v, %v; %+v", way, err, cfg)
			}
			if warned := strings.Contains(log.String(), "level=WARN"); warned != !c.cfg.Disabled {
				t.Errorf("the log: %s", log.String())
			}
		})
	}
}

// Where nothing holds Chromium's pages to a session's domains, such a session
// has none of it: it goes on with documents that browserd fetches itself.
func TestDomainsWithoutAProxy(t *testing.T) {
	rules, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := chromium.Config{Endpoint: "http://127.0.0.1:1", EndpointUnprotected: true}
	p := pages{chromium: &installation{cfg: cfg}, rules: rules, egress: func() (pageEgress, error) { return pageEgress{Mode: "unprotected"}, nil }, chain: fallback.NewSourceChain(fallback.Config{}, nil)}
	o := session.Options{Source: session.SourceChromium, AllowedDomains: []string{"example.com"}}
	if _, err := p.NewPage(t.Context(), o, nil); protocol.CodeOf(err) != protocol.Unsupported {
		t.Errorf("Chromium by name: %v", err)
	}
	o.Source = session.SourceAuto
	page, err := p.NewPage(t.Context(), o, nil)
	if err != nil || page.State().Source == session.SourceChromium {
		t.Errorf("auto: %v", err)
	}
}

// A page that is refused without end does not fill the log; each refusal is
// still told to its session.
func TestRefusalsDoNotFloodTheLog(t *testing.T) {
	rules, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	egress, err := policy.NewEgress(policy.EgressOptions{}, rules.AddSelf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { egress.Close() })
	var log strings.Builder // written by one request after the other
	told := 0
	out := pageEgress{proxy: egress}
	way, err := egressSetup(func() (pageEgress, error) { return out, nil }).open(chromium.Config{})()
	if err != nil {
		t.Fatal(err)
	}
	gate, err := rules.Gate(policy.GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.bind(gate, "s", slog.New(slog.NewTextHandler(&log, nil)))(way, func(map[string]any) { told++ }); err != nil {
		t.Fatal(err)
	}
	proxy, _ := url.Parse(way.ProxyServer())
	proxy.User = url.UserPassword(way.Credentials())
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
	begun := time.Now()
	const requests = 200
	for range requests {
		if resp, err := client.Get("http://10.0.0.1/"); err == nil {
			resp.Body.Close()
			t.Fatal("it was let through")
		}
	}
	way.Close()
	if err := egress.Close(); err != nil { // and with it whoever still writes
		t.Fatal(err)
	}
	most := linesPerSecond * (int(time.Since(begun).Seconds()) + 2)
	if lines := strings.Count(log.String(), "host=10.0.0.1"); lines < linesPerSecond || lines > most || told != requests {
		t.Errorf("%d lines of at most %d, and %d of %d told", lines, most, told, requests)
	}
}
