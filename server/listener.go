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

// connections are the open connections of all listeners. One that has shown no right
// token is unknown: there are few of them, none lives long, and each new one is accepted,
// if need be in the place of another, so that nobody is kept out by those who say nothing.
// The places of the known ones are theirs alone.
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
	timer *time.Timer // closes it while it is unknown

	// of.mu guards these:
	closed bool
	admits bool // it is known, and counts for peer
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

// add counts a new connection as unknown, and returns the one that has to go for it: the
// oldest of the address that has most.
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

// expire closes a connection that has not shown a token in time.
func (a *connections) expire(c *connection) {
	a.mu.Lock()
	admitted := c.admits
	a.mu.Unlock()
	if !admitted {
		c.Close()
	}
}

// admit makes a connection known, as that of the first token that it shows. It returns
// whom it counts for. The error is that of quota.take, and the connection stays unknown.
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

// CloseWrite lets net/http and a socket end their half first, so that the peer
// reads the last answer.
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
