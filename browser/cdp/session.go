package cdp

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto"
	typed "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/browserd/browserd/telemetry"
)

// Session sends commands to one CDP session of a [Conn]. Any goroutine may use it.
// It is a Session of cdproto's package cdp, so that commands and results are typed:
//
//	r, err := cdproto.Call(ctx, s, page.Navigate, page.NavigateParams{URL: url})
type Session struct {
	conn *Conn
	id   target.SessionID
}

var _ typed.Session = (*Session)(nil)

// ID returns the id of the session, "" for the browser.
func (s *Session) ID() target.SessionID { return s.id }

// Conn returns the connection that the session is on.
func (s *Session) Conn() *Conn { return s.conn }

// Call sends a command, waits for its answer and decodes it into result, which
// may be nil. The error wraps an *Error where Chromium refused, ErrGone,
// ErrDetached, or ctx.Err() where the caller gave up: the command may then
// still take effect.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return s.Send(method, params).Wait(ctx, result)
}

// Send hands a command to the writer and returns at once. Chromium
// gets commands in the order of the calls of Send, and works on those of one
// session in that order, so commands that depend on each other only by order
// cost one round trip together. [Pending.Wait] returns the failure; it need not be
// called.
func (s *Session) Send(method string, params any) *Pending {
	c := s.conn
	p := &Pending{conn: c, session: s.id, method: method, sent: time.Now(), reply: make(chan reply, 1)} // 1: the answer never waits for the caller
	m := &Message{SessionID: s.id, Method: cdproto.MethodType(method)}
	switch params := params.(type) {
	case nil:
	case jsonv2.Value:
		m.Params = params
	default:
		b, err := jsonv2.Marshal(params, chromedp.DefaultMarshalOptions)
		if err != nil {
			p.reply <- reply{err: fmt.Errorf("encoding parameters: %w", err)}
			return p
		}
		m.Params = b
	}

	c.mu.Lock()
	if c.err != nil {
		p.reply <- reply{err: c.err}
		c.mu.Unlock()
		return p
	}
	c.lastID++
	p.id, m.ID = c.lastID, c.lastID
	c.pending[p.id] = p
	c.outbox = append(c.outbox, m)
	c.mu.Unlock()
	select {
	case c.wakeWriter <- struct{}{}:
	default: // the writer has not looked yet since the last signal
	}
	return p
}

// Release has Chromium let go of remote objects, which it holds until then or until their document is left
// (Runtime.releaseObject), and does not wait. Commands that were sent before still find them. An empty id is none.
func (s *Session) Release(objects ...runtime.RemoteObjectID) {
	for _, id := range objects {
		if id != "" {
			s.Send(runtime.ReleaseObject.Method, runtime.ReleaseObjectParams{ObjectID: id})
		}
	}
}

// Drop fails every call under way on the session with err, for a page that has
// crashed: Chromium does not answer its calls.
func (s *Session) Drop(err error) { s.conn.drop(s.id, err) }

// Pending is a command that was sent and whose answer nobody has taken yet.
type Pending struct {
	conn    *Conn
	id      int64
	session target.SessionID
	method  string
	sent    time.Time
	reply   chan reply
}

// Session returns the session that the command was sent to.
func (p *Pending) Session() *Session { return p.conn.Session(p.session) }

// abandon throws the answer away, since ctx has ended.
func (p *Pending) abandon(ctx context.Context) error {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	delete(p.conn.pending, p.id)
	return fmt.Errorf("%s: %w", p.method, ctx.Err())
}

type reply struct {
	result jsonv2.Value
	err    error
}

// Wait waits for the answer and decodes it into result, which may be nil; a
// *jsonv2.Value gets it as it came. The errors are those of Call. When ctx ends
// first the answer is thrown away. Call it once at most.
func (p *Pending) Wait(ctx context.Context, result any) error { return p.WaitWithin(ctx, ctx, result) }

// AnsweredWithin waits at most d for the answer, and leaves it to Wait. False: it has not come, or ctx has ended.
func (p *Pending) AnsweredWithin(ctx context.Context, d time.Duration) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case r := <-p.reply:
		p.reply <- r
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// WaitAll waits for every answer, once, and returns the first error.
func WaitAll(ctx context.Context, pending []*Pending) error {
	var first error
	for _, p := range pending {
		if err := p.Wait(ctx, nil); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// WaitWithin is Wait that also returns when life ends, with the error of life.
func (p *Pending) WaitWithin(ctx, life context.Context, result any) error {
	err := p.wait(ctx, life, result)
	telemetry.Called(ctx, p.method, p.sent, err != nil)
	return err
}

func (p *Pending) wait(ctx, life context.Context, result any) error {
	var r reply
	select {
	case r = <-p.reply:
	case <-ctx.Done():
		return p.abandon(ctx)
	case <-life.Done():
		return p.abandon(life)
	}
	if r.err != nil {
		return fmt.Errorf("%s: %w", p.method, r.err)
	}
	switch result := result.(type) {
	case nil:
		return nil
	case *jsonv2.Value:
		*result = r.result
		return nil
	}
	if err := jsonv2.Unmarshal(r.result, result, chromedp.DefaultUnmarshalOptions); err != nil {
		return fmt.Errorf("%s: decoding the answer: %w", p.method, err)
	}
	return nil
}
