package cdp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/protocol"
)

// ErrGone is in the chain of every error that is due to the end of a [Conn]: the
// browser died, its pipe or WebSocket closed, or the daemon closed it. Such an
// error has the code browser_lost, and its cause is in its chain too.
var ErrGone = errors.New("the connection to Chromium is gone")

// ErrDetached is in the chain of the error of every call that was under way on
// a CDP session when the session ended (Target.detachedFromTarget). Chromium
// does not answer such calls.
var ErrDetached = errors.New("the CDP session ended")

// writeTimeout is how long it may take to hand one message to Chromium, which
// reads its pipe on a thread of its own. A browser that reads nothing for so
// long is stopped or stuck, and is treated as gone.
const writeTimeout = 10 * time.Second

// Conn is one CDP connection to a browser: commands with ids, answers and
// events, for the browser itself and for any number of flattened sessions.
//
// All methods may be called from any goroutine. One reader goroutine, which
// ends with the transport, hands out answers and runs the event callbacks, so
// the callbacks of all sessions run one after the other, in the order in which
// Chromium sent the events and in order with the answers. One writer goroutine
// writes, so that nobody waits for a browser that does not read.
type Conn struct {
	transport    Transport
	readerDone   chan struct{} // closed when the reader goroutine has ended
	writerDone   chan struct{} // closed when the writer goroutine has ended
	done         chan struct{} // closed by fail
	writeTimeout time.Duration
	// wakeWriter holds one signal for the writer: there is something to write.
	wakeWriter   chan struct{}
	messagesRead atomic.Uint64 // so far; counted by the reader goroutine

	mu       sync.Mutex
	err      error // not nil once the connection is gone
	lastID   int64
	pending  map[int64]*Pending
	handlers map[target.SessionID]EventFunc
	subs     map[subscriptionKey][]*subscription
	outbox   []*Message // to be written, in the order of Send
}

// EventFunc receives one event of one session: the CDP method name and the
// parameters as they came, which it may keep. It decodes what it needs itself,
// so that an enum value which a newer Chromium adds breaks nothing.
//
// It runs on the reader goroutine: it copies what it needs and returns. It may
// use Handle and Send. It must never wait: no Call, no Wait, no Close, no
// channel that may be full, because no answer and no event of any session is
// read until it returns.
type EventFunc func(method string, params jsonv2.Value)

// New starts to read from t and owns it from now on. The caller closes the Conn.
func New(t Transport) *Conn {
	c := &Conn{
		transport:    t,
		readerDone:   make(chan struct{}),
		writerDone:   make(chan struct{}),
		done:         make(chan struct{}),
		writeTimeout: writeTimeout,
		wakeWriter:   make(chan struct{}, 1),
		pending:      map[int64]*Pending{},
		handlers:     map[target.SessionID]EventFunc{},
		subs:         map[subscriptionKey][]*subscription{},
	}
	go c.readAll()
	go c.writeAll()
	return c
}

// Session returns the CDP session with the id, or the browser's own for "". It is
// only an address to send to: it costs nothing and needs no closing.
func (c *Conn) Session(id target.SessionID) *Session { return &Session{conn: c, id: id} }

// Handle makes f the one callback for the events of a session ("" for the
// browser's own), in place of the one before; nil removes it.
//
// No event of a new session is lost when Handle is called from the callback
// that receives Target.attachedToTarget on the parent session: that event comes
// before any event of the child, and no other is read until the callback has
// returned. A handler is removed after its session's Target.detachedFromTarget.
// Events of sessions that have no handler are dropped.
func (c *Conn) Handle(id target.SessionID, f EventFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f == nil {
		delete(c.handlers, id)
		return
	}
	c.handlers[id] = f
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

// SubscriptionError returns why a channel of [Session.Subscribe] was closed that
// nobody cancelled: the connection is gone, or its CDP session ended.
func (c *Conn) SubscriptionError() error {
	if err := c.Err(); err != nil {
		return err
	}
	return ErrDetached
}

// Sent returns how many commands were sent so far.
func (c *Conn) Sent() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastID
}

// Pending returns the methods of the calls that are under way, in no order.
func (c *Conn) Pending() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var methods []string
	for _, p := range c.pending {
		methods = append(methods, p.method)
	}
	return methods
}

// Close ends the connection and waits for its goroutines. A browser on a
// pipe exits when its pipe closes; one at an endpoint goes on.
func (c *Conn) Close() { c.CloseWithError(errors.New("closed by the daemon")) }

// CloseWithError is Close with the cause that the calls under way fail with.
func (c *Conn) CloseWithError(cause error) {
	c.fail(cause)
	<-c.readerDone
	<-c.writerDone
}

// fail marks the connection as gone, once, and fails every call under way.
func (c *Conn) fail(cause error) {
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
	if silent := (Unresponsive{}); errors.As(cause, &silent) {
		gone.With("cause", silent.Message)
	}
	c.err = gone
	err, pending, subs := c.err, c.pending, c.subs
	c.pending, c.subs, c.outbox = nil, nil, nil
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

// writeAll writes what Send put into the outbox until the connection is gone.
func (c *Conn) writeAll() {
	defer close(c.writerDone)
	watch := time.AfterFunc(writeTimeout, func() { c.fail(fmt.Errorf("Chromium has read nothing for %v", c.writeTimeout)) })
	watch.Stop() // until something is written
	for {
		select {
		case <-c.wakeWriter:
		case <-c.done:
			return
		}
		for m := c.nextToWrite(); m != nil; m = c.nextToWrite() {
			watch.Reset(c.writeTimeout)
			err := c.transport.Write(context.Background(), m)
			watch.Stop()
			if err != nil {
				c.fail(err)
				return
			}
		}
	}
}

// nextToWrite takes the first message of the outbox; nil if it is empty.
func (c *Conn) nextToWrite() *Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.outbox) == 0 {
		c.outbox = nil
		return nil
	}
	m := c.outbox[0]
	c.outbox[0] = nil
	c.outbox = c.outbox[1:]
	return m
}

// readAll hands out answers and events until the connection is gone.
func (c *Conn) readAll() {
	defer close(c.readerDone)
	for {
		// A fresh message each time: the decoder would reuse the memory of
		// Params and Result, which have been handed out.
		var m Message
		if err := c.transport.Read(context.Background(), &m); err != nil {
			// One message that Go's JSON refuses was read whole: it fails its
			// own call, not the connection. A page can cause one with an object
			// whose keys are equal once lone surrogates are replaced. Chromium
			// writes the id first, so it is known.
			if bad := (*jsonv2.SyntacticError)(nil); errors.As(err, &bad) {
				c.answer(m.ID, reply{err: fmt.Errorf("unreadable answer: %w", err)})
				continue
			}
			c.fail(err)
			return
		}
		c.messagesRead.Add(1)
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

// event hands an event to its subscriptions and to the handler of its session.
func (c *Conn) event(m *Message) {
	c.mu.Lock()
	handle := c.handlers[m.SessionID]
	subs := c.subs[subscriptionKey{m.SessionID, string(m.Method)}]
	c.mu.Unlock()

	for _, s := range subs {
		s.push(m.Params)
	}
	if handle != nil {
		handle(string(m.Method), m.Params)
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
