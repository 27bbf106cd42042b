package fallback

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/browserd/browserd/protocol"
)

// Reader renders a page elsewhere and returns its HTML and the address that it
// is of. A failure that asks for patience is a *protocol.Error with
// details.retry_after_s.
type Reader interface {
	Rendered(ctx context.Context, url string) (html, finalURL string, err error)
}

// Ladder is what the sessions of a daemon share: the sources beside Chromium, how
// the reader has done lately, and the room for documents. Any goroutine may use it.
type Ladder struct {
	cfg    Config
	reader Reader
	rest   Breaker // of the reader
	room   room
}

// NewLadder returns the ladder of cfg. reader may be nil: there is none.
func NewLadder(cfg Config, reader Reader) *Ladder {
	return &Ladder{cfg: cfg, reader: reader, room: room{limit: uint64(cfg.MemoryMB) << 20}}
}

// Rest is what leaves the reader alone while it fails, for all who ask it.
func (l *Ladder) Rest() *Breaker { return &l.rest }

// SourceState is how a source does, for status and /readyz.
type SourceState struct {
	Source   string `json:"source"`
	OK       bool   `json:"ok"`
	Why      string `json:"why,omitempty"`
	Breaker  string `json:"breaker,omitempty"` // closed, open, half-open
	Failures int    `json:"failures,omitempty"`
	RetryIn  int    `json:"retry_in_s,omitempty"`
}

// States says how the sources do, http before jina as open takes them.
func (l *Ladder) States() []SourceState {
	http := SourceState{Source: HTTP, OK: true, Breaker: "closed"}
	if !l.has(HTTP) {
		http = SourceState{Source: HTTP, Why: "fallback.order does not name it"}
	}
	jina := SourceState{Source: Jina}
	switch {
	case !l.has(Jina):
		jina.Why = "fallback.order does not name it"
	case l.reader == nil:
		jina.Why = "no reader is configured"
	default:
		state, failures, wait := l.rest.State()
		jina.OK, jina.Breaker, jina.Failures = state != "open", state, failures
		if state == "open" {
			jina.RetryIn = int(wait.Seconds()) + 1
			jina.Why = fmt.Sprintf("left alone after %d failures in a row", failures)
		}
	}
	return []SourceState{http, jina}
}

func (l *Ladder) has(source string) bool { return slices.Contains(l.cfg.Order, source) }

// steps are the sources to try for what the client asked for, in their order.
func (l *Ladder) steps(source string) ([]string, error) {
	if source == HTTP || source == Jina {
		if !l.has(source) {
			return nil, protocol.Errorf(protocol.Unsupported, "source %s is switched off by fallback.order", source).
				With("source", source).Then("use source auto, or add %s to fallback.order", source)
		}
		if source == Jina && l.reader == nil {
			return nil, protocol.Errorf(protocol.Unsupported, "source jina: no reader is configured").With("source", source).Then("use source auto")
		}
		return []string{source}, nil
	}
	var steps []string
	for _, s := range []string{HTTP, Jina} {
		if l.has(s) && (s != Jina || l.reader != nil) {
			steps = append(steps, s)
		}
	}
	if len(steps) == 0 {
		return nil, protocol.Errorf(protocol.ChromiumUnavailable, "there is no Chromium, and fallback.order names no other source that works").
			Then("install Chromium, or add http to fallback.order")
	}
	return steps, nil
}

// read asks the reader for a page, where gate knows it to be public.
func (l *Ladder) read(ctx context.Context, gate Gate, url string) (html, finalURL string, err error) {
	if err := gate.Public(ctx, url); err != nil {
		e := protocol.Errorf(protocol.PolicyDenied, "the reader is given public addresses alone: %s", sentence(err)).With("reason", "not_public")
		var why *protocol.Error
		if errors.As(err, &why) && why.Details["host"] != nil {
			e.With("host", why.Details["host"])
		}
		return "", "", e.Then("use source http")
	}
	err = l.rest.Guard(ctx, func() error {
		html, finalURL, err = l.reader.Rendered(ctx, url)
		return err
	})
	return html, finalURL, err
}
