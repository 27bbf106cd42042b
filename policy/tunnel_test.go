package policy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// serveTCP serves each connection on a goroutine of its own until the test has ended, and returns the address.
func serveTCP(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// A tunnel copies both directions, may be half-closed, and is cut when no byte was sent
// for the idle time.
func TestTunnel(t *testing.T) {
	site := serveTCP(t, func(c net.Conn) { // answers with what it has read, at the end
		b, _ := io.ReadAll(c)
		c.Write(append([]byte("heard "), b...))
	})
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	p.egress.limits.idle = 200 * time.Millisecond
	// The first bytes come with the request, as TLS does with an eager client.
	c, r := raw(t, p.proxy, "CONNECT "+site+" HTTP/1.1\nHost: x\n$AUTH\n\nhello")
	if got := status(t, r); got != 200 {
		t.Fatal(got)
	}
	c.(*net.TCPConn).CloseWrite()
	if b, _ := io.ReadAll(r); string(b) != "heard hello" {
		t.Errorf("got %q", b)
	}
	c, r = raw(t, p.proxy, "CONNECT "+site+" HTTP/1.1\nHost: x\n$AUTH\n\n")
	status(t, r)
	begin := time.Now()
	io.Copy(io.Discard, r)
	if took := time.Since(begin); took < 100*time.Millisecond || took > 5*time.Second {
		t.Errorf("an idle tunnel was cut after %v", took)
	}
	_ = c
}

// A used-up byte budget cuts open connections and refuses new ones; so does the limit of
// connections for new ones.
func TestBudgets(t *testing.T) {
	more := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			w.(http.Flusher).Flush()
			<-more
			return
		}
		for range 64 {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	defer site.Close()
	p := newProxied(t, EgressConfig{MaxMB: 1, MaxConnections: 2}, "127.0.0.1")
	p.egress.limits.wait = 100 * time.Millisecond
	before := time.Now()
	c := client(t, p.proxy)
	for range 2 {
		resp, err := c.Get(site.URL + "/wait")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	if _, err := c.Get(site.URL + "/third"); err == nil {
		t.Error("a third connection was made")
	}
	close(more)
	reason := func() any {
		e, _ := p.proxy.Failure(site.Listener.Addr().String(), before).(*protocol.Error)
		if e == nil {
			return nil
		}
		return e.Details["reason"]
	}
	if got := reason(); got != "connection_limit" {
		t.Errorf("reason %v", got)
	}
	for deadline := time.Now().Add(5 * time.Second); p.proxy.Stats().Open > 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	resp, err := c.Get(site.URL + "/bulk")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err == nil || n > 2<<20 {
		t.Errorf("%d bytes came, and then %v", n, err)
	}
	if _, err := c.Get(site.URL + "/after"); err == nil {
		t.Error("a request was made after the budget")
	}
	if got := reason(); got != "byte_budget" {
		t.Errorf("reason %v", got)
	}
}

// A WebSocket without CONNECT is forwarded (RFC 6455 section 4.1 requires CONNECT, but
// some clients do not use it).
func TestProxyUpgrade(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, _ := w.(http.Hijacker).Hijack()
		defer c.Close()
		fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		io.CopyN(c, rw, 4)
	}))
	defer site.Close()
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	h := site.Listener.Addr().String()
	c, r := raw(t, p.proxy, "GET http://"+h+"/ HTTP/1.1\nHost: "+h+"\n$AUTH\nConnection: Upgrade\nUpgrade: websocket\n\n")
	if got := status(t, r); got != 101 {
		t.Fatal(got)
	}
	io.WriteString(c, "ping")
	b := make([]byte, 4)
	if _, err := io.ReadFull(r, b); err != nil || string(b) != "ping" {
		t.Errorf("got %q, %v", b, err)
	}
}

