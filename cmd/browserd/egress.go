package main

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/browserd/browserd/browser"
	"github.com/browserd/browserd/policy"
)

// wayOut is how the pages of Chromium reach the network.
type wayOut struct {
	egress *policy.Egress // nil: not through browserd
	// Mode is jail, flags, remote or unprotected; Why says why it is not jail.
	Mode, Why string
}

// tryJail tries, where one is wanted, whether there can be a jail (see
// [browser.CanJail]): a process has to be started for it, beside which other things
// can be done. The function that it returns waits for what came of it.
func tryJail(cfg browser.Config) func() error {
	if cfg.Endpoint != "" || cfg.Disabled || cfg.Jail == browser.JailOff {
		return func() error { return nil }
	}
	can := sync.OnceValue(func() error { return browser.CanJail(cfg) })
	go can()
	return can
}

// guard puts an egress proxy in front of Chromium and tells cfg of it; canJail is
// what tryJail returned. Close the proxy after Chromium has ended. An error keeps
// the daemon from starting.
func guard(cfg *browser.Config, pol policy.Config, rules *policy.Policy, canJail func() error, log *slog.Logger) (wayOut, error) {
	if cfg.Endpoint != "" && cfg.Jail == browser.JailRequired {
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
	case cfg.Jail == browser.JailOff:
		way = wayOut{Mode: "flags", Why: "browser.jail is off"}
	default:
		if err := canJail(); err != nil {
			way = wayOut{Mode: "flags", Why: err.Error()}
		}
	}
	if way.Mode == "flags" && !cfg.Disabled {
		if cfg.Jail == browser.JailRequired {
			return wayOut{}, fmt.Errorf("browser.jail: required, and Chromium cannot be given a network namespace of its own: %s: allow user namespaces (browserd doctor says more), or set it to auto", way.Why)
		}
		if browser.CanSandbox(*cfg) == nil { // else it does not run at all
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
	cfg.ProxyServer = e.Refusing()
	if way.Mode == "jail" {
		cfg.Adopt, cfg.JailPort = e.Serve, e.Port()
	}
	cfg.Advertised = way.Mode == "remote"
	return way, nil
}

func (w wayOut) close() {
	if w.egress != nil {
		w.egress.Close()
	}
}

// status is what the command status says of it.
func (w wayOut) status() map[string]any {
	s := map[string]any{"mode": w.Mode}
	if w.Why != "" {
		s["why"] = w.Why
	}
	return s
}

// open returns what opens a lane of nobody's, for a browser context to come.
func (w wayOut) open() func() (browser.Way, error) {
	if w.egress == nil {
		return nil
	}
	return func() (browser.Way, error) { return w.egress.Spare() }
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
