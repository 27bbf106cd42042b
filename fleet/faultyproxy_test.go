package fleet

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// faultyProxy is a TCP proxy between a node and PostgreSQL that drops what a test tells it to.
type faultyProxy struct {
	DSN   string // of the database, through the proxy
	drops atomic.Int32
	mu    sync.Mutex
	all   []net.Conn
}

// What a faultyProxy drops.
const (
	dropNothing       = iota
	dropRequests      // all that the node sends
	dropUpdateReplies // the answers to UPDATEs, and what comes after them
)

func newFaultyProxy(t *testing.T, dsn string) *faultyProxy {
	t.Helper()
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to := at.Host
	at.Host = l.Addr().String()
	f := &faultyProxy{DSN: at.String()}
	var copying sync.WaitGroup
	copying.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			f.mu.Lock()
			f.all = append(f.all, in, out)
			f.mu.Unlock()
			copying.Go(func() { f.copy(out, in, func([]byte) bool { return f.drops.Load() == dropRequests }) })
			lost := false
			copying.Go(func() {
				f.copy(in, out, func(b []byte) bool {
					lost = lost || f.drops.Load() == dropUpdateReplies && bytes.Contains(b, []byte("UPDATE "))
					return lost
				})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		f.cut()
		copying.Wait()
	})
	return f
}

func (f *faultyProxy) copy(to, from net.Conn, loses func([]byte) bool) {
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if loses(b[:n]) {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// cut closes the connections there are.
func (f *faultyProxy) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.all {
		c.Close()
	}
	f.all = nil
}

// heal drops nothing any more. It closes the connections, which have lost data.
func (f *faultyProxy) heal() {
	f.drops.Store(dropNothing)
	f.cut()
}
