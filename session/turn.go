package session

import (
	"context"
	"sync"

	"github.com/browserd/browserd/protocol"
)

// turns gives one holder at a time its turn, in the order in which the turns
// were taken.
type turns struct {
	mu    sync.Mutex
	queue []*Turn // the first holds the turn
	limit int
	shut  bool
}

// Turn is a place in a session's queue. Taking one never blocks; Wait blocks
// until it has come; End gives it up, at any time, once.
type Turn struct {
	of    *turns
	ready chan struct{}
}

func (q *turns) take() (*Turn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shut {
		return nil, errClosed()
	}
	if len(q.queue) > q.limit {
		return nil, protocol.Errorf(protocol.RateLimited, "%d commands of this session wait already", len(q.queue)-1).
			With("retry_after_s", 1).With("limit", q.limit).Then("wait for answers before sending more commands to this session")
	}
	t := &Turn{of: q, ready: make(chan struct{})}
	q.queue = append(q.queue, t)
	if len(q.queue) == 1 {
		close(t.ready)
	}
	return t, nil
}

func (q *turns) takeIdle() *Turn {
	q.mu.Lock()
	idle := len(q.queue) == 0
	q.mu.Unlock()
	if !idle {
		return nil
	}
	t, err := q.take()
	if err != nil {
		return nil
	}
	select {
	case <-t.ready:
		return t
	default: // another was faster
		t.End()
		return nil
	}
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
		if i == 0 && len(q.queue) > 0 {
			close(q.queue[0].ready)
		}
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
