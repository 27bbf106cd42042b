package main

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/policy"
)

// pageEgress is how the pages of Chromium reach the network.
type pageEgress struct {
	proxy *policy.Egress // nil: not through browserd
	// Mode is jail, flags, remote or unprotected; Why says why it is not jail.
	Mode, Why string
}

// egressSetup returns the egress of Chromium's pages. The first call sets it up, and
// every call waits for that: finding out whether Chromium can be jailed takes some
// ten milliseconds, in which the daemon answers what needs no Chromium.
type egressSetup func() (pageEgress, error)

// setUpEgress sets up the egress and completes cfg with it. Where the daemon must not
// start without it (browser.jail is off or required, or Chromium runs elsewhere) it
// waits, and returns the error that keeps the daemon from starting.
func setUpEgress(cfg *chromium.Config, pol policy.Config, rules *policy.Policy, log *slog.Logger) (egressSetup, error) {
	base := *cfg
	look := egressSetup(sync.OnceValues(func() (pageEgress, error) { return newPageEgress(base, pol, rules, log) }))
	cfg.Advertised = cfg.Endpoint != "" && !cfg.Attach && pol.ProxyAdvertise != ""
	cfg.Complete = func(c *chromium.Config) error {
		egress, err := look()
		if err == nil {
			egress.configure(c)
		}
		return err
	}
	if cfg.Endpoint == "" && !cfg.Disabled && cfg.Jail != chromium.JailOff && cfg.Jail != chromium.JailRequired {
		return look, nil
	}
	_, err := look()
	return look, err
}

// newPageEgress puts an egress proxy in front of Chromium. Close it after Chromium has ended.
func newPageEgress(cfg chromium.Config, pol policy.Config, rules *policy.Policy, log *slog.Logger) (pageEgress, error) {
	if cfg.Endpoint != "" && cfg.Jail == chromium.JailRequired {
		return pageEgress{}, fmt.Errorf("browser.jail: required, and the Chromium of browser.endpoint runs elsewhere, in a network that browserd cannot look at: set it to auto, or leave browser.endpoint empty")
	}
	if cfg.Attach {
		log.Warn("pages reach the network without browserd's checks, as you do (browser.attach)")
		return pageEgress{Mode: "unprotected", Why: "browser.attach: it is your own browser, in which neither the jail nor the egress policy holds"}, nil
	}
	if cfg.Endpoint != "" && pol.ProxyAdvertise == "" {
		log.Warn("pages reach the network without browserd's checks", "endpoint_unprotected", true)
		return pageEgress{Mode: "unprotected", Why: "browser.endpoint_unprotected, and policy.proxy_advertise is not set"}, nil
	}
	egress := pageEgress{Mode: "jail"}
	switch {
	case cfg.Endpoint != "":
		egress = pageEgress{Mode: "remote", Why: "Chromium runs elsewhere: its flags and its namespaces are not browserd's"}
	case cfg.Disabled:
		egress = pageEgress{Mode: "flags", Why: "browser.disabled"}
	case cfg.Jail == chromium.JailOff:
		egress = pageEgress{Mode: "flags", Why: "browser.jail is off"}
	default:
		if err := chromium.CanJail(cfg); err != nil {
			egress = pageEgress{Mode: "flags", Why: err.Error()}
		}
	}
	if egress.Mode == "flags" && !cfg.Disabled {
		if cfg.Jail == chromium.JailRequired {
			return pageEgress{}, fmt.Errorf("browser.jail: required, and Chromium cannot be given a network namespace of its own: %s: allow user namespaces (browserd doctor says more), or set it to auto", egress.Why)
		}
		if chromium.CanSandbox(cfg) == nil { // else it does not run at all
			log.Warn("Chromium runs without a network namespace of its own: its flags alone keep it to the egress proxy", "why", egress.Why)
		}
	}
	trust := rules.Trust()
	if egress.Mode == "remote" && trust != nil {
		log.Warn("policy.ca_file and policy.insecure_hosts do not reach the Chromium of browser.endpoint: it verifies certificates by its own settings")
		trust = nil
	}
	e, err := policy.NewEgress(policy.EgressOptions{
		Trust: trust, EgressConfig: pol.Egress, Advertise: pol.ProxyAdvertise, Jailed: egress.Mode == "jail",
	}, func(a netip.AddrPort) { rules.AddSelf(a) })
	if err != nil {
		return pageEgress{}, err
	}
	egress.proxy = e
	return egress, nil
}