// Tunnels that wait hold little memory, also where much has gone through them: a page of many
// origins keeps dozens open.
func TestTunnelsThatWaitHoldNoBuffers(t *testing.T) {
	site := serveTCP(t, func(c net.Conn) { // answers each byte with so many times 64 KB
		for b := []byte{0}; ; {
			if _, err := c.Read(b); err != nil {
				return
			}
			io.CopyN(c, zeros{}, int64(b[0])<<16)
		}
	})
	const tunnels, most = 50, 16 << 10 // bytes of the heap for each, both of its ends in this process
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	before := heap()
	for i := range tunnels {
		c, r := raw(t, p.proxy, "CONNECT "+site+" HTTP/1.1\nHost: x\n$AUTH\n\n")
		if got := status(t, r); got != 200 {
			t.Fatal(got)
		}
		for _, n := range []byte{1, byte(i % 5), 3} {
			c.Write([]byte{n})
			if _, err := io.CopyN(io.Discard, r, int64(n)<<16); err != nil {
				t.Fatal(err)
			}
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		each := (heap() - before) / tunnels
		if each <= most {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes for each of %d tunnels that wait, want at most %d", each, tunnels, most)
		}
	}
}

// heap is how many bytes are in use once what nobody holds is gone.
func heap() int {
	runtime.GC()
	runtime.GC() // what a pool holds is gone after the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// Where one end reads nothing for the idle time, though it sends, the tunnel is cut: bytes that
// were read from the other end and could not be written are lost, and none may come behind them.
func TestATunnelLosesNothing(t *testing.T) {
	site := serveTCP(t, func(c net.Conn) {
		go io.Copy(io.Discard, c)
		b := make([]byte, 64<<10)
		for n := uint32(0); n < 32<<20; {
			for i := 0; i < len(b); i, n = i+4, n+4 {
				binary.LittleEndian.PutUint32(b[i:], n)
			}
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	})
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	p.egress.limits.idle = 200 * time.Millisecond
	c, r := raw(t, p.proxy, "CONNECT "+site+" HTTP/1.1\nHost: x\n$AUTH\n\n")
	if got := status(t, r); got != 200 {
		t.Fatal(got)
	}
	for end := time.Now().Add(3 * p.egress.limits.idle); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := c.Write([]byte("I am here")); err != nil {
			break
		}
	}
	for n, b := uint32(0), make([]byte, 4); ; n += 4 {
		if _, err := io.ReadFull(r, b); err != nil {
			if n == 0 || n == 32<<20 {
				t.Errorf("%d bytes came, and then %v", n, err)
			}
			return
		}
		if got := binary.LittleEndian.Uint32(b); got != n {
			t.Fatalf("%d bytes are missing after %d", got-n, n)
		}
	}
}

// A session that ends cuts its tunnels at both ends and leaves none behind.
func TestTunnelsEndWithTheirSession(t *testing.T) {
	ended := make(chan error, 1)
	site := serveTCP(t, func(c net.Conn) {
		c.SetDeadline(time.Now().Add(10 * time.Second))
		c.Write([]byte("hello"))
		_, err := io.Copy(io.Discard, c)
		ended <- err
	})
	p := newProxied(t, EgressConfig{}, "127.0.0.1")
	c, r := raw(t, p.proxy, "CONNECT "+site+" HTTP/1.1\nHost: x\n$AUTH\n\n")
	if got := status(t, r); got != 200 {
		t.Fatal(got)
	}
	if _, err := io.ReadFull(r, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if open := p.proxy.Stats().Open; open != 1 {
		t.Errorf("%d are open", open)
	}
	p.proxy.Close()
	if _, err := io.Copy(io.Discard, r); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the browser's end is open")
	}
	if err := <-ended; errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server's end is open")
	}
	for end := time.Now().Add(10 * time.Second); p.proxy.Stats().Open != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d are open", p.proxy.Stats().Open)
		}
	}
	_ = c
}

// A byte budget that is used up in a tunnel cuts it, and is why.
func TestABudgetCutsTunnels(t *testing.T) {
	site := serveTCP(t, func(c net.Conn) { io.CopyN(c, zeros{}, 8<<20) })
	p := newProxied(t, EgressConfig{MaxMB: 1}, "127.0.0.1")
	before := time.Now()
	_, r := raw(t, p.proxy, "CONNECT "+site+" HTTP/1.1\nHost: x\n$AUTH\n\n")
	if got := status(t, r); got != 200 {
		t.Fatal(got)
	}
	if n, _ := io.Copy(io.Discard, r); n == 0 || n > 2<<20 {
		t.Errorf("%d bytes came", n)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		e, _ := p.proxy.Failure(site, before).(*protocol.Error)
		if e != nil && e.Details["reason"] == "byte_budget" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it was cut because of %v", e)
		}
	}
}
