package fallback

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

const (
	// tripAfter failures in a row a source is left alone.
	tripAfter = 3
	// restFor is how long a source is left alone at first; each further failure
	// doubles it, up to longestRest.
	restFor     = 30 * time.Second
	longestRest = 10 * time.Minute
)

// Breaker leaves a source alone that keeps failing: after tripAfter failures in
// a row nobody asks it for a while, then one asks, and what that one learns
// decides. Any goroutine may use it. The zero value is closed.
type Breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time // not asked before; zero: closed
	trying   bool      // one is asking, after the rest
	now      func() time.Time
}

func (b *Breaker) clock() time.Time {
	if b.now != nil {
		return b.now()
	}
	return time.Now()
}

// Allow says whether the source may be asked now; who is allowed must call
// Done. Otherwise wait is how long it is still left alone.
func (b *Breaker) Allow() (ok bool, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return true, 0
	}
	if wait := b.until.Sub(b.clock()); wait > 0 {
		return false, wait
	}
	if b.trying {
		return false, time.Second
	}
	b.trying = true
	return true, 0
}

// Done says how the asking went. rest, where it is above 0, is how long the
// source itself asks to be left alone (Retry-After): then one failure is enough.
func (b *Breaker) Done(failed bool, rest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	if !failed {
		b.failures, b.until = 0, time.Time{}
		return
	}
	b.failures++
	over := b.failures - tripAfter
	switch {
	case rest > 0:
		b.until = b.clock().Add(min(rest, longestRest))
	case over >= 0:
		b.until = b.clock().Add(min(restFor<<min(over, 8), longestRest))
	}
}

// Guard asks the reader by ask, unless it is left alone now: then the error is
// rate_limited, with details.retry_after_s. What became of it is told to b.
func (b *Breaker) Guard(ctx context.Context, ask func() error) error {
	ok, wait := b.Allow()
	if !ok {
		after := int(wait.Seconds()) + 1
		return protocol.Errorf(protocol.RateLimited, "the reader failed too often and is left alone for %d s", after).With("retry_after_s", after)
	}
	err := errors.New("it did not come back") // where it panics
	defer func() { b.Done(readerFailed(ctx, err)) }()
	err = ask()
	return err
}

// State is closed, open (left alone for wait) or half-open (the next who asks decides).
func (b *Breaker) State() (state string, failures int, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return "closed", b.failures, 0
	}
	if wait := b.until.Sub(b.clock()); wait > 0 {
		return "open", b.failures, wait
	}
	return "half-open", b.failures, 0
}

// readerFailed says whether an error speaks against the reader itself, and how
// long it asks to be left alone.
func readerFailed(ctx context.Context, err error) (failed bool, rest time.Duration) {
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return false, 0
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		return true, 0
	}
	switch s := e.Details["retry_after_s"].(type) {
	case int:
		rest = time.Duration(s) * time.Second
	case float64:
		rest = time.Duration(s * float64(time.Second))
	}
	switch e.Code {
	case protocol.PolicyDenied, protocol.InvalidParams, protocol.Cancelled, protocol.TooLarge:
		return false, 0
	}
	if e.Details["reason"] == "reader_refused" {
		return false, 0 // this page, not every one
	}
	return true, rest
}
