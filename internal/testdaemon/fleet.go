package testdaemon

import (
	"context"
	"io"
	"maps"
	"net"
	"os"
	"sync"

	"github.com/browserd/browserd/internal/testpostgres"
)

// FleetEnv has Start start three daemons that serve as one, on the PostgreSQL database that the
// variable names, in a database of their own, behind a plain TCP proxy that
// gives each connection to the next of them. The Daemon is the first, with the proxy's address.
const FleetEnv = "BROWSERD_TEST_FLEET"

// Proxy listens on loopback and copies each connection to and from the next of the addresses,
// until the test ends.
func Proxy(tb TB, to ...string) (addr string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{to: to}
	go p.serve(l)
	tb.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

type proxy struct {
	mu   sync.Mutex
	to   []string
	next int
}

func (p *proxy) serve(l net.Listener) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go p.copy(in)
	}
}

// copy gives a connection to the next address that accepts it.
func (p *proxy) copy(in net.Conn) {
	defer in.Close()
	for range p.to {
		p.mu.Lock()
		addr := p.to[p.next%len(p.to)]
		p.next++
		p.mu.Unlock()
		out, err := net.Dial("tcp", addr)
		if err != nil {
			continue
		}
		defer out.Close()
		go func() {
			io.Copy(out, in)
			out.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(in, out)
		return
	}
}

// startThree starts three daemons as FleetEnv says.
func startThree(tb TB, o Options, dsn string) (*Daemon, error) {
	dsn, err := testpostgres.NewDatabase(context.Background(), dsn)
	if err != nil {
		return nil, err
	}
	addrs := []string{FreeAddr(tb), FreeAddr(tb), FreeAddr(tb)}
	front := Proxy(tb, addrs...)
	var first *Daemon
	for i, addr := range addrs {
		of := o
		of.Addr = addr
		of.Env = maps.Clone(o.Env)
		if of.Env == nil {
			of.Env = map[string]string{}
		}
		for k, v := range map[string]string{
			"BROWSERD_FLEET__DSN": dsn, "BROWSERD_FLEET__LISTEN": "127.0.0.1:0", "BROWSERD_STATE__KEY": "the key of all the tests",
			"BROWSERD_SERVER__ALLOWED_HOSTS": front, "BROWSERD_FLEET__NAME": []string{"one", "two", "three"}[i],
		} {
			if of.Env[k] == "" {
				of.Env[k] = v
			}
		}
		if i > 0 {
			of.Home = ""
		}
		d, err := start(tb, of)
		if err != nil {
			return nil, err
		}
		tb.Cleanup(d.Stop)
		if first == nil {
			first = d
		}
	}
	first.Addr = front
	return first, nil
}

func fleetDSN(o Options) string {
	if o.Alone {
		return ""
	}
	return os.Getenv(FleetEnv)
}
