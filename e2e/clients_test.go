//go:build linux

package e2e_test

import (
	"encoding/binary"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// vanish ends the connection as a machine does whose plug is pulled out: reset,
// without a close frame.
func (w wire) vanish() {
	w.conn.NetConn().(*net.TCPConn).SetLinger(0)
	w.conn.NetConn().Close()
}

// Clients that vanish in the middle of their commands: the commands end, the
// sessions stay, and another connection goes on with them.
func TestClientsThatVanish(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily()})
	r, holding := faultPage(t, d)
	r.do("session_open", params{"name": "held"})
	r.open(r.w.URL + "/faults")
	ref := r.button("Hold")
	before := vitalsOf(t, d)
	w, _, err := dialWire(t, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.conn.WriteMessage(websocket.TextMessage, []byte(`{"jsonrpc":"2.0","id":1,"method":"click","params":{"session":"held","ref":"`+ref+`","timeout_ms":60000}}`)); err != nil {
		t.Fatal(err)
	}
	<-holding
	const more = 30
	for i := range more {
		w, _, err := dialWire(t, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		// It waits behind the click, and the wait of a session's own runs.
		for _, frame := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"snapshot","params":{"session":"held","timeout_ms":60000}}`,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session_open","params":{"name":"v%d","source":"http"}}`, i),
			`{"jsonrpc":"2.0","id":3,"method":"wait","params":{"ms":50000,"timeout_ms":60000}}`,
		} {
			if err := w.conn.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
				t.Fatal(err)
			}
		}
		w.ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`) // they have arrived
		w.vanish()
	}
	w.vanish()
	r.t.Logf("%d clients vanished", more+1)
	// A script that holds the page for good costs the page, and that is said once.
	if _, err := r.try("snapshot", params{"session": "held", "timeout_ms": 10000}); err != nil && protocol.CodeOf(err) != protocol.PageCrashed {
		t.Errorf("the session goes on with %v", err)
	}
	r.do("snapshot", params{"session": "held", "timeout_ms": 10000})
	list := ask[struct {
		Sessions []struct{ Session string } `json:"sessions"`
	}](r.agent, "session_list", nil)
	if len(list.Sessions) != more+2 {
		t.Errorf("%d sessions, want all %d", len(list.Sessions), more+2)
	}
	for i := range more {
		r.do("session_close", params{"session": fmt.Sprintf("v%d", i)})
	}
	asBefore(t, d, before)
	r.works()
}

// 10,000 commands from a client that reads no answer: the daemon stops to read
// from it, holds little for it, gives it up in its time, and answers the others
// meanwhile.
func TestAFloodThatIsNeverRead(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily("BROWSERD_SERVER__WRITE_TIMEOUT", "2s")})
	good := newAgent(t, d)
	good.do("ping", nil)
	before := vitalsOf(t, d)
	w, _, err := dialWire(t, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	began, sent := time.Now(), 0
	flooded := make(chan error, 1)
	go func() {
		w.conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
		for ; sent < 10_000; sent++ {
			if err := w.conn.WriteMessage(websocket.TextMessage, []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"help","params":{}}`, sent))); err != nil {
				flooded <- err
				return
			}
		}
		flooded <- nil
	}()
	slowest, most := time.Duration(0), 0
	for ended := false; !ended; {
		asked := time.Now()
		good.do("ping", nil)
		slowest = max(slowest, time.Since(asked))
		most = max(most, vitalsOf(t, d).resident)
		select {
		case err := <-flooded:
			ended = true
			t.Logf("%d commands were taken in %v: %v", sent, time.Since(began).Round(time.Millisecond), err)
		default:
		}
	}
	t.Logf("another client's slowest ping: %v; the daemon grew by %d MB", slowest.Round(time.Millisecond), (most-before.resident)>>20)
	if slowest > 2*time.Second {
		t.Errorf("another client's ping took %v", slowest)
	}
	if grew := most - before.resident; grew > 150<<20 { // with the race detector, which takes several times as much
		t.Errorf("the daemon grew by %d bytes", grew)
	}
	asBefore(t, d, before) // the connection is given up by itself
}

