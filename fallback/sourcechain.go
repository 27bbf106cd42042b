package fallback

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/browserd/browserd/protocol"
)

// Reader renders a page elsewhere. It returns the HTML and the URL after redirects. If
// it asks to be called later, the error is a *protocol.Error with
// details.retry_after_s. Any goroutine may call it.
type Reader interface {
	Rendered(ctx context.Context, url string) (html, finalURL string, err error)
}

// SourceChain is the sources of documents beside Chromium, in the order in which they are
// tried. All sessions of a daemon share one. Any goroutine may use it.
type SourceChain struct {
	cfg     Config
	reader  Reader // nil for none
	breaker Breaker
	memory  memoryBudget

	// ReadPDF makes a page of a PDF's bytes: HTML without script. nil: PDFs are downloads. It
	// is set before the first session.
	ReadPDF func(ctx context.Context, body []byte) (html string, err error)
}

// NewSourceChain returns the sources that cfg names. reader may be nil, for none.
func NewSourceChain(cfg Config, reader Reader) *SourceChain {
	return &SourceChain{cfg: cfg, reader: reader, memory: memoryBudget{limit: uint64(cfg.MemoryMB) << 20}}
}

// Breaker returns the circuit breaker of the reader. Every caller of the reader uses it.
func (c *SourceChain) Breaker() *Breaker { return &c.breaker }

// SourceState is the state of one source, for status and /readyz.
type SourceState struct {
	Source   string `json:"source"`
	OK       bool   `json:"ok"`
	Why      string `json:"why,omitempty"`
	Breaker  string `json:"breaker,omitempty"` // closed, open, half-open
	Failures int    `json:"failures,omitempty"`
	RetryIn  int    `json:"retry_in_s,omitempty"`
}

// States returns the state of the sources, in the order in which open tries them.
func (c *SourceChain) States() []SourceState {
	http := SourceState{Source: HTTP, OK: true, Breaker: "closed"}
	if !c.has(HTTP) {
		http = SourceState{Source: HTTP, Why: "fallback.order does not name it"}
	}
	jina := SourceState{Source: Jina}
	switch {
	case !c.has(Jina):
		jina.Why = "fallback.order does not name it"
	case c.reader == nil:
		jina.Why = "no reader is configured"
	default:
		state, failures, wait := c.breaker.State()
		jina.OK, jina.Breaker, jina.Failures = state != "open", state, failures
		if state == "open" {
			jina.RetryIn = int(wait.Seconds()) + 1
			jina.Why = fmt.Sprintf("paused after %d failures in a row", failures)
		}
	}
	return []SourceState{http, jina}
}

func (c *SourceChain) has(source string) bool { return slices.Contains(c.cfg.Order, source) }

// order returns the sources to try, in their order. source is what the client asked
// for: auto, http or jina. The error is unsupported or chromium_unavailable.
func (c *SourceChain) order(source string) ([]string, error) {
	if source == HTTP || source == Jina {
		if !c.has(source) {
			return nil, protocol.Errorf(protocol.Unsupported, "source %s is switched off by fallback.order", source).
				With("source", source).Then("use source auto, or add %s to fallback.order", source)
		}
		if source == Jina && c.reader == nil {
			return nil, protocol.Errorf(protocol.Unsupported, "source jina: no reader is configured").With("source", source).Then("use source auto")
		}
		return []string{source}, nil
	}
	var list []string
	for _, s := range []string{HTTP, Jina} {
		if c.has(s) && (s != Jina || c.reader != nil) {
			list = append(list, s)
		}
	}
	if len(list) == 0 {
		return nil, protocol.Errorf(protocol.ChromiumUnavailable, "there is no Chromium, and fallback.order has no other source that works").
			Then("install Chromium, or add http to fallback.order")
	}
	return list, nil
}

// read asks the reader for a page, if gate says that its address is public.
func (c *SourceChain) read(ctx context.Context, gate Gate, url string) (html, finalURL string, err error) {
	if err := gate.Public(ctx, url); err != nil {
		e := protocol.Errorf(protocol.PolicyDenied, "the reader only gets public addresses: %s", sentence(err)).With("reason", "not_public")
		var why *protocol.Error
		if errors.As(err, &why) && why.Details["host"] != nil {
			e.With("host", why.Details["host"])
		}
		return "", "", e.Then("use source http")
	}
	err = c.breaker.Guard(ctx, func() error {
		html, finalURL, err = c.reader.Rendered(ctx, url)
		return err
	})
	return html, finalURL, err
}
