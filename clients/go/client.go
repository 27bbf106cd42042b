// Package browserd is the Go client of a browserd daemon: PROTOCOL.md, with a method for
// each command (commands.go, generated), of browserd's protocol packages and the standard
// library alone. Connect finds the daemon of this user and connects again after a connection
// was lost; Dial is one connection to an address.
//
// A Client may be used by any number of goroutines. Requests go out in the order in which
// Send was called, without waiting for each other; answers are matched by id. Nothing is
// ever sent twice. One goroutine reads each connection; it ends with Close or with the
// connection.
package browserd

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/protocol/local"
	"github.com/browserd/browserd/snapshot/pagetext"
)

// eventsKept bounds the events that nobody has asked for; the oldest go first.
const eventsKept = 1024

// PageText holds the text of a page: Apply takes the snapshot or delta of each result.
type PageText = pagetext.PageText

// Options say how to reach a daemon. The zero value is the daemon of this user.
type Options struct {
	// URL is ws://host:port/v1/ws or wss://…; empty: the socket in the state directory,
	// or else 127.0.0.1:9333.
	URL string
	// Token is the bearer token; empty: $BROWSERD_TOKEN, or else the state directory's file.
	Token string
	// Session is the name of a session that is open, to go on with.
	Session string
	// TLS says whom to trust at wss://; nil: those whom the system does.
	TLS *tls.Config
	// Dial makes the connection, to a daemon that is known by other means; nil: as usual,
	// and over TCP without TLS the daemon has to prove that it knows the token.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Once: a lost connection is not made again.
	Once bool
}

// Client is a connection to a daemon.
type Client struct {
	to      Options
	over    *http.Transport
	sending sync.Mutex // ids go out in order

	mu      sync.Mutex
	changed sync.Cond // an event has come, or the reader has ended
	ws      *webSocket
	done    chan struct{} // closed when the reader has ended
	err     error         // why the reader ended; nil: it runs
	closed  bool
	lastID  int64
	pending map[int64]*Pending
	events  []protocol.Event
	session string // the last that a result named
	resume  bool   // the connection does not know session yet
}

// Pending is a request that has been sent.
type Pending struct {
	// ID is the request's id on this connection, as cancel takes it.
	ID     int64
	client *Client
	done   chan struct{}
	result json.RawMessage
	err    error
}

// Connect connects to a daemon. A connection that is lost is made again by the next
// command, which goes on with the session that the last result named. An error that is
// ErrNotProved: something else listens there, and did not get the token.
func Connect(ctx context.Context, o Options) (*Client, error) {
	if o.Token == "" {
		var err error
		if o.Token, err = local.Token(); err != nil {
			return nil, fmt.Errorf("no token: set Options.Token or BROWSERD_TOKEN: %w", err)
		}
	}
	if o.URL == "" && o.Dial == nil {
		o.Dial = local.Dial(o.Token)
	}
	o.URL = cmp.Or(o.URL, "ws://127.0.0.1:9333/v1/ws")
	if strings.HasPrefix(o.URL, "ws:") && o.Dial == nil {
		o.Dial = local.DialProved(o.Token)
	}
	c := &Client{to: o, session: o.Session, pending: map[int64]*Pending{}}
	c.changed.L = &c.mu
	// Neither a proxy of the environment nor a redirect gets the token; with a TLSClientConfig it speaks HTTP/1.1.
	c.over = &http.Transport{DialContext: o.Dial, TLSClientConfig: cmp.Or(o.TLS, &tls.Config{}), DisableKeepAlives: true}
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Dial is Connect with Options.Once.
func Dial(ctx context.Context, url, token string) (*Client, error) {
	return Connect(ctx, Options{URL: url, Token: token, Once: true})
}

// connect makes the connection. The caller holds sending, or has the only reference.
func (c *Client) connect(ctx context.Context) error {
	ws, err := upgrade(ctx, c.over, strings.Replace(c.to.URL, "ws", "http", 1), c.to.Token)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", c.to.URL, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		ws.Close()
		return ErrClosed
	}
	c.ws, c.done, c.err, c.resume = ws, make(chan struct{}), nil, c.session != ""
	go c.read(ws, c.done)
	return nil
}

