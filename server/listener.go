package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
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
	of    *connections
	from  netip.Prefix
	timer *time.Timer // closes the connection while it is unknown

	// of.mu guards these:
	closed bool
	admits bool // the connection is known and counts for peer
	peer   peer
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
	c := &connection{Conn: conn, of: l.all, from: remoteNet(conn.RemoteAddr().String())}
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
	admitted := c.admits
	a.mu.Unlock()
	if !admitted {
		c.Close()
	}
}

// admit makes a connection known when it shows its first right token, and returns the peer
// that it counts for. After an error, which is quota.take's, the connection stays unknown.
func (a *connections) admit(c *connection, token int) (peer, *protocol.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	who := peer{token, c.from}
	if c.admits || c.closed {
		return who, nil
	}
	if err := a.known.take(who, 1); err != nil {
		return who, err
	}
	c.admits, c.peer = true, who
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
	c.of.mu.Lock()
	if !c.closed {
		c.closed = true
		c.timer.Stop()
		c.of.forget(c)
		if c.admits {
			c.of.known.give(c.peer, 1)
		}
	}
	c.of.mu.Unlock()
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
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// admit makes the request's connection known.
func (s *Server) admit(r *http.Request, token int) (peer, *protocol.Error) {
	c, _ := r.Context().Value(connectionKey{}).(*connection)
	return s.connections.admit(c, token)
}