// Clients that say half of something and then nothing, or go: none of it is
// kept beyond its time.
func TestHalfFrames(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily("BROWSERD_SERVER__PING_INTERVAL", "1s")})
	good := newAgent(t, d)
	good.do("ping", nil)
	before := vitalsOf(t, d)
	// RFC 6455 section 5.2: a masked text frame of so many bytes, with fewer behind it.
	frame := func(first byte, length uint64, payload string) []byte {
		b := []byte{first, 0x80 | 127}
		b = binary.BigEndian.AppendUint64(b, length)
		return append(append(b, 0, 0, 0, 0), payload...)
	}
	halves := map[string][]byte{
		"a header's first byte":        {0x81},
		"a header without its length":  {0x81, 0xff, 0, 0},
		"a frame without its payload":  frame(0x81, 1<<20, ""),
		"half a payload":               frame(0x81, 1<<20, string(make([]byte, 1<<19))),
		"a fragment without its end":   frame(0x01, 10, `{"jsonrpc"`),
		"a length that nobody can own": frame(0x81, 1<<62, "{"),
	}
	silent := 0
	for name, bytes := range halves {
		for _, goes := range []bool{false, true} {
			w, _, err := dialWire(t, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.conn.NetConn().Write(bytes); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if goes {
				w.vanish()
			} else {
				silent++
			}
		}
	}
	// HTTP that does not come to its end.
	for _, half := range []string{
		"POST /v1/ping HT", "POST /v1/ping HTTP/1.1\r\nHost: " + d.Addr + "\r\nAuthor",
		"POST /v1/ping HTTP/1.1\r\nHost: " + d.Addr + "\r\nAuthorization: Bearer " + d.Token + "\r\nContent-Length: 100000\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", d.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, half)
	}
	began := time.Now()
	good.do("ping", nil)
	if took := time.Since(began); took > time.Second {
		t.Errorf("another client's ping took %v", took)
	}
	// What is silent is closed after two pings, whatever it began to say.
	after := before
	after.goroutines, after.files = before.goroutines+3, before.files+3 // of the HTTP requests
	asBefore(t, d, after)
	t.Logf("%d silent connections were closed after %v", silent, time.Since(began).Round(time.Millisecond))
	good.do("ping", nil)
}

// A command whose answer is larger than what may wait for a client that does
// not read costs that client its connection, and nobody else anything.
func TestAnAnswerThatNobodyReads(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily("BROWSERD_SERVER__SEND_BUFFER", "1000000", "BROWSERD_SERVER__WRITE_TIMEOUT", "1s")})
	r := rowTest{newAgent(t, d), newPageServer(t), "answers"}
	r.w.serve("/next", page("next", "<h1>Next</h1>"), "")
	r.works()
	before := vitalsOf(t, d)
	w, _, err := dialWire(t, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	big := `{"jsonrpc":"2.0","id":%d,"method":"eval","params":{"session":"big","expression":"'gold'.repeat(400000)","max_chars":4000000}}`
	if _, err := w.ask(`{"jsonrpc":"2.0","id":0,"method":"session_open","params":{"name":"big"}}`); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		w.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
		if err := w.conn.WriteMessage(websocket.TextMessage, []byte(fmt.Sprintf(big, i+1))); err != nil {
			break // it is closed already
		}
	}
	r.works()
	closed := false
	for deadline := time.Now().Add(20 * time.Second); !closed && time.Now().Before(deadline); {
		r.do("ping", nil)
		closed = vitalsOf(t, d).sockets <= before.sockets
	}
	if !closed {
		t.Error("the connection of a client that does not read is kept")
	}
	if _, err := r.try("session_close", params{"session": "big"}); err != nil {
		t.Errorf("its session: %v", err)
	}
	asBefore(t, d, before)
}
