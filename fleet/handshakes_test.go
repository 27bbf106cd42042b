package fleet

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
)

// addressed is a connection from an address that a test chooses.
type addressed struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (a *addressed) RemoteAddr() net.Addr { return a.from }
func (a *addressed) Close() error         { a.closed = true; return nil }

// Of the connections in the handshake the oldest one of the address with the most gives way: a stranger's address, or an IPv6
// network, does not displace a node at another one.
func TestHandshakesGiveWay(t *testing.T) {
	var h handshakes
	connect := func(ip string) *addressed {
		a := &addressed{from: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}}
		h.begin(a)
		return a
	}
	node, ended := connect("192.0.2.1"), connect("192.0.2.2")
	h.end(ended)
	var strangers []*addressed
	for i := range 3 * maxHandshakes {
		strangers = append(strangers, connect([]string{"2001:db8::1", "2001:db8::ffff:2"}[i%2]))
	}
	if len(h.all) != maxHandshakes {
		t.Errorf("%d connections are in the handshake", len(h.all))
	}
	if node.closed || ended.closed {
		t.Error("a node's connection was closed")
	}
	for i, s := range strangers {
		if gone := i < len(strangers)-(maxHandshakes-1); s.closed != gone {
			t.Fatalf("the %dth stranger of %d: closed is %t", i, len(strangers), s.closed)
		}
	}
	h.end(node)
	h.end(strangers[0])
	if len(h.all) != maxHandshakes-1 {
		t.Errorf("%d connections are left", len(h.all))
	}
}

// A node that has proved itself has no place among the handshakes: many strangers later its connection is as it was.
func TestStrangersDisplaceNoNode(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	h := askedHandler{asked: make(chan string, 9)}
	if err := a.Serve(h); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	await(t, "a connection", func() bool { return b.EnsureConnected(ctx, a.id) == nil })
	o, err := b.connect(ctx, a.id)
	if err != nil {
		t.Fatal(err)
	}
	for range maxHandshakes + 50 {
		conn, err := net.Dial("tcp", a.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	await(t, "the strangers", func() bool {
		a.handshakes.mu.Lock()
		defer a.handshakes.mu.Unlock()
		return len(a.handshakes.all) == maxHandshakes
	})
	if _, err := b.Send(ctx, a.id, Call{Agent: "ann", Method: "ping", Params: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if got := <-h.asked; got != "ping" {
		t.Errorf("asked %s", got)
	}
	if now, err := b.connect(ctx, a.id); now != o || err != nil {
		t.Errorf("the node's connection has ended: %v", err)
	}
}
