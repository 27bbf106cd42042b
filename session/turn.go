package session

import (
	"context"
	"sync"

	"github.com/browserd/browserd/protocol"
)

// turns gives one holder at a time its turn, in the order in which the turns
// were taken. While a holder rests, those behind it that only read have theirs, up to
// the first that does not.
type turns struct {
	mu     sync.Mutex
	queue  []*Turn
	holder *Turn // one of the queue; nil: it rests, and nobody may go before it
	limit  int
	shut   bool
}

// Turn is a place in a session's queue. Taking one never blocks; Wait blocks
// until it has come; End gives it up, at any time, once. Wait, Rest and End are for
// the one goroutine that runs the command.
type Turn struct {
	of      *turns
	reads   bool          // it may come while one before it rests
	resting bool          // guarded by the mu of turns
	ready   chan struct{} // closes when the turn has come; Rest makes another
}

// next gives the turn to whom it belongs, where nobody holds it. The caller has locked mu.
func (q *turns) next() {
	if q.holder != nil {
		return
	}
	before := false // one that rests
	for _, t := range q.queue {
		switch {
		case t.resting:
			before = true
			continue
		case before && !t.reads:
			return
		}
		q.holder = t
		close(t.ready)
		return
	}
}

func (q *turns) take(reads bool) (*Turn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.add(reads)
}

// add is take for a caller that has locked mu.
func (q *turns) add(reads bool) (*Turn, error) {
	if q.shut {
		return nil, errClosed()
	}
	if len(q.queue) > q.limit {
		return nil, protocol.Errorf(protocol.RateLimited, "%d commands of this session wait already", len(q.queue)-1).
			With("retry_after_s", 1).With("limit", q.limit).Then("wait for answers before sending more commands to this session")
	}
	t := &Turn{of: q, reads: reads, ready: make(chan struct{})}
	q.queue = append(q.queue, t)
	q.next()
	return t, nil
}

func (q *turns) takeIdle() *Turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) > 0 {
		return nil
	}
	t, err := q.add(false)
	if err != nil {
		return nil
	}
	return t
}

// Wait returns when the turn has come, or ctx's error when it ends before.
func (t *Turn) Wait(ctx context.Context) error {
	select {
	case <-t.ready:
		return nil
	default:
	}
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Rest lends the turn to those behind it that only read while pause runs, and takes it
// back before anybody else gets it; while it rests its holder touches nothing that belongs
// to the turn. Where ctx ends before the turn has come back, the error is ctx's, and the
// caller does not hold it.
func (t *Turn) Rest(ctx context.Context, pause func()) error {
	q := t.of
	q.mu.Lock()
	t.resting, t.ready, q.holder = true, make(chan struct{}), nil
	q.next()
	q.mu.Unlock()
	pause()
	q.mu.Lock()
	t.resting = false
	q.next()
	q.mu.Unlock()
	return t.Wait(ctx)
}

// End gives the turn up, whether it had come or not; the next in line gets it.
func (t *Turn) End() {
	q := t.of
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, o := range q.queue {
		if o != t {
			continue
		}
		q.queue = append(q.queue[:i], q.queue[i+1:]...)
		if q.holder == t {
			q.holder = nil
		}
		q.next()
		return
	}
}

// waiting says how many turns are taken, the holder's included.
func (q *turns) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue)
}

// close lets nobody take a turn any more.
func (q *turns) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
}

func errClosed() error {
	return protocol.Errorf(protocol.SessionNotFound, "the session is closed")
}
