package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/fallback"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/server"
)

// installation is what the daemon knows of its Chromium: whether there is one, and
// whether it starts. Any goroutine may use it.
type installation struct {
	cfg        chromium.Config
	supervisor *chromium.Supervisor

	mu   sync.Mutex
	last error // why it did not serve when it was tried last; nil: it did
}

// lookForChromium looks once whether there is a Chromium, and logs in one line what
// to do if there is none.
func lookForChromium(cfg chromium.Config, supervisor *chromium.Supervisor, log *slog.Logger) *installation {
	c := &installation{cfg: cfg, supervisor: supervisor}
	switch {
	case cfg.Disabled:
		log.Info("Chromium is switched off by browser.disabled")
	case cfg.Attach:
		log.Info("Chromium is the one that you have open (browser.attach)")
	case cfg.Endpoint != "":
		log.Info("Chromium is reached at browser.endpoint", "host", hostOf(cfg.Endpoint))
	default:
		found, err := chromium.Find(cfg)
		if err == nil {
			err = chromium.CanSandbox(cfg)
		}
		var e *protocol.Error
		switch {
		case err == nil:
			log.Info("Chromium found", "path", found.Path, "product", found.Product)
		case errors.As(err, &e):
			log.Warn("no Chromium: "+e.Message, "next", e.Data().Next)
		default:
			log.Warn("no Chromium", "error", err)
		}
	}
	return c
}

// hostOf returns what may be said of an endpoint: its path and query may hold a token.
func hostOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}

// missing says why there is no Chromium to try, nil if there may be one. One
// that runs needs no program any more.
func (c *installation) missing() error {
	if c.cfg.Disabled {
		return protocol.Errorf(protocol.ChromiumUnavailable, "Chromium is switched off by browser.disabled").
			Then("set browser.disabled to false, or use source auto")
	}
	if c.cfg.Endpoint != "" || c.supervisor.Running() {
		return nil
	}
	if _, err := chromium.Find(c.cfg); err != nil {
		return err
	}
	return chromium.CanSandbox(c.cfg)
}

// told keeps how the last try went. A try that was given up says nothing.
func (c *installation) told(err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || protocol.CodeOf(err) == protocol.WaitingForConsent {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = err
}

const (
	// startPatience is how long a command that can do without Chromium waits for it to
	// start: half of the time that it has at most, but for slowStart, which a cold disk
	// and a busy machine may take.
	startPatience = 10 * time.Second
	// slowStart is how long a start may take that nobody need hear of.
	slowStart = 5 * time.Second
)

var errStarting = protocol.Errorf(protocol.ChromiumUnavailable, "Chromium was started and does not answer yet").
	Then("browserd doctor says what is slow or missing; the next open tries Chromium again")

// patient is ctx for a command that can do without Chromium: it ends with errStarting
// where Chromium does not run when the patience with its start is over.
func (c *installation) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := startPatience
	if end, ok := ctx.Deadline(); ok {
		patience = min(patience, max(slowStart, time.Until(end)/2))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := time.AfterFunc(patience-c.supervisor.Starting(), func() {
		if !c.supervisor.Running() {
			cancel(errStarting)
		}
	})
	return ctx, func() {
		over.Stop()
		cancel(nil)
	}
}

// source reports whether Chromium works now.
func (c *installation) source() server.Source {
	err := c.missing()
	if err == nil && !c.supervisor.Running() {
		if err = c.supervisor.Failed(); c.supervisor.Starting() > slowStart {
			err = errStarting
		}
	}
	if err == nil {
		c.mu.Lock()
		err = c.last
		c.mu.Unlock()
	}
	s := server.Source{Name: "chromium", OK: err == nil}
	var e *protocol.Error
	switch {
	case errors.As(err, &e):
		s.Why = e.Message
	case err != nil:
		s.Why = err.Error()
	}
	return s
}

// state is source for the command status.
func (c *installation) state() fallback.SourceState {
	s := c.source()
	return fallback.SourceState{Source: s.Name, OK: s.OK, Why: s.Why}
}

// sourcesOf says which sources work now, the preferred one first.
func sourcesOf(c *installation, l *fallback.SourceChain) func() []server.Source {
	return func() []server.Source {
		list := []server.Source{c.source()}
		for _, s := range l.States() {
			list = append(list, server.Source{Name: s.Source, OK: s.OK, Why: s.Why})
		}
		return list
	}
}

func names(sources []server.Source) []string {
	list := []string{}
	for _, s := range sources {
		if s.OK {
			list = append(list, s.Name)
		}
	}
	return list
}

// statusOf returns what status says about the running Chromium.
func statusOf(i chromium.Info) map[string]any {
	s := map[string]any{
		"running": i.Running, "launches": int(i.Generation), "product": i.Product, "path": i.Path, "sandbox": i.Sandbox,
	}
	if i.Attached != "" {
		s["attached"] = i.Attached
	}
	return s
}
