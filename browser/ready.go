package browser

import (
	"context"
	"slices"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/browser/throttle"
	"github.com/browserd/browserd/protocol"
)

// Stock says how browser contexts are made, and how many are ready before they
// are asked for. The zero value: none, with Chromium's own way out, and
// Chromium stays for as long as the daemon runs.
type Stock struct {
	// Way opens the way of a context through the egress proxy, which the context
	// closes when it ends; it is nobody's until ContextOptions.Bind. nil: a
	// context has Chromium's own way, which where there is an egress proxy leads
	// nowhere.
	Way func() (Way, error)
	// Ready contexts are kept, each with a page, while sessions use Chromium.
	Ready int
	// Idle is how long the ready contexts and Chromium stay when no session has a
	// context; 0: for ever.
	Idle time.Duration
	// Ahead launches Chromium at once, and again when it was lost, and never lets
	// it go for being idle.
	Ahead bool
}

// restockAfter is how long after a hand-out the next context is begun to be
// made: Chromium has the first commands of the session to work on before.
const restockAfter = 150 * time.Millisecond

// makeWithin is how long a context that nobody asked for yet may take to be made.
const makeWithin = 60 * time.Second

// spare is a context that is nobody's yet. It has never been anybody's: what a
// session leaves is thrown away.
type spare struct {
	done chan struct{} // closed when it is made, or could not be
	c    *Context
	err  error
}

// Keep has contexts made as s says from now on. Call it once, before the first
// NewContext.
func (b *Browser) Keep(s Stock) {
	b.stock = s
	if s.Ahead {
		b.chromium.OnLost(func(chromium.Generation, string) { b.ahead() })
		b.ahead()
	}
}

// ahead launches Chromium, and makes the contexts that are to be ready.
func (b *Browser) ahead() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.work.Go(func() {
			go inject()                        // as in connect
			if b.chromium.Warm(b.ctx) == nil { // what is wrong has been logged
				b.restock()
			}
		})
	}
}

// Close makes no more contexts, closes those that are ready, and waits for all
// that. What sessions have is theirs to close.
func (b *Browser) Close() {
	b.mu.Lock()
	b.closed = true
	left := b.spares
	b.spares = nil
	for _, t := range []*time.Timer{b.idle, b.soon} {
		if t != nil {
			t.Stop()
		}
	}
	b.mu.Unlock()
	b.stop()
	b.work.Wait()
	for _, s := range left {
		<-s.done
		if s.err == nil {
			s.c.discard()
		}
	}
}

// NewContext hands out a browser context with one page, about:blank, ready for
// commands: one that is ready, or a new one. emit is called with what happens,
// from the connection's reader: it must not block. Errors: invalid_params (the
// options), chromium_unavailable, timeout.
func (b *Browser) NewContext(ctx context.Context, o ContextOptions, emit func(typ string, fields map[string]any)) (*Context, error) {
	permissions, err := granted(o.Permissions)
	if err != nil {
		return nil, err
	}
	b.begin()
	c, err := b.next(ctx)
	if err == nil {
		if err = c.bind(ctx, o, permissions, throttle.Events(emit)); err != nil {
			c.discard()
		}
	}
	if err != nil {
		b.end()
		return nil, asUnavailable(err)
	}
	context.AfterFunc(c.life, b.end)
	b.restockSoon()
	return c, nil
}

// next is a context that nobody else has or will have.
func (b *Browser) next(ctx context.Context) (*Context, error) {
	for {
		b.mu.Lock()
		var s *spare
		if len(b.spares) > 0 {
			s = b.spares[0]
			b.spares = b.spares[1:]
		}
		b.mu.Unlock()
		if s == nil {
			return b.make(ctx)
		}
		select {
		case <-s.done:
		case <-ctx.Done():
			b.putBack(s)
			return nil, context.Cause(ctx)
		}
		if s.err == nil && s.c.fit() {
			return s.c, nil
		}
		if s.err == nil { // its browser was lost, or its page
			s.c.Close(ctx)
		}
	}
}

// fit says whether the context, and the page that it was made with, is still there.
func (c *Context) fit() bool {
	if c.gone() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tabs) == 1 && c.selected == c.tabs[0] && c.selected.life.Err() == nil
}

// putBack gives back a spare that nobody has touched.
func (b *Browser) putBack(s *spare) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed { // else it ends with Chromium
		b.spares = slices.Insert(b.spares, 0, s)
	}
}

// restockSoon has restock called when the hand-outs of now have been served.
func (b *Browser) restockSoon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.soon == nil {
		b.soon = time.AfterFunc(restockAfter, b.restock)
	}
}

// restock begins to make what is missing of the ready contexts.
func (b *Browser) restock() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.soon = nil
	if !b.stock.Ahead && (b.host == nil || b.host.conn.Err() != nil) {
		return // Chromium is launched for sessions alone
	}
	b.spares = slices.DeleteFunc(b.spares, func(s *spare) bool {
		select {
		case <-s.done:
			return s.err != nil || s.c.gone()
		default:
			return false
		}
	})
	for !b.closed && len(b.spares) < b.stock.Ready {
		s := &spare{done: make(chan struct{})}
		b.spares = append(b.spares, s)
		b.work.Go(func() {
			defer close(s.done)
			ctx, cancel := context.WithTimeout(b.ctx, makeWithin)
			defer cancel()
			s.c, s.err = b.make(ctx)
			switch {
			case s.err == nil:
				s.c.warmUp()
			case protocol.CodeOf(s.err) != protocol.ShuttingDown && b.ctx.Err() == nil:
				b.log.Debug("making a browser context ready", "error", s.err)
			}
		})
	}
}

// begin and end say that a session asks for a context, and that it has none any
// more.
func (b *Browser) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inUse++
	if b.idle != nil {
		b.idle.Stop()
	}
}

func (b *Browser) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inUse--
	if b.inUse > 0 || b.stock.Idle <= 0 || b.stock.Ahead || b.closed {
		return
	}
	if b.idle == nil {
		b.idle = time.AfterFunc(b.stock.Idle, b.rest)
		return
	}
	b.idle.Reset(b.stock.Idle)
}

// rest lets Chromium go, with the contexts that are ready, where no session has
// one.
func (b *Browser) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inUse > 0 || b.closed {
		return
	}
	for _, s := range b.spares {
		select {
		case <-s.done:
		default: // it would launch Chromium again
			b.idle.Reset(b.stock.Idle)
			return
		}
	}
	if !b.chromium.StopIdle() { // whoever asked for it has given up
		b.idle.Reset(b.stock.Idle)
		return
	}
	b.spares = nil
	// Its connection is good until it has closed: a restock would make another context,
	// and launch Chromium for nobody.
	b.host = nil
	if b.soon != nil {
		b.soon.Stop()
		b.soon = nil
	}
}
