package cdp

import (
	"slices"
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
)

// subscriptionKey names the events of a subscription: one method of one session.
type subscriptionKey struct {
	session target.SessionID
	method  string
}

// subscription is a queue without limit between the reader goroutine, which
// never waits, and one consumer.
type subscription struct {
	out  chan jsonv2.Value
	wake chan struct{} // 1: a push during delivery is remembered
	stop chan struct{} // closed by cancel

	mu    sync.Mutex
	queue []jsonv2.Value
	ended bool
	once  sync.Once
}

// Subscribe returns a channel of the parameters of every event of the session
// with the method from now on, in order, and a func that ends it. The channel
// closes when it is cancelled, or, after all that has arrived was received, when the
// session or the connection ends; [Conn.SubscriptionError] says which. To watch a
// session for long, use [Conn.Handle], which needs no goroutine.
func (s *Session) Subscribe(method string) (<-chan jsonv2.Value, func()) {
	sub := &subscription{out: make(chan jsonv2.Value), wake: make(chan struct{}, 1), stop: make(chan struct{})}
	key := subscriptionKey{s.id, method}
	c := s.conn
	c.mu.Lock()
	if c.err != nil {
		sub.ended = true
	} else {
		// A new slice: the reader goroutine ranges over the old one unlocked.
		c.subs[key] = append(slices.Clip(c.subs[key]), sub)
	}
	c.mu.Unlock()
	go sub.deliver()
	return sub.out, func() {
		sub.once.Do(func() {
			c.mu.Lock()
			rest := slices.DeleteFunc(slices.Clone(c.subs[key]), func(o *subscription) bool { return o == sub })
			if len(rest) > 0 {
				c.subs[key] = rest
			} else {
				delete(c.subs, key)
			}
			c.mu.Unlock()
			close(sub.stop)
		})
	}
}

func (s *subscription) push(v jsonv2.Value) {
	s.mu.Lock()
	s.queue = append(s.queue, v)
	s.mu.Unlock()
	s.ring()
}

func (s *subscription) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.ring()
}

func (s *subscription) ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *subscription) deliver() {
	defer close(s.out)
	for {
		s.mu.Lock()
		batch, ended := s.queue, s.ended
		s.queue = nil
		s.mu.Unlock()
		for _, v := range batch {
			select {
			case s.out <- v:
			case <-s.stop:
				return
			}
		}
		if ended && len(batch) == 0 {
			return
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-s.wake:
		case <-s.stop:
			return
		}
	}
}