// configure completes the configuration of a launch.
func (w pageEgress) configure(cfg *chromium.Config) {
	if w.proxy == nil {
		return
	}
	cfg.ProxyServer, cfg.TrustedKey = w.proxy.Refusing(), w.proxy.KeyHash()
	if w.Mode == "jail" {
		cfg.Adopt, cfg.JailPort = w.proxy.Serve, w.proxy.Port()
	}
}

// stats returns a function that reads the egress proxy's counts; nil if there is
// no proxy.
func (x egressSetup) stats(cfg chromium.Config) func() policy.EgressStats {
	if cfg.Endpoint != "" && !cfg.Advertised {
		return nil
	}
	return func() policy.EgressStats {
		egress, err := x()
		if err != nil {
			return policy.EgressStats{}
		}
		return egress.proxy.Stats()
	}
}

// close waits until the egress is set up, and closes it.
func (x egressSetup) close() {
	egress, err := x()
	if err == nil && egress.proxy != nil {
		egress.proxy.Close()
	}
}

// status returns what the command status says about it.
func (x egressSetup) status(rules *policy.Policy) map[string]any {
	w, err := x()
	if err != nil {
		return map[string]any{"mode": "none", "why": err.Error()}
	}
	s := map[string]any{"mode": w.Mode}
	if hosts := rules.Trust().InsecureHosts(); len(hosts) > 0 {
		s["insecure_hosts"] = hosts
	}
	if w.Why != "" {
		s["why"] = w.Why
	}
	return s
}

// open returns a function that makes a proxy for a browser context that no session
// has yet; nil if pages do not leave through browserd.
func (x egressSetup) open(cfg chromium.Config) func() (browser.Egress, error) {
	if cfg.Endpoint != "" && !cfg.Advertised {
		return nil
	}
	return func() (browser.Egress, error) {
		egress, err := x()
		if err != nil {
			return nil, err
		}
		return egress.proxy.Unbound()
	}
}

// bind returns a function that gives a proxy to a session, whose gate decides. Refusals are logged with the host alone, and at most linesPerSecond of them,
// so that a page cannot fill the disk.
func (w pageEgress) bind(gate *policy.Gate, name string, log *slog.Logger) func(browser.Egress, func(map[string]any)) error {
	if w.proxy == nil {
		return nil
	}
	return func(proxy browser.Egress, refused func(map[string]any)) error {
		var lines seldom
		proxy.Bind(gate, name, func(r policy.Refusal) {
			if more, ok := lines.next(time.Now()); ok {
				log.Info("refused", "session", name, "host", r.Host, "reason", r.Reason, "not_logged", more)
			}
			fields := map[string]any{"url": r.URL, "message": r.Err.Message}
			for k, v := range r.Err.Details {
				fields[k] = v
			}
			refused(fields)
		})
		return nil
	}
}

// linesPerSecond is how many refusals of a session are logged in a second.
const linesPerSecond = 10

// seldom lets linesPerSecond lines pass, and counts those between.
type seldom struct {
	mu     sync.Mutex
	second time.Time
	said   int
	unsaid int
}

// next reports whether a line may be written, and how many were not since the last.
func (s *seldom) next(now time.Time) (unsaid int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.second) > time.Second {
		s.second, s.said = now, 0
	}
	if s.said++; s.said > linesPerSecond {
		s.unsaid++
		return 0, false
	}
	unsaid, s.unsaid = s.unsaid, 0
	return unsaid, true
}
