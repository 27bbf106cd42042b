package main

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/policy"
)

// What holds Chromium to the proxy is said, and where it is less than was
// asked for the daemon does not start.
func TestGuard(t *testing.T) {
	rules, err := policy.New(policy.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name             string
		cfg              browser.Config
		pol              policy.Config
		mode, why, wrong string
		root, proxied    bool
	}{
		{name: "off", cfg: browser.Config{Jail: "off"}, mode: "flags", why: "browser.jail is off", proxied: true},
		{name: "off, and required elsewhere", cfg: browser.Config{Jail: "auto", RunAs: "no-such-user"}, mode: "flags", why: "no-such-user", root: true, proxied: true},
		{name: "required", cfg: browser.Config{Jail: "required", RunAs: "no-such-user"}, wrong: "browser.jail: required", root: true},
		{name: "no Chromium", cfg: browser.Config{Jail: "required", Disabled: true}, mode: "flags", why: "browser.disabled", proxied: true},
		{name: "required, and elsewhere", cfg: browser.Config{Jail: "required", Endpoint: "http://127.0.0.1:1", EndpointUnprotected: true}, wrong: "browser.jail: required"},
		{name: "elsewhere", cfg: browser.Config{Endpoint: "http://127.0.0.1:1", EndpointUnprotected: true}, mode: "unprotected", why: "endpoint_unprotected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("not root: browser.run_as does not count")
			}
			var log strings.Builder
			cfg := c.cfg
			way, err := guard(&cfg, c.pol, rules, slog.New(slog.NewTextHandler(&log, nil)))
			defer way.close()
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("got %v, want %s", err, c.wrong)
				}
				return
			}
			if err != nil || way.Mode != c.mode || !strings.Contains(way.Why, c.why) || (way.egress != nil) != c.proxied || (cfg.ProxyServer != "") != c.proxied {
				t.Errorf("%+v, %v; %+v", way, err, cfg)
			}
			if warned := strings.Contains(log.String(), "level=WARN"); warned != !c.cfg.Disabled {
				t.Errorf("the log: %s", log.String())
			}
		})
	}
}
