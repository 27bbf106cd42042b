// Package browserd is the Go client of a browserd daemon: PROTOCOL.md, with a method for
// each command (commands.go, generated) and the standard library alone. Connect finds the
// daemon of this user and connects again after a connection was lost; Dial is one
// connection to an address.
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
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot/pagetext"
)

// eventsKept bounds the events that nobody has asked for; the oldest go first.
const eventsKept = 1024

// ErrClosed is returned for a request whose answer can no longer come: what it was to do
// may have been done.
var ErrClosed = errors.New("connection closed")

// Error is what the daemon answered in place of a result; its Code says which kind it is
// (protocol.StaleRef and others).
type Error = protocol.Error

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
	dial func(ctx context.Context) (*webSocket, error)
	once bool

	writing sync.Mutex // one writer at a time
	ws      *webSocket

	mu      sync.Mutex
	nextID  int64
	pending map[int64]*Pending
	events  []protocol.Event
	arrived chan struct{} // closed and replaced when an event arrives
	done    chan struct{} // closed when the reader has ended
	err     error         // why the reader ended; nil: it runs
	closed  bool
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
// command, which goes on with the session that the last result named. An error that says
// ErrNotProved: something else listens there, and did not get the token.
func Connect(ctx context.Context, o Options) (*Client, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if home, err := os.UserHomeDir(); err == nil && !filepath.IsAbs(base) {
		base = filepath.Join(home, ".local", "state")
	}
	switch runtime.GOOS {
	case "darwin":
		base, _ = os.UserConfigDir()
	case "windows":
		base = os.Getenv("LocalAppData")
	}
	base = filepath.Join(base, "browserd")
	o.Token = cmp.Or(o.Token, os.Getenv("BROWSERD_TOKEN"))
	if o.Token == "" {
		kept, err := os.ReadFile(filepath.Join(base, "token"))
		if err != nil {
			return nil, fmt.Errorf("no token: set Options.Token or BROWSERD_TOKEN: %w", err)
		}
		o.Token = strings.TrimSpace(string(kept))
	}
	if o.URL == "" {
		o.URL = "ws://127.0.0.1:9333/v1/ws"
		socket := filepath.Join(base, "127.0.0.1:9333.sock")
		dir, _ := os.Stat(base)
		if at, err := os.Lstat(socket); err == nil && dir != nil && dir.Mode().Perm()&0o022 == 0 && at.Mode().Perm()&0o077 == 0 && o.Dial == nil {
			o.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
				if err != nil { // it was left by a daemon that has ended
					return DialProved(o.Token)(ctx, "tcp", "127.0.0.1:9333")
				}
				return proved(ctx, conn, "localhost", o.Token) // the state directory may be somebody else's
			}
		}
	}
	at, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	address := at.Host // the Host header stays without a default port, as browsers send it
	if at.Port() == "" {
		address += map[string]string{"ws": ":80", "wss": ":443"}[at.Scheme]
	}
	if at.Scheme == "ws" && o.Dial == nil {
		o.Dial = DialProved(o.Token)
	} else if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext // its certificate says who it is
	}
	c := &Client{once: o.Once, session: o.Session, resume: o.Session != "", pending: map[int64]*Pending{}, arrived: make(chan struct{})}
	c.dial = func(ctx context.Context) (ws *webSocket, err error) {
		conn, err := o.Dial(ctx, "tcp", address)
		if err == nil {
			if at.Scheme == "wss" {
				trust := &tls.Config{}
				if o.TLS != nil {
					trust = o.TLS.Clone()
				}
				trust.ServerName = cmp.Or(trust.ServerName, at.Hostname())
				conn = tls.Client(conn, trust)
			}
			if ws, err = upgrade(ctx, conn, at, o.Token); err != nil {
				conn.Close()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("connecting to %s: %w", o.URL, err)
		}
		return ws, nil
	}
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Dial is Connect with Options.Once.
func Dial(ctx context.Context, url, token string) (*Client, error) {
	return Connect(ctx, Options{URL: url, Token: token, Once: true})
}

// connect makes the connection. The caller holds writing, or has the only reference.
func (c *Client) connect(ctx context.Context) error {
	ws, err := c.dial(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		ws.conn.Close()
		return ErrClosed
	}
	c.ws, c.done, c.err, c.resume = ws, make(chan struct{}), nil, c.session != ""
	go c.read(ws, c.done)
	return nil
}

// Close ends the connection and waits for the reader. The session goes on in
// the daemon.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	ws, done := c.ws, c.done
	c.mu.Unlock()
	err := ws.conn.Close()
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

func call[R any](ctx context.Context, c *Client, method string, params any) (result R, err error) {
	err = c.Call(ctx, method, params, &result)
	return result, err
}

// Send sends one command and returns without waiting for the answer.
func (c *Client) Send(method string, params any) (*Pending, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	if string(raw) == "null" {
		raw = []byte("{}")
	}
	// The id is taken under the lock that writes, so that ids go out in order.
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	lost := c.err
	c.mu.Unlock()
	if lost != nil {
		if c.once {
			return nil, lost
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.connect(ctx); err != nil {
			return nil, errors.Join(lost, err)
		}
	}
	p, resume := c.register()
	var named struct{ Session string }
	if resume != "" && method != "session_open" && json.Unmarshal(raw, &named) == nil && named.Session == "" {
		name, _ := json.Marshal(resume)
		raw = []byte(strings.Replace(fmt.Sprintf(`{"session":%s,%s`, name, raw[1:]), ",}", "}", 1))
	}
	frame, err := json.Marshal(protocol.Request{JSONRPC: "2.0", ID: json.RawMessage(fmt.Sprint(p.ID)), Method: method, Params: raw})
	if err == nil {
		err = c.ws.write(1, frame)
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
		arrived, done, err := c.arrived, c.done, c.err
		c.mu.Unlock()
		if err != nil {
			return protocol.Event{}, err
		}
		select {
		case <-arrived:
		case <-done:
		case <-ctx.Done():
			return protocol.Event{}, ctx.Err()
		}
	}
}

// OfType accepts the events of one type, for Event.
func OfType(t string) func(protocol.Event) bool {
	return func(e protocol.Event) bool { return e.Type == t }
}

// Next is Event for one type: Next[DialogEvent](ctx, c).
func Next[E interface{ EventType() string }](ctx context.Context, c *Client) (event E, err error) {
	e, err := c.Event(ctx, OfType(event.EventType()))
	if err != nil {
		return event, err
	}
	text, err := json.Marshal(e)
	return event, errors.Join(err, json.Unmarshal(text, &event))
}

// register makes the next request, and says which session it has to name.
func (c *Client) register() (p *Pending, resume string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextID++
	p = &Pending{ID: c.nextID, client: c, done: make(chan struct{})}
	c.pending[p.ID] = p
	if c.resume {
		resume = c.session
	}
	return p, resume
}

func (c *Client) forget(id int64) *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	delete(c.pending, id)
	return p
}

// message is anything the daemon sends: an answer or a notification.
type message struct {
	ID     json.RawMessage    `json:"id"`
	Method string             `json:"method"`
	Params map[string]any     `json:"params"`
	Result json.RawMessage    `json:"result"`
	Error  *protocol.RPCError `json:"error"`
}

func (c *Client) read(ws *webSocket, done chan struct{}) {
	defer close(done)
	var text []byte
	for {
		last, opcode, payload, err := ws.read()
		switch {
		case err != nil || opcode == 8:
			ws.conn.Close()
			c.end(fmt.Errorf("%w: %w %s", ErrClosed, cmp.Or(err, net.ErrClosed), payload[min(2, len(payload)):]))
			return
		case opcode == 9: // ping
			c.writing.Lock()
			ws.write(10, payload)
			c.writing.Unlock()
		case opcode < 3:
			if text = append(text, payload...); last {
				c.take(text)
				text = nil
			}
		}
	}
}

// take handles one message.
func (c *Client) take(text []byte) {
	var m message
	var id int64
	if json.Unmarshal(text, &m) != nil {
		return
	}
	if m.Method == "event" {
		c.keep(m.Params)
	} else if json.Unmarshal(m.ID, &id) == nil { // else an answer to something unreadable, which Send never sends
		if p := c.forget(id); p != nil {
			p.result = m.Result
			if e := m.Error; e != nil {
				p.err = &Error{Code: e.Data.Code, Message: e.Message, Next: e.Data.Next, Details: e.Data.Details}
			}
			var said struct{ Session string }
			if !c.once && json.Unmarshal(m.Result, &said) == nil && said.Session != "" {
				c.mu.Lock()
				c.session, c.resume = said.Session, false
				c.mu.Unlock()
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
