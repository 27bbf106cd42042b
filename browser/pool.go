package browser

import (
	"context"
	"slices"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/permission"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/browser/throttle"
	"github.com/browserd/browserd/protocol"
)

// Pool says how many browser contexts are made before a session asks for one, and how. The zero value: none, with
// Chromium's own egress, and Chromium stays for as long as the daemon runs.
type Pool struct {
	// Egress opens the egress proxy of a context, which the context closes when it ends. No session has it before
	// ContextOptions.Bind. nil: a context has Chromium's own egress, which reaches nothing where there is an egress proxy.
	Egress func() (Egress, error)
	// Ready is how many contexts are pooled, each with a page, while sessions use Chromium.
	Ready int
	// Idle is how long the pooled contexts and Chromium stay when no session has a context; 0: forever.
	Idle time.Duration
	// Ahead launches Chromium at once, and again when it was lost, and never lets it go for being idle.
	Ahead bool
	// Own makes contexts of Chromium's own context, the one whose data it keeps: one at a time.
	Own bool
}

// refillAfter is how long after a hand-out the pool begins to make the next context: Chromium works on the first
// commands of the session before.
const refillAfter = 150 * time.Millisecond

// makeWithin is how long a pooled context may take to be made.
const makeWithin = 60 * time.Second

// pooled is a context that no session has yet. None had it before: the context of a session that ends is closed.
type pooled struct {
	done chan struct{} // closed when it is made, or could not be
	c    *Context
	err  error
}

// StartPool has contexts made as p says from now on. Call it once, before the first NewContext.
func (b *Browser) StartPool(p Pool) {
	b.pool = p
	if p.Ahead {
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
			go targets.Inject()                // as in connect
			if b.chromium.Warm(b.ctx) == nil { // what is wrong has been logged
				b.refillPool()
			}
		})
	}
}

// Close makes no more contexts, closes those that are ready, and waits for all that. What sessions have is theirs to close.
func (b *Browser) Close() {
	b.mu.Lock()
	b.closed = true
	left := b.pooled
	b.pooled = nil
	for _, t := range []*time.Timer{b.idle, b.refill} {
		if t != nil {
			t.Stop()
		}
	}
	b.mu.Unlock()
	b.stop()
	b.work.Wait()
	for _, s := range left {
		s.discard()
	}
}

// NewContext hands out a browser context with one page, about:blank, ready for commands: one that is ready, or a new
// one. emit is called with what happens, from the connection's reader: it must not block. Errors: invalid_params (the
// options), chromium_unavailable, timeout.
func (b *Browser) NewContext(ctx context.Context, o ContextOptions, emit func(typ string, fields map[string]any)) (*Context, error) {
	permissions, err := permission.Types(o.Permissions)
	if err != nil {
		return nil, err
	}
	b.acquire()
	c, err := b.next(ctx)
	if err == nil {
		if err = c.bind(ctx, o, permissions, throttle.Events(emit)); err != nil {
			c.discard()
		}
	}
	if err != nil {
		b.release()
		return nil, failure.Opening(err)
	}
	context.AfterFunc(c.life, b.release)
	b.refillSoon()
	return c, nil
}

// Expect has a context ready for each of n sessions that will soon ask for one, at most maxReady, beside those of
// Pool.Ready: Chromium is launched for them. Each session that asks makes it one less. With a smaller n, those that
// are too many are closed.
func (b *Browser) Expect(n int) {
	b.acquire()
	defer b.release() // Chromium goes, if nobody comes
	b.mu.Lock()
	b.coming = min(n, maxReady, b.pool.Ready*maxReady) // none where none are to be ready
	for keep := b.pool.Ready + b.coming; len(b.pooled) > keep && !b.closed; {
		last := len(b.pooled) - 1
		b.work.Go(b.pooled[last].discard)
		b.pooled = b.pooled[:last]
	}
	b.mu.Unlock()
	b.refillPool()
}

