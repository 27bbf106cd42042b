package fleet

import (
	"sync"
	"time"
)

// reading is what a node's clocks say: the time since the node began, by a clock that nobody
// sets, and the time of day.
type reading struct {
	since time.Duration
	day   time.Time
}

// clock reads a node's clocks. Tests have their own.
type clock func() reading

func machineClock() clock {
	began := time.Now()
	return func() reading {
		now := time.Now()
		return reading{now.Sub(began), now.Round(0)}
	}
}

// lease is for how long the node may act. Any goroutine may call its methods.
type lease struct {
	mu   sync.Mutex
	from reading // before the beat that began it was sent
	any  bool
	// since is when the leases began of which each began before the last was over.
	since time.Duration
}

// steadyAfter is how long a node has its lease before it judges others. When the database
// comes back, all leases are over, and each node needs a moment to say that it lives.
const steadyAfter = 5 * time.Second

// extend begins the lease anew, for a beat that was sent then and answered.
func (l *lease) extend(sent reading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.any || sent.since-l.from.since >= leaseFor {
		l.since = sent.since
	}
	l.from, l.any = sent, true
}

// begun returns when the leases began of which each began before the last was over.
func (l *lease) begun() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.since
}

// steady reports whether the node has had its lease for that long, so that it may judge that others
// are lost.
func (l *lease) steady(now reading, long time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.any && now.since-l.since >= long
}

// held reports whether the node may act. The time of day ends a lease too: a machine that was
// suspended has a clock that did not run, and learns of it by the time of day. Where somebody
// only set that clock, the next beat puts it right.
func (l *lease) held(now reading) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.any && now.since-l.from.since < leaseFor && now.day.Sub(l.from.day) < leaseFor
}