// Close ends the connection and waits for the reader. The session goes on in the daemon.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	ws, done := c.ws, c.done
	c.mu.Unlock()
	err := ws.Close()
	<-done
	return err
}

// Call sends one command, waits for its answer, and decodes the result into
// result unless that is nil. An error that the daemon answered is an
// *Error. When ctx ends first, the command is cancelled and its answer is dropped.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	p, err := c.Send(method, params)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// Send sends one command and returns without waiting for the answer.
func (c *Client) Send(method string, params any) (*Pending, error) {
	raw, err := json.Marshal(params)
	var given map[string]json.RawMessage
	if err = errors.Join(err, json.Unmarshal(raw, &given)); err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	c.sending.Lock()
	defer c.sending.Unlock()
	c.mu.Lock()
	lost := c.err
	c.mu.Unlock()
	if lost != nil {
		if c.to.Once {
			return nil, lost
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.connect(ctx); err != nil {
			return nil, errors.Join(lost, err)
		}
	}
	c.mu.Lock()
	c.lastID++
	p := &Pending{ID: c.lastID, client: c, done: make(chan struct{})}
	c.pending[p.ID] = p
	ws, session, resume := c.ws, c.session, c.resume
	c.mu.Unlock()
	if given == nil {
		given, raw = map[string]json.RawMessage{}, []byte("{}")
	}
	if resume && method != "session_open" && given["session"] == nil {
		given["session"], _ = json.Marshal(session)
		raw, _ = json.Marshal(given)
	}
	frame, err := json.Marshal(protocol.Request{JSONRPC: "2.0", ID: json.RawMessage(fmt.Sprint(p.ID)), Method: method, Params: raw})
	if err == nil {
		err = ws.write(1, frame)
	}
	if err != nil {
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
		if p.client.forget(p.ID) != nil {
			p.client.Send("cancel", map[string]int64{"id": p.ID})
		}
		return ctx.Err()
	}
	if p.err != nil || result == nil {
		return p.err
	}
	return json.Unmarshal(p.result, result)
}

func (c *Client) forget(id int64) *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	delete(c.pending, id)
	return p
}

// Event returns the oldest event kept that want accepts, and waits for one
// where there is none. It is taken out: a second call finds the next.
func (c *Client) Event(ctx context.Context, want func(protocol.Event) bool) (protocol.Event, error) {
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if i := slices.IndexFunc(c.events, want); i >= 0 {
			e := c.events[i]
			c.events = slices.Delete(c.events, i, i+1)
			return e, nil
		}
		if err := cmp.Or(c.err, ctx.Err()); err != nil {
			return protocol.Event{}, err
		}
		c.changed.Wait()
	}
}

func (c *Client) read(ws *webSocket, done chan struct{}) {
	defer close(done)
	text, err := ws.message()
	for ; err == nil; text, err = ws.message() {
		c.take(text)
	}
	ws.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("%w: %w", ErrClosed, err)
	for id, p := range c.pending {
		p.err = c.err
		close(p.done)
		delete(c.pending, id)
	}
	c.changed.Broadcast()
}

// take handles one message: an event, or the answer to a request.
func (c *Client) take(text []byte) {
	var m struct {
		Method string             `json:"method"`
		Params protocol.Event     `json:"params"`
		ID     int64              `json:"id"`
		Result json.RawMessage    `json:"result"`
		Error  *protocol.RPCError `json:"error"`
	}
	if json.Unmarshal(text, &m) != nil {
		return // nothing that Send asked for
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[m.ID]
	if m.Method == "event" {
		c.events = append(c.events, m.Params)
		c.events = c.events[max(0, len(c.events)-eventsKept):]
		c.changed.Broadcast()
	} else if p != nil {
		var said struct{ Session string }
		if !c.to.Once && json.Unmarshal(m.Result, &said) == nil && said.Session != "" {
			c.session, c.resume = said.Session, false
		}
		p.result = m.Result
		if e := m.Error; e != nil {
			p.err = &Error{Code: e.Data.Code, Message: e.Message, Next: e.Data.Next, Details: e.Data.Details}
		}
		delete(c.pending, m.ID)
		close(p.done)
	}
}
