package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/browserd/browserd/protocol"
)

// ErrGone is in the chain of every error that is due to the end of a Conn: the
// browser died, its pipe or websocket closed, or the daemon closed it. Such an
// error has the code browser_lost, and the cause is in its chain too.
var ErrGone = errors.New("the connection to Chromium is gone")

// ErrDetached is in the chain of the error of every call that was under way on
// a CDP session when the session ended (Target.detachedFromTarget). Chromium
// leaves such calls unanswered.
var ErrDetached = errors.New("the CDP session ended")

// writeLimit is how long one message may take to be handed to Chromium, which
// reads its pipe on a thread of its own: when it does not for so long, it is
// stopped or stuck, and is treated as gone.
const writeLimit = 10 * time.Second

// Conn is one CDP connection to a browser: commands with ids, answers and
// events, for the browser itself and for any number of flattened sessions.
//
// All methods may be called from any goroutine. One reader goroutine, which
// ends with the transport, hands out answers and runs the event callbacks, so
// the callbacks of all sessions run one after the other, in the order in which
// Chromium sent the events and in order with the answers. One writer goroutine
// writes, so that nobody waits for a browser that does not read.
type Conn struct {
	transport chromedp.Transport
	read      chan struct{} // closed when the reader goroutine has ended
	wrote     chan struct{} // closed when the writer goroutine has ended
	done      chan struct{} // closed by lost
	stuck     time.Duration // writeLimit
	// more holds one signal for the writer: there is something to write.
	more  chan struct{}
	heard atomic.Uint64 // messages read so far

	mu       sync.Mutex
	err      error // not nil: gone
	lastID   int64
	pending  map[int64]*Pending
	handlers map[target.SessionID]EventFunc
	unknown  func(target.SessionID, string, jsonv2.Value)
	subs     map[subscribed][]*subscription
	waiting  []*cdproto.Message // to be written, in the order of Send
}

// EventFunc is told one event of one session: the CDP method name and the
// parameters as they came, which the callee may keep. It decodes what it needs
// itself, so that an enum value which a newer Chromium invents breaks nothing.
//
// It runs on the reader goroutine: it copies what it needs and returns. It may
// use Handle and Send. It must never wait: no Call, no Wait, no Close, no
// channel that may be full, for until it returns no answer and no event of any
// session is read.
type EventFunc func(method string, params jsonv2.Value)

// newConn starts to read from t and owns it from now on.
func newConn(t chromedp.Transport) *Conn {
	c := &Conn{
		transport: t,
		read:      make(chan struct{}),
		wrote:     make(chan struct{}),
		done:      make(chan struct{}),
		stuck:     writeLimit,
		more:      make(chan struct{}, 1),
		pending:   map[int64]*Pending{},
		handlers:  map[target.SessionID]EventFunc{},
		subs:      map[subscribed][]*subscription{},
	}
	go c.readAll()
	go c.writeAll()
	return c
}

// Session returns the session with the id, or the browser itself for "". It is
// only a name to send under: it costs nothing and needs no closing.
func (c *Conn) Session(id target.SessionID) *Session { return &Session{conn: c, id: id} }

// Handle makes f the one callback for the events of a session ("" for the
// browser's own), in place of the one before; nil removes it.
//
// No event of a new session is lost when Handle is called from the callback
// that is told Target.attachedToTarget on the parent session: that event comes
// before any event of the child, and no other is read until the callback has
// returned. A handler is removed after its session's Target.detachedFromTarget.
func (c *Conn) Handle(id target.SessionID, f EventFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f == nil {
		delete(c.handlers, id)
		return
	}
	c.handlers[id] = f
}

// HandleUnknown makes f the callback for events of sessions that have no
// handler; nil drops them. The rules of EventFunc hold.
func (c *Conn) HandleUnknown(f func(id target.SessionID, method string, params jsonv2.Value)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unknown = f
}

// Done is closed when the connection is gone, before any call fails for it.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil while the connection is good, and then the one error, with
// ErrGone in its chain, that every call gets.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ended is why a subscription's channel was closed.
func (c *Conn) ended() error {
	if err := c.Err(); err != nil {
		return err
	}
	return ErrDetached
}

// Close ends the connection and waits for its goroutines. A browser on a
// pipe exits when its pipe closes; one at an endpoint goes on.
func (c *Conn) Close() { c.closeFor(errors.New("closed by the daemon")) }

// closeFor is Close with a cause to be told.
func (c *Conn) closeFor(cause error) {
	c.lost(cause)
	<-c.read
	<-c.wrote
}

// lost marks the connection gone, once, and fails everything under way.
func (c *Conn) lost(cause error) {
	if errors.Is(cause, io.EOF) || errors.Is(cause, io.ErrUnexpectedEOF) {
		cause = fmt.Errorf("Chromium closed it (%w)", cause)
	}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	gone := &protocol.Error{
		Code:    protocol.BrowserLost,
		Message: fmt.Sprintf("the connection to Chromium is gone: %v", cause),
		Cause:   fmt.Errorf("%w: %w", ErrGone, cause),
	}
	if given := (silence{}); errors.As(cause, &given) {
		gone.With("cause", given.said)
	}
	c.err = gone
	err, pending, subs := c.err, c.pending, c.subs
	c.pending, c.subs, c.waiting = nil, nil, nil
	close(c.done)
	c.mu.Unlock()

	for _, p := range pending {
		p.reply <- reply{err: err}
	}
	for _, of := range subs {
		for _, s := range of {
			s.end()
		}
	}
	// Unblocks the reader, and a writer that waits for a stuck browser.
	c.transport.Close()
}

