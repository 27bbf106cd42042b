package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/protocol"
)

// connections holds the open connections of all listeners. A connection that has shown no
// right token is unknown. Unknown connections have their own limit and little time. A new one
// is always accepted, if necessary by closing another unknown one, so that silent clients
// cannot keep others out. They never take the places of known connections.
type connections struct {
	limits LimitsConfig
	known  *quota

	mu      sync.Mutex
	unknown []*connection // oldest first
}

// connection is an accepted connection.
type connection struct {
	net.Conn
	all   *connections
	from  netip.Prefix
	timer *time.Timer // closes the connection while it is unknown
	outer net.Conn    // what the server writes to: the connection itself, or TLS on it

	// all.mu guards these:
	closed   bool
	admitted bool // the connection is known and counts for peer
	peer     peer

	begun     atomic.Bool // bytes of a request have come, and no handler has it
	served    atomic.Bool // a handler has the request, or the connection
	proofSent atomic.Bool // the daemon has proved itself on it
}

// listener accepts the connections of one address.
type listener struct {
	net.Listener
	all *connections
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, all: l.all, from: remoteNet(conn.RemoteAddr().String())}
	if victim := l.all.add(c); victim != nil {
		victim.Close()
	}
	return c, nil
}

// add adds a new connection as unknown. It returns the connection that has to be closed for
// it, if any: the oldest one of the address that has the most.
func (a *connections) add(c *connection) (victim *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.timer = time.AfterFunc(a.limits.AuthTimeout, func() { a.expire(c) })
	a.unknown = append(a.unknown, c)
	if len(a.unknown) <= a.limits.Unauthenticated {
		return nil
	}
	of, most := map[netip.Prefix]int{}, c.from
	for _, u := range a.unknown {
		if of[u.from]++; of[u.from] > of[most] {
			most = u.from
		}
	}
	return a.unknown[slices.IndexFunc(a.unknown, func(u *connection) bool { return u.from == most })]
}

// expire closes a connection that has shown no right token in time.
func (a *connections) expire(c *connection) {
	a.mu.Lock()
	admitted := c.admitted
	a.mu.Unlock()
	if !admitted && !c.timeOut() {
		c.Close()
	}
}

// timeOut answers 408 and closes the connection where a request was begun and did not come in
// time (RFC 9110, 15.5.9), else it returns false. net/http answers nothing then, or 400.
func (c *connection) timeOut() bool {
	begun := c.begun.Swap(false)
	c.all.mu.Lock()
	outer := c.outer
	c.all.mu.Unlock()
	if secured, ok := outer.(*tls.Conn); ok && begun {
		begun = secured.ConnectionState().HandshakeComplete // waits for one under way, which has its own time limit
	}
	if !begun {
		return false
	}
	defer c.Close()
	outer.SetWriteDeadline(time.Now().Add(timeoutWrite))
	late := protocol.Errorf(protocol.Timeout, "the request's headers did not come within %v", c.all.limits.AuthTimeout).Then("send the request again, on a new connection")
	body := encodeError(late, httpError(late))
	fmt.Fprintf(outer, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return true
}

// timeoutWrite is how long the answer to a client that was too slow may take.
const timeoutWrite = time.Second

// Read notes that a request has begun.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.served.Load() {
		c.begun.Store(true)
	}
	if _, plain := c.outer.(*connection); plain && errors.Is(err, os.ErrDeadlineExceeded) {
		c.timeOut() // of a known connection, whose headers are late
	}
	return n, err
}

// noteState is http.Server.ConnState.
func noteState(conn net.Conn, state http.ConnState) {
	c := acceptedConn(conn)
	if c == nil {
		return
	}
	c.served.Store(state == http.StateActive || state == http.StateHijacked)
	c.begun.Store(false)
}

// admit makes a connection known when it shows its first right token, and returns the peer
// that it counts for. After an error, which is quota.take's, the connection stays unknown.
func (a *connections) admit(c *connection, token int) (peer, *protocol.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	who := peer{token, c.from}
	if c.admitted || c.closed {
		return who, nil
	}
	if err := a.known.take(who, 1); err != nil {
		return who, err
	}
	c.admitted, c.peer = true, who
	c.timer.Stop()
	a.forget(c)
	return who, nil
}

func (a *connections) forget(c *connection) {
	if i := slices.Index(a.unknown, c); i >= 0 {
		a.unknown = slices.Delete(a.unknown, i, i+1)
	}
}

func (c *connection) Close() error {
	c.all.mu.Lock()
	if !c.closed {
		c.closed = true
		c.timer.Stop()
		c.all.forget(c)
		if c.admitted {
			c.all.known.give(c.peer, 1)
		}
	}
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite closes the sending half. net/http and sockets call it first, so that the peer
// can read the last answer.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type connectionKey struct{}

// withConnection is http.Server.ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	accepted := acceptedConn(c)
	if accepted != nil {
		accepted.all.mu.Lock()
		accepted.outer = c
		accepted.all.mu.Unlock()
	}
	return context.WithValue(ctx, connectionKey{}, accepted)
}

// acceptedConn returns the connection that a listener accepted, without TLS.
func acceptedConn(c net.Conn) *connection {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	accepted, _ := c.(*connection)
	return accepted
}

// admit makes the request's connection known.
func (s *Server) admit(r *http.Request, token int) (peer, *protocol.Error) {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	if c == nil { // another node has admitted it
		return peer{token, remoteNet(r.RemoteAddr)}, nil
	}
	return s.connections.admit(c, token)
}
