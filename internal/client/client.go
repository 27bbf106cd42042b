// Package client is a small WebSocket client of the daemon, for tests, the
// demo and benchmarks: PROTOCOL.md sections 1 and 2, seen from outside. It owns
// one connection, never opens a second one, and never tries again by itself.
//
// A Client may be used by any number of goroutines. Requests go out in the
// order in which Send was called, without waiting for each other; answers are
// matched by id. One goroutine reads the connection; it ends with Close or with
// the connection.
package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/browserd/browserd/protocol"
	"github.com/gorilla/websocket"
)

// eventsKept bounds the events that nobody has asked for; the oldest go first.
const eventsKept = 1024

// ErrClosed is returned for a request whose answer can no longer come.
var ErrClosed = errors.New("connection closed")

// Client is one connection to a daemon.
type Client struct {
	conn *websocket.Conn
	done chan struct{} // closed when the reader has ended

	writing sync.Mutex // gorilla/websocket: one writer at a time

	mu      sync.Mutex
	nextID  int64
	pending map[int64]*Pending
	events  []protocol.Event
	arrived chan struct{} // closed and replaced when an event arrives
	err     error         // why the reader ended
}

// Pending is a request that has been sent.
type Pending struct {
	// ID is the request's id on this connection, as cancel takes it.
	ID int64

	done   chan struct{}
	result json.RawMessage
	err    error
}

// Dial connects to the daemon's WebSocket endpoint, "ws://host:port/v1/ws", with
// the bearer token. Without TLS the daemon first proves that it knows the token, else the
// error is ErrNotProved. Where the daemon refuses, the error names the HTTP status.
func Dial(ctx context.Context, url, token string) (*Client, error) {
	if strings.HasPrefix(url, "wss:") {
		return DialVia(ctx, url, token, nil, nil) // its certificate says who it is
	}
	return DialVia(ctx, url, token, nil, DialProved(token))
}

// DialVia is Dial for a daemon that is known by other means: secured says whom to trust
// at "wss://host:port/v1/ws", nil: those whom the system does; dial makes the
// connection, nil: as usual.
func DialVia(ctx context.Context, url, token string, secured *tls.Config, dial func(ctx context.Context, network, address string) (net.Conn, error)) (*Client, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"browserd.v1"}, TLSClientConfig: secured, NetDialContext: dial}
	conn, resp, err := dialer.DialContext(ctx, url, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("connecting to %s: HTTP %d: %w", url, resp.StatusCode, err)
		}
		return nil, fmt.Errorf("connecting to %s: %w", url, err)
	}
	c := &Client{
		conn:    conn,
		done:    make(chan struct{}),
		pending: map[int64]*Pending{},
		arrived: make(chan struct{}),
	}
	go c.read()
	return c, nil
}

// Close ends the connection and waits for the reader. The session goes on in
// the daemon.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	return err
}

// Call sends one command, waits for its answer, and decodes the result into
// result unless that is nil. An error that the daemon answered is a
// *protocol.Error. When ctx ends first, the command goes on in the daemon and
// its answer is dropped.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	p, err := c.Send(method, params)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// Send sends one command and returns without waiting for the answer.
func (c *Client) Send(method string, params any) (*Pending, error) {
	raw := json.RawMessage(`{}`)
	if params != nil {
		b, err := json.Marshal(params)
		if err != nil {
			return nil, fmt.Errorf("params of %s: %w", method, err)
		}
		raw = b
	}
	// The id is taken under the lock that writes, so that ids go out in order.
	c.writing.Lock()
	defer c.writing.Unlock()
	p, err := c.register()
	if err != nil {
		return nil, err
	}
	id := json.RawMessage(fmt.Sprint(p.ID))
	if err := c.conn.WriteJSON(protocol.Request{JSONRPC: "2.0", ID: id, Method: method, Params: raw}); err != nil {
		c.forget(p.ID)
		return nil, fmt.Errorf("sending %s: %w", method, err)
	}
	return p, nil
}

// Wait waits for the answer and decodes it, as Call does.
func (p *Pending) Wait(ctx context.Context, result any) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.err != nil {
		return p.err
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(p.result, result)
}

// Event returns the oldest event kept that want accepts, and waits for one
// where there is none. It is taken out: a second call finds the next.
func (c *Client) Event(ctx context.Context, want func(protocol.Event) bool) (protocol.Event, error) {
	for {
		c.mu.Lock()
		for i, e := range c.events {
			if want(e) {
				c.events = append(c.events[:i:i], c.events[i+1:]...)
				c.mu.Unlock()
				return e, nil
			}
		}
		arrived := c.arrived
		c.mu.Unlock()
		select {
		case <-arrived:
		case <-c.done:
			return protocol.Event{}, c.closedErr()
		case <-ctx.Done():
			return protocol.Event{}, ctx.Err()
		}
	}
}

// OfType accepts the events of one type, for Event.
func OfType(t string) func(protocol.Event) bool {
	return func(e protocol.Event) bool { return e.Type == t }
}

func (c *Client) register() (*Pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	c.nextID++
	p := &Pending{ID: c.nextID, done: make(chan struct{})}
	c.pending[p.ID] = p
	return p, nil
}

func (c *Client) forget(id int64) *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	delete(c.pending, id)
	return p
}

func (c *Client) closedErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// message is anything the daemon sends: an answer or a notification.
type message struct {
	ID     json.RawMessage    `json:"id"`
	Method string             `json:"method"`
	Params map[string]any     `json:"params"`
	Result json.RawMessage    `json:"result"`
	Error  *protocol.RPCError `json:"error"`
}

func (c *Client) read() {
	defer close(c.done)
	for {
		var m message
		if err := c.conn.ReadJSON(&m); err != nil {
			c.end(fmt.Errorf("%w: %w", ErrClosed, err))
			return
		}
		if m.Method == "event" {
			c.keep(m.Params)
			continue
		}
		var id int64
		if json.Unmarshal(m.ID, &id) != nil {
			continue // an answer to something unreadable, which Send never sends
		}
		if p := c.forget(id); p != nil {
			p.result = m.Result
			if m.Error != nil {
				p.err = answered(m.Error)
			}
			close(p.done)
		}
	}
}

func (c *Client) keep(fields map[string]any) {
	e := protocol.Event{Fields: fields}
	e.Type, _ = fields["type"].(string)
	e.Session, _ = fields["session"].(string)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) == eventsKept {
		c.events = c.events[1:]
	}
	c.events = append(c.events, e)
	close(c.arrived)
	c.arrived = make(chan struct{})
}

func (c *Client) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for id, p := range c.pending {
		p.err = err
		close(p.done)
		delete(c.pending, id)
	}
}

// answered turns the wire's error back into the one that left the daemon.
func answered(e *protocol.RPCError) error {
	return &protocol.Error{Code: e.Data.Code, Message: e.Message, Next: e.Data.Next, Details: e.Data.Details}
}