// writeAll writes what Send was given until the connection is gone.
func (c *Conn) writeAll() {
	defer close(c.wrote)
	watch := time.AfterFunc(writeLimit, func() { c.lost(fmt.Errorf("Chromium has read nothing for %v", c.stuck)) })
	watch.Stop() // until something is written
	for {
		select {
		case <-c.more:
		case <-c.done:
			return
		}
		for m := c.next(); m != nil; m = c.next() {
			watch.Reset(c.stuck)
			err := c.transport.Write(context.Background(), m)
			watch.Stop()
			if err != nil {
				c.lost(err)
				return
			}
		}
	}
}

// next takes the first message that is to be written; nil where there is none.
func (c *Conn) next() *cdproto.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.waiting = nil
		return nil
	}
	m := c.waiting[0]
	c.waiting[0] = nil
	c.waiting = c.waiting[1:]
	return m
}

func (c *Conn) readAll() {
	defer close(c.read)
	for {
		// A fresh message each time: the decoder would reuse the memory of
		// Params and Result, which have been handed out.
		var m cdproto.Message
		if err := c.transport.Read(context.Background(), &m); err != nil {
			// One message that Go's JSON refuses (a page can make an object
			// whose keys are equal once lone surrogates are replaced) was
			// read whole: it costs its own call, not the connection. Chromium
			// writes the id first, so it is known.
			if bad := (*jsonv2.SyntacticError)(nil); errors.As(err, &bad) {
				c.answer(m.ID, reply{err: fmt.Errorf("unreadable answer: %w", err)})
				continue
			}
			c.lost(err)
			return
		}
		c.heard.Add(1)
		switch {
		case m.ID != 0 && m.Error != nil:
			c.answer(m.ID, reply{err: m.Error})
		case m.ID != 0:
			c.answer(m.ID, reply{result: m.Result})
		case m.Method != "":
			c.event(&m)
		}
	}
}

// answer gives a reply to the call that waits for it, or to nobody when the
// call was abandoned.
func (c *Conn) answer(id int64, r reply) {
	c.mu.Lock()
	p := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if p != nil {
		p.reply <- r
	}
}

func (c *Conn) event(m *cdproto.Message) {
	c.mu.Lock()
	handle, unknown := c.handlers[m.SessionID], c.unknown
	subs := c.subs[subscribed{m.SessionID, string(m.Method)}]
	c.mu.Unlock()

	for _, s := range subs {
		s.push(m.Params)
	}
	switch {
	case handle != nil:
		handle(string(m.Method), m.Params)
	case unknown != nil:
		unknown(m.SessionID, string(m.Method), m.Params)
	}
	if m.Method == cdproto.EventTargetDetachedFromTarget {
		var e struct {
			SessionID target.SessionID `json:"sessionId"`
		}
		if jsonv2.Unmarshal(m.Params, &e) == nil && e.SessionID != "" {
			c.Handle(e.SessionID, nil)
			c.drop(e.SessionID, ErrDetached)
		}
	}
}

// drop fails the calls under way on a session and ends its subscriptions.
func (c *Conn) drop(id target.SessionID, err error) {
	var pending []*Pending
	var subs []*subscription
	c.mu.Lock()
	for n, p := range c.pending {
		if p.session == id {
			pending = append(pending, p)
			delete(c.pending, n)
		}
	}
	for k, of := range c.subs {
		if k.session == id {
			subs = append(subs, of...)
			delete(c.subs, k)
		}
	}
	c.mu.Unlock()
	for _, p := range pending {
		p.reply <- reply{err: err}
	}
	for _, s := range subs {
		s.end()
	}
}

// Session sends commands to one CDP session of a Conn. It is a [cdp.Session],
// so that commands and results are typed:
//
//	r, err := cdp.Call(ctx, s, page.Navigate, page.NavigateParams{URL: url})
type Session struct {
	conn *Conn
	id   target.SessionID
}

var _ cdp.Session = (*Session)(nil)

// ID returns the id of the session, "" for the browser.
func (s *Session) ID() target.SessionID { return s.id }

// Conn returns the connection that the session is on.
func (s *Session) Conn() *Conn { return s.conn }

// Call sends a command, waits for its answer and decodes it into result, which
// may be nil. The error wraps a *cdproto.Error where Chromium refused, ErrGone,
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
// cost one round trip together. A failure is told by Wait, which need not be
// called.
func (s *Session) Send(method string, params any) *Pending {
	c := s.conn
	p := &Pending{conn: c, session: s.id, method: method, reply: make(chan reply, 1)} // 1: the answer never waits for the caller
	m := &cdproto.Message{SessionID: s.id, Method: cdproto.MethodType(method)}
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
	c.waiting = append(c.waiting, m)
	c.mu.Unlock()
	select {
	case c.more <- struct{}{}:
	default: // the writer has not looked yet since the last signal
	}
	return p
}

// Drop fails every call under way on the session with err, for a page that
// Chromium said has crashed: it leaves their answers out.
func (s *Session) Drop(err error) { s.conn.drop(s.id, err) }

// Pending is a command that was sent.
type Pending struct {
	conn    *Conn
	id      int64
	session target.SessionID
	method  string
	reply   chan reply
}

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
func (p *Pending) Wait(ctx context.Context, result any) error { return p.wait(ctx, ctx, result) }

// wait is Wait that ends with life, too.
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
