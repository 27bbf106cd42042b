package person

import (
	"context"
	"sync"
)

// Queue sends a person's acts to a tab, in their order, without blocking who receives them.
// Acts that wait are merged where that loses nothing (Act.Merge).
//
// A move waits for the move before it, since Chromium handles at most one per frame. Other acts
// do not wait, nor do the moves before them: Chromium keeps their order.
type Queue struct {
	mu    sync.Mutex
	acts  []Act
	wake  chan struct{} // 1: an act was added
	stop  context.CancelFunc
	ended chan struct{}
}

// maxWaiting is how many acts may wait for a page that does not answer. Further ones are
// dropped.
const maxWaiting = 1000

// NewQueue returns a queue for the tab, until ctx ends or Close is called. enter is called before
// each act, and leave after it; if the person may not do it, that act and all that wait are
// dropped. failed is called with errors.
func NewQueue(ctx context.Context, tab *Tab, enter func(context.Context, *Act) (leave func(), ok bool), failed func(error)) *Queue {
	ctx, stop := context.WithCancel(ctx)
	q := &Queue{wake: make(chan struct{}, 1), stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(q.ended)
		var settled <-chan struct{} // nil: nothing waits for a move
		for ctx.Err() == nil {
			select {
			case <-q.wake:
			case <-settled:
				settled = nil
			case <-ctx.Done():
				return
			case <-tab.life.Done():
				return
			}
			for ctx.Err() == nil {
				if settled = nil; q.onlyMoves() {
					if settled = unsettled(tab); settled != nil {
						break
					}
				}
				a, ok := q.next()
				if !ok {
					break
				}
				leave, ok := enter(ctx, &a)
				if !ok {
					q.drop()
					break
				}
				err := tab.Input(a)
				leave()
				if err != nil {
					failed(err)
				}
			}
		}
	}()
	return q
}

// unsettled returns Tab.settled, or nil if that is closed.
func unsettled(tab *Tab) <-chan struct{} {
	settled := tab.settled()
	select {
	case <-settled:
		return nil
	default:
		return settled
	}
}

// Put adds an act. It never blocks.
func (q *Queue) Put(a Act) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.acts); n > 0 && q.acts[n-1].Merge(&a) || n >= maxWaiting {
		return
	}
	q.acts = append(q.acts, a)
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// onlyMoves reports whether there are acts, and all of them are moves.
func (q *Queue) onlyMoves() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.acts {
		if !q.acts[i].Moves() {
			return false
		}
	}
	return len(q.acts) > 0
}

func (q *Queue) next() (Act, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.acts) == 0 {
		return Act{}, false
	}
	a := q.acts[0]
	q.acts = q.acts[1:]
	return a, true
}

// drop removes all acts that wait.
func (q *Queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.acts = nil
}

// Close ends the queue, and waits for that.
func (q *Queue) Close() {
	q.stop()
	<-q.ended
}
