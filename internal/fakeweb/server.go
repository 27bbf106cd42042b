// Package fakeweb is a web server for tests that stands behind every address
// of a fake internet: it answers HTTP and HTTPS on one port, whichever a client
// speaks, with one handler.
package fakeweb

import (
	"bufio"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Serve answers on the listeners until the test ends, and closes them then. It
// returns the authority that signs the certificates it shows.
func Serve(tb testing.TB, h http.Handler, listeners ...net.Listener) *Authority {
	tb.Helper()
	authority := NewAuthority(tb)
	conf := &tls.Config{GetCertificate: authority.Certificate}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	accepted := &handed{conns: make(chan net.Conn), ended: make(chan struct{}), addr: listeners[0].Addr()}
	var running sync.WaitGroup
	running.Go(func() { s.Serve(accepted) })
	for _, l := range listeners {
		running.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				running.Go(func() { accepted.hand(c, conf) })
			}
		})
	}
	tb.Cleanup(func() {
		for _, l := range listeners {
			l.Close()
		}
		s.Close()
		running.Wait()
	})
	return authority
}

// ServeTLS answers on a port of localhost until the test ends, over HTTP/1.1 and HTTP/2
// with that certificate. It returns the origin.
func ServeTLS(tb testing.TB, h http.Handler, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) string {
	tb.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{GetCertificate: certificate}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	tb.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return "https://localhost:" + port
}

// handed is a listener whose connections have said already what they speak.
type handed struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
	addr  net.Addr
}

// hand gives c to whoever accepts, as TLS where the client begins so.
func (h *handed) hand(c net.Conn, conf *tls.Config) {
	const handshake = 0x16 // RFC 8446 section 5.1
	r := bufio.NewReader(c)
	c.SetReadDeadline(time.Now().Add(time.Minute))
	stop := make(chan struct{})
	go func() {
		select {
		case <-h.ended:
			c.Close()
		case <-stop:
		}
	}()
	first, err := r.Peek(1)
	close(stop)
	c.SetReadDeadline(time.Time{})
	if err != nil {
		c.Close()
		return
	}
	var ready net.Conn = &begun{c, r}
	if first[0] == handshake {
		ready = tls.Server(ready, conf)
	}
	select {
	case h.conns <- ready:
	case <-h.ended:
		c.Close()
	}
}

func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

func (h *handed) Close() error {
	h.once.Do(func() { close(h.ended) })
	return nil
}

func (h *handed) Addr() net.Addr { return h.addr }

// begun is a connection of which r has read ahead.
type begun struct {
	net.Conn
	r io.Reader
}

func (b *begun) Read(p []byte) (int, error) { return b.r.Read(p) }
