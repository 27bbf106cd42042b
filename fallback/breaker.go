package fallback

import (
	"sync"
	"time"
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
