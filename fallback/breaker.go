package fallback

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

const (
	// maxFailures is how many failures in a row open the breaker.
	maxFailures = 3
	// firstPause is how long the breaker is open at first. Each further failure doubles
	// it, up to maxPause.
	firstPause = 30 * time.Second
	maxPause   = 10 * time.Minute
)

// Breaker is a circuit breaker for a source that keeps failing. After maxFailures
// failures in a row it is open and no call is allowed for a while; then it is half-open
// and one call is allowed, whose result closes or opens it. Any goroutine may use it. The
// zero value is closed.
type Breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time        // no call is allowed before; zero if closed
	trying   bool             // the one call of half-open is under way
	now      func() time.Time // nil for time.Now; tests set it
}

func (b *Breaker) clock() time.Time {
	if b.now != nil {
		return b.now()
	}
	return time.Now()
}

// Allow reports whether a call is allowed now. If it is, the caller must call Done after
// it; if not, wait is how long the breaker stays open.
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

// Done records the result of a call that was allowed. If retryAfter is above 0, the source
// itself asked for that pause (Retry-After), and one failure opens the breaker.
func (b *Breaker) Done(failed bool, retryAfter time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	if !failed {
		b.failures, b.until = 0, time.Time{}
		return
	}
	b.failures++
	over := b.failures - maxFailures
	switch {
	case retryAfter > 0:
		b.until = b.clock().Add(min(retryAfter, maxPause))
	case over >= 0:
		b.until = b.clock().Add(min(firstPause<<min(over, 8), maxPause))
	}
}

// Guard calls ask, which calls the reader, and records its result. If the breaker is open
// it does not call ask; the error is rate_limited with details.retry_after_s.
func (b *Breaker) Guard(ctx context.Context, ask func() error) error {
	ok, wait := b.Allow()
	if !ok {
		after := int(wait.Seconds()) + 1
		return protocol.Errorf(protocol.RateLimited, "the reader failed too often: it is not asked again for %d s", after).With("retry_after_s", after)
	}
	err := errors.New("the reader call panicked") // replaced when ask returns
	defer func() { b.Done(readerFailed(ctx, err)) }()
	err = ask()
	return err
}

// State returns closed, open or half-open, the failures in a row, and how long the
// breaker stays open.
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

// readerFailed reports whether an error is the fault of the reader itself, and the pause
// that the reader asked for.
func readerFailed(ctx context.Context, err error) (failed bool, retryAfter time.Duration) {
	if err == nil || errors.Is(ctx.Err(), context.Canceled) {
		return false, 0
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		return true, 0
	}
	switch s := e.Details["retry_after_s"].(type) {
	case int:
		retryAfter = time.Duration(s) * time.Second
	case float64:
		retryAfter = time.Duration(s * float64(time.Second))
	}
	switch e.Code {
	case protocol.PolicyDenied, protocol.InvalidParams, protocol.Cancelled, protocol.TooLarge:
		return false, 0
	}
	if e.Details["reason"] == "reader_refused" {
		return false, 0 // it refuses this page only
	}
	return true, retryAfter
}
