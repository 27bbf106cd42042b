package fleet

import (
	"sync"
	"time"
)

// instant is one reading of a node's two clocks.
type instant struct {
	mono time.Duration // since the node started, by the monotonic clock, which nobody sets
	wall time.Time     // the time of day
}

// clock reads a node's clocks. Tests pass their own.
type clock func() instant

func machineClock() clock {
	began := time.Now()
	return func() instant {
		now := time.Now()
		return instant{now.Sub(began), now.Round(0)}
	}
}

// lease is how long the node may act. Any goroutine may call its methods.
type lease struct {
	mu      sync.Mutex
	granted bool    // a heartbeat was answered
	sent    instant // when the last answered heartbeat was sent
	// heldSince is when the node began to hold its lease without a gap, by the monotonic clock.
	heldSince time.Duration
}

// declareLostAfter is how long a node must have held its lease before it declares another node lost.
// When the database comes back, all leases have expired, and each node needs a moment to renew its own.
const declareLostAfter = 5 * time.Second

// extend renews the lease. sent is when the heartbeat was sent that the database has answered.
func (l *lease) extend(sent instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.granted || sent.mono-l.sent.mono >= leaseDuration {
		l.heldSince = sent.mono
	}
	l.sent, l.granted = sent, true
}

// continuousSince returns heldSince.
func (l *lease) continuousSince() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heldSince
}

// heldFor reports whether the node held its lease without a gap for at least d. The lease may have
// expired since.
func (l *lease) heldFor(now instant, d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.granted && now.mono-l.heldSince >= d
}

// held reports whether the node may act. The time of day ends a lease too: the monotonic clock of a
// machine stops while the machine is suspended. If somebody only set the time of day, the next
// heartbeat renews the lease.
func (l *lease) held(now instant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.granted && now.mono-l.sent.mono < leaseDuration && now.wall.Sub(l.sent.wall) < leaseDuration
}
