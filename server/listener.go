package server

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// refusals is how many connections beyond the limit are told so; what comes
// beyond those is closed without a word.
const refusals = 32

// listener accepts connections up to a limit, marks the next few as refused,
// and closes the rest.
type listener struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open int
}

// counted is an accepted connection.
type counted struct {
	net.Conn
	of      *listener
	refused bool // it is one too many, and is to be told
	once    sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		n := l.open
		if n < l.limit+refusals {
			l.open++
		}
		l.mu.Unlock()
		if n < l.limit+refusals {
			return &counted{Conn: c, of: l, refused: n >= l.limit}, nil
		}
		c.Close()
	}
}

func (c *counted) Close() error {
	c.once.Do(func() {
		c.of.mu.Lock()
		c.of.open--
		c.of.mu.Unlock()
	})
	return c.Conn.Close()
}

// CloseWrite lets net/http and a socket end their half first, so that the peer
// reads the last answer.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type refusedKey struct{}

// markRefused is http.Server.ConnContext.
func markRefused(ctx context.Context, c net.Conn) context.Context {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	if n, ok := c.(*counted); ok && n.refused {
		return context.WithValue(ctx, refusedKey{}, true)
	}
	return ctx
}
