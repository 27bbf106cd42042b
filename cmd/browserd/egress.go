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

// wayOut is how the pages of Chromium reach the network.
type wayOut struct {
	egress *policy.Egress // nil: not through browserd
	// Mode is jail, flags, remote or unprotected; Why says why it is not jail.
	Mode, Why string
}

// exit is the way out, which is looked for once, by its first caller: it waits until
// that is known. Whether there can be a jail takes some ten milliseconds, in which the
// daemon answers what needs no Chromium.
type exit func() (wayOut, error)

// leave looks for the way out and tells cfg of it. What the daemon must not start
// without is waited for, and the error keeps it from starting.
func leave(cfg *chromium.Config, pol policy.Config, rules *policy.Policy, log *slog.Logger) (exit, error) {
	base := *cfg
	look := exit(sync.OnceValues(func() (wayOut, error) { return guard(base, pol, rules, log) }))
	cfg.Advertised = cfg.Endpoint != "" && pol.ProxyAdvertise != ""
	cfg.Complete = func(c *chromium.Config) error {
		way, err := look()
		if err == nil {
			way.tell(c)
		}
		return err
	}
	if cfg.Endpoint == "" && !cfg.Disabled && cfg.Jail != chromium.JailOff && cfg.Jail != chromium.JailRequired {
		return look, nil
	}
	_, err := look()
	return look, err
}

// guard puts an egress proxy in front of Chromium. Close it after Chromium has ended.
func guard(cfg chromium.Config, pol policy.Config, rules *policy.Policy, log *slog.Logger) (wayOut, error) {
	if cfg.Endpoint != "" && cfg.Jail == chromium.JailRequired {
		return wayOut{}, fmt.Errorf("browser.jail: required, and the Chromium of browser.endpoint runs elsewhere, in a network that browserd cannot look at: set it to auto, or leave browser.endpoint empty")
	}
	if cfg.Endpoint != "" && pol.ProxyAdvertise == "" {
		log.Warn("pages reach the network without browserd's checks", "endpoint_unprotected", true)
		return wayOut{Mode: "unprotected", Why: "browser.endpoint_unprotected, and policy.proxy_advertise is not set"}, nil
	}
	way := wayOut{Mode: "jail"}
	switch {
	case cfg.Endpoint != "":
		way = wayOut{Mode: "remote", Why: "Chromium runs elsewhere: its flags and its namespaces are not browserd's"}
	case cfg.Disabled:
		way = wayOut{Mode: "flags", Why: "browser.disabled"}
	case cfg.Jail == chromium.JailOff:
		way = wayOut{Mode: "flags", Why: "browser.jail is off"}
	default:
		if err := chromium.CanJail(cfg); err != nil {
			way = wayOut{Mode: "flags", Why: err.Error()}
		}
	}
	if way.Mode == "flags" && !cfg.Disabled {
		if cfg.Jail == chromium.JailRequired {
			return wayOut{}, fmt.Errorf("browser.jail: required, and Chromium cannot be given a network namespace of its own: %s: allow user namespaces (browserd doctor says more), or set it to auto", way.Why)
		}
		if chromium.CanSandbox(cfg) == nil { // else it does not run at all
			log.Warn("Chromium runs without a network namespace of its own: its flags alone keep it to the egress proxy", "why", way.Why)
		}
	}
	e, err := policy.NewEgress(policy.EgressOptions{
		EgressConfig: pol.Egress, Advertise: pol.ProxyAdvertise, Jailed: way.Mode == "jail",
	}, func(a netip.AddrPort) { rules.AddSelf(a) })
	if err != nil {
		return wayOut{}, err
	}
	way.egress = e
	return way, nil
}

// tell completes the configuration of a launch.
func (w wayOut) tell(cfg *chromium.Config) {
	if w.egress == nil {
		return
	}
	cfg.ProxyServer = w.egress.Refusing()
	if w.Mode == "jail" {
		cfg.Adopt, cfg.JailPort = w.egress.Serve, w.egress.Port()
	}
}

// stats returns what tells of the egress proxy; nil where there is none.
func (x exit) stats(cfg chromium.Config) func() policy.EgressStats {
	if cfg.Endpoint != "" && !cfg.Advertised {
		return nil
	}
	return func() policy.EgressStats {
		way, err := x()
		if err != nil {
			return policy.EgressStats{}
		}
		return way.egress.Stats()
	}
}

// close waits until the way out is known, and closes it.
func (x exit) close() {
	way, err := x()
	if err == nil && way.egress != nil {
		way.egress.Close()
	}
}

// status is what the command status says of it.
func (x exit) status() map[string]any {
	w, err := x()
	if err != nil {
		return map[string]any{"mode": "none", "why": err.Error()}
	}
	s := map[string]any{"mode": w.Mode}
	if w.Why != "" {
		s["why"] = w.Why
	}
	return s
}

// open returns what opens a lane of nobody's, for a browser context to come; nil where
// there are none.
func (x exit) open(cfg chromium.Config) func() (browser.Way, error) {
	if cfg.Endpoint != "" && !cfg.Advertised {
		return nil
	}
	return func() (browser.Way, error) {
		way, err := x()
		if err != nil {
			return nil, err
		}
		return way.egress.Unbound()
	}
}

// lane returns what makes a lane a session's: its own list narrows the policy.
// What the session is refused goes into the log by host alone, and no more
// often than a page may fill a disk.
func (w wayOut) lane(rules *policy.Policy, name string, domains []string, log *slog.Logger) func(browser.Way, func(map[string]any)) error {
	if w.egress == nil {
		return nil
	}
	return func(way browser.Way, refused func(map[string]any)) error {
		gate, err := rules.Gate(policy.GateOptions{AllowedDomains: domains})
		if err != nil {
			return err
		}
		var lines seldom
		way.Bind(gate, name, func(r policy.Refusal) {
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

// next says whether a line may be written, and how many were not since the last.
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