// discard closes the context as soon as it is made.
func (s *pooled) discard() {
	if <-s.done; s.err == nil {
		s.c.discard()
	}
}

// next returns a context that nobody else has or will have.
func (b *Browser) next(ctx context.Context) (*Context, error) {
	for {
		b.mu.Lock()
		var s *pooled
		if len(b.pooled) > 0 {
			s = b.pooled[0]
			b.pooled = b.pooled[1:]
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
		if s.err == nil && s.c.usable() {
			return s.c, nil
		}
		if s.err == nil { // its browser was lost, or its page
			s.c.Close(ctx)
		}
	}
}

// usable reports whether the context, and the page that it was made with, is still there.
func (c *Context) usable() bool {
	gone := c.gone()
	c.mu.Lock()
	defer c.mu.Unlock()
	return !gone && len(c.tabs) == 1 && c.selected == c.tabs[0] && c.selected.life.Err() == nil
}

// putBack gives back a pooled context that was not handed out.
func (b *Browser) putBack(s *pooled) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed { // else it ends with Chromium
		b.pooled = slices.Insert(b.pooled, 0, s)
	}
}

// refillSoon has refill called when the contexts that are handed out now have been served.
func (b *Browser) refillSoon() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.coming = max(0, b.coming-1) // it has come
	if b.refill == nil {
		b.refill = time.AfterFunc(refillAfter, b.refillPool)
	}
}

// refillPool begins to make the contexts that the pool lacks.
func (b *Browser) refillPool() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill = nil
	if !b.pool.Ahead && b.coming == 0 && (b.host == nil || b.host.conn.Err() != nil) {
		return // Chromium is launched for sessions alone
	}
	b.pooled = slices.DeleteFunc(b.pooled, func(s *pooled) bool {
		select {
		case <-s.done:
			return s.err != nil || s.c.gone()
		default:
			return false
		}
	})
	for !b.closed && len(b.pooled) < b.pool.Ready+b.coming {
		s := &pooled{done: make(chan struct{})}
		b.pooled = append(b.pooled, s)
		b.work.Go(func() {
			ctx, cancel := context.WithTimeout(b.ctx, makeWithin)
			defer cancel()
			var t *tab
			if s.c, s.err = b.make(ctx); s.err == nil {
				t, _ = s.c.ready(ctx, "")
			}
			close(s.done)
			b.mu.Lock() // whoever takes it sends its commands behind this
			defer b.mu.Unlock()
			switch {
			case t != nil && slices.Contains(b.pooled, s):
				t.warmUp()
			case s.err != nil && protocol.CodeOf(s.err) != protocol.ShuttingDown && b.ctx.Err() == nil:
				b.log.Debug("making a pooled browser context", "error", s.err)
			}
		})
	}
}

// acquire and release say that a session asks for a context, and that it has none any more.
func (b *Browser) acquire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inUse++
	if b.idle != nil {
		b.idle.Stop()
	}
}

func (b *Browser) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inUse--
	if b.inUse > 0 || b.pool.Idle <= 0 || b.pool.Ahead || b.closed {
		return
	}
	if b.idle == nil {
		b.idle = time.AfterFunc(b.pool.Idle, b.stopIdle)
		return
	}
	b.idle.Reset(b.pool.Idle)
}

// stopIdle stops Chromium, with the pooled contexts, where no session has a context.
func (b *Browser) stopIdle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inUse > 0 || b.closed {
		return
	}
	for _, s := range b.pooled {
		select {
		case <-s.done:
		default: // it would launch Chromium again
			b.idle.Reset(b.pool.Idle)
			return
		}
	}
	if !b.chromium.StopIdle() { // whoever asked for it has given up
		b.idle.Reset(b.pool.Idle)
		return
	}
	b.pooled = nil
	// Its connection is good until it has closed: a refill would make another context, and launch Chromium for nobody.
	b.host = nil
	if b.refill != nil {
		b.refill.Stop()
		b.refill = nil
	}
}
