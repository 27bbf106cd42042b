package session

import (
	"context"
	"sync"

	"github.com/browserd/browserd/protocol"
)

// turns is the queue of a session. It gives the turn to one holder at a time, in the order
// in which turns were taken. While the holder lends its turn (Yield), those behind it that
// only read run, up to the first that does not.
type turns struct {
	mu     sync.Mutex
	queue  []*Turn
	holder *Turn // an element of the queue; nil if the holder lends its turn and no reader is next
	limit  int
	closed bool
	empty  chan struct{} // closed when the queue is empty; nil: nobody waits for it
}

// Turn is a place in a session's queue. Taking one does not block; Wait blocks until its
// turn has come. Call End exactly once, at any time, to leave the queue. Only the goroutine
// that runs the command may call Wait, Yield and End.
type Turn struct {
	of       *turns
	reads    bool          // it may run while a turn before it is lent (Yield)
	yielding bool          // guarded by the mu of turns
	ready    chan struct{} // closed when the turn has come; Yield replaces it
}

// next gives the turn to the next in line if nobody holds it. The caller holds mu.
func (q *turns) next() {
	if q.holder != nil {
		return
	}
	before := false // whether one before it lends its turn
	for _, t := range q.queue {
		switch {
		case t.yielding:
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

// add is take for a caller that holds mu.
func (q *turns) add(reads bool) (*Turn, error) {
	if !q.closed && len(q.queue) > q.limit {
		return nil, protocol.Errorf(protocol.RateLimited, "%d commands of this session wait already", len(q.queue)-1).
			With("retry_after_s", 1).With("limit", q.limit).Then("wait for answers before sending more commands to this session")
	}
	return q.append(reads)
}

// append adds a turn, whatever the limit. The caller holds mu.
func (q *turns) append(reads bool) (*Turn, error) {
	if q.closed {
		return nil, errClosed()
	}
	t := &Turn{of: q, reads: reads, ready: make(chan struct{})}
	q.queue = append(q.queue, t)
	q.next()
	return t, nil
}

// takeUnlimited is take without the limit, for a person who takes over.
func (q *turns) takeUnlimited() (*Turn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.append(false)
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

// Wait returns when the turn has come, or ctx's cause if ctx ends first.
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

// Yield runs pause and lends the turn meanwhile to those behind it that only read. It takes
// the turn back before anybody else gets it. pause must not use anything that requires the
// turn. If ctx ends before the turn is back, Yield returns ctx's error, and the caller does
// not hold the turn.
func (t *Turn) Yield(ctx context.Context, pause func()) error {
	q := t.of
	q.mu.Lock()
	t.yielding, t.ready, q.holder = true, make(chan struct{}), nil
	q.next()
	q.mu.Unlock()
	pause()
	q.mu.Lock()
	t.yielding = false
	q.next()
	q.mu.Unlock()
	return t.Wait(ctx)
}

// End gives up the turn, or the place in the queue. The next in line gets the turn.
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
		if len(q.queue) == 0 && q.empty != nil {
			close(q.empty)
			q.empty = nil
		}
		q.next()
		return
	}
}

// waiting returns the number of turns taken, including the holder's.
func (q *turns) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue)
}

// close makes take fail from now on.
func (q *turns) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// drain returns when nobody holds a turn or waits for one, or when ctx ends. Call close
// before it.
func (q *turns) drain(ctx context.Context) {
	q.mu.Lock()
	if len(q.queue) == 0 {
		q.mu.Unlock()
		return
	}
	if q.empty == nil {
		q.empty = make(chan struct{})
	}
	empty := q.empty
	q.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}

func errClosed() error {
	return protocol.Errorf(protocol.SessionNotFound, "the session is closed")
}
