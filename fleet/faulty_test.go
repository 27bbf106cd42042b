package fleet

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// faulty is a network between a node and PostgreSQL that loses what it is told to lose.
type faulty struct {
	DSN  string // of the database, through it
	lose atomic.Int32
	mu   sync.Mutex
	all  []net.Conn
}

// What a faulty network loses.
const (
	nothing  = iota
	requests // all that the node sends
	updates  // the answers to UPDATEs, and what comes behind them
)

func newFaulty(t *testing.T, dsn string) *faulty {
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
	f := &faulty{DSN: at.String()}
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
			copying.Go(func() { f.copy(out, in, func([]byte) bool { return f.lose.Load() == requests }) })
			lost := false
			copying.Go(func() {
				f.copy(in, out, func(b []byte) bool {
					lost = lost || f.lose.Load() == updates && bytes.Contains(b, []byte("UPDATE "))
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

func (f *faulty) copy(to, from net.Conn, loses func([]byte) bool) {
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
func (f *faulty) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.all {
		c.Close()
	}
	f.all = nil
}

// mend loses nothing any more.
func (f *faulty) mend() {
	f.lose.Store(nothing)
	f.cut()
}
