//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// rude is the token of a client that floods. That of the others is the daemon's own.
const rude = "rude-token-0123456789abcdef"

// sockets are how many connections the daemon has open.
func sockets(d *testdaemon.Daemon) (n int) {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", d.PID))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// Floods of each kind, by clients without a token and with one: whoever has a right token
// is answered on every transport while they last, and memory and connections stay bounded.
// Each is sent once before, alone: the daemon must do what the flood is about.
// `go test ./e2e -run TestFloodTable -v` prints the table.
func TestFloodTable(t *testing.T) {
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(hang.Close)
	auth := "Authorization: Bearer " + rude + "\r\n"
	request := func(line, headers string) string {
		return line + " HTTP/1.1\r\nHost: ADDRESS\r\n" + headers + "\r\n"
	}
	upgrade := request("GET /v1/ws", auth+"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n")
	post := func(path, headers, body string) string {
		return request("POST "+path, fmt.Sprintf("%sContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n", headers, len(body))) + body
	}
	frame := func(text string) string { // a masked frame, whose mask is zero
		b := []byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}
		if len(text) > 125 {
			b = []byte{0x81, 0x80 | 126, byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}
		}
		return string(append(b, text...))
	}
	commands := func(n int, method, params string) string {
		var all strings.Builder
		for i := range n {
			all.WriteString(frame(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, method, params)))
		}
		return all.String()
	}
	types := strings.Repeat(`"console_error",`, 200)
	for _, f := range []struct {
		name        string
		connections int
		begins      string // sent first by each connection, and answered with 101 or 200
		begun       int    // connections that are answered so at least; the limits refuse the others
		sent        string // then; SESSION is the MCP session that began
		says        string // the first answer to it: see firstAnswer
		again       bool   // over and over
		read        bool   // answers are read
		addresses   bool   // each connection has an address of its own
		grow        int    // MiB that the daemon may grow by at most
	}{
		{name: "silent", connections: 1000, grow: 60},
		{name: "silent, from 1,000 addresses", connections: 1000, addresses: true, grow: 60},
		{name: "headers that do not end", connections: 1000, sent: "GET / HTTP/1.1\r\nHost: ADDRESS\r\nX: " + strings.Repeat("x", 60<<10), says: "nothing", grow: 120},
		{name: "headers that are too long", connections: 300, sent: "GET / HTTP/1.1\r\nHost: ADDRESS\r\nX: " + strings.Repeat("x", 1<<20), says: "431", grow: 120},
		{name: "many headers", connections: 300, sent: request("GET /v1/ping", strings.Repeat("X: y\r\n", 10_000)), read: true, says: "401", grow: 120},
		{name: "HTTP/2 without TLS", connections: 300, sent: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08", 10_000), read: true, says: "400", grow: 60},
		{name: "GET /healthz", connections: 16, sent: request("GET /healthz", ""), again: true, read: true, says: "200", grow: 60},
		{name: "GET /healthz, unread", connections: 300, sent: strings.Repeat(request("GET /healthz", ""), 2000), says: "200", grow: 60},
		{name: "GET /readyz", connections: 16, sent: request("GET /readyz", ""), again: true, read: true, says: "200", grow: 60},
		{name: "GET /proof", connections: 16, sent: request("GET /proof?nonce="+strings.Repeat("ab", 32), ""), again: true, read: true, says: "200", grow: 60},
		{name: "no token", connections: 16, sent: request("GET /v1/ws", ""), again: true, read: true, says: "401", grow: 60},
		{name: "foreign Origin", connections: 16, sent: request("GET /v1/ws", "Origin: http://evil.test\r\n"), again: true, read: true, says: "403", grow: 60},
		{name: "bodies without a token", connections: 64, sent: post("/v1/ping", "", strings.Repeat("x", 3_900_000)), read: true, says: "401", grow: 60},
		{name: "WebSockets, silent", connections: 400, begins: upgrade, begun: 100, grow: 120},
		{name: "WebSockets, answers unread", connections: 192, begins: upgrade, sent: commands(300, "help", "{}"), begun: 100, says: "result", grow: 200},
		{name: "WebSockets, compressed frames", connections: 192, begins: upgrade, sent: "\xc1\xfe\xff\xff\x00\x00\x00\x00" + strings.Repeat("\x00", 65535), begun: 100, says: "close 1002", grow: 120},
		{name: "WebSockets, subscriptions", connections: 192, begins: upgrade, sent: commands(30, "subscribe", `{"sessions":"all","events":[`+strings.TrimSuffix(types, ",")+`]}`), begun: 100, says: "result", grow: 300},
		{name: "MCP, initialize", connections: 192, sent: strings.Repeat(post("/mcp", auth, string(initialize(strings.Repeat("n", 15_000)))), 10), read: true, says: "200", grow: 120},
		{name: "MCP, streams that are parked", connections: 192, begins: post("/mcp", auth, string(initialize("n"))), sent: request("GET /mcp", auth+"Accept: text/event-stream\r\nMcp-Session-Id: SESSION\r\n"), begun: 60, says: "200 and open", grow: 120},
		{name: "HTTP, answers unread", connections: 192, sent: strings.Repeat(post("/v1/help", auth, "{}"), 500), says: "200", grow: 300},
		{name: "HTTP, requests that hang", connections: 192, sent: post("/v1/http_request", auth, `{"url":"`+hang.URL+`"}`), says: "nothing", grow: 120},
		{name: "the live view, unread", connections: 192, sent: strings.Repeat(request("GET /", auth), 200), says: "200", grow: 300},
	} {
		t.Run(f.name, func(t *testing.T) {
			d := flooded(t, map[string]string{"BROWSERD_AUTH__TOKENS": fmt.Sprintf(`[{"agent":"rude","token":%q}]`, rude)})
			begins, sent := strings.ReplaceAll(f.begins, "ADDRESS", d.Addr), strings.ReplaceAll(f.sent, "ADDRESS", d.Addr)
			if f.sent != "" {
				if got := firstAnswer(t, d.Addr, begins, sent, f.says); got != f.says {
					t.Errorf("sent alone, it is answered %s, want %s", got, f.says)
				}
			}
			before, _ := memory(t, d)
			stop := make(chan struct{})
			var clients, began sync.WaitGroup
			var begun atomic.Int64
			for i := range f.connections {
				began.Add(1)
				clients.Go(func() {
					once := sync.OnceFunc(began.Done)
					defer once()
					client := flooder{address: d.Addr, begins: begins, sent: sent, again: f.again, read: f.read, begun: &begun}
					if f.addresses {
						client.from = &net.TCPAddr{IP: net.IPv4(127, 2, byte(i/250), byte(i%250+1))}
					}
					client.flood(once, stop)
				})
			}
			began.Wait()
			most := sockets(d)
			works(t, d)
			most = max(most, sockets(d))
			now, peak := memory(t, d)
			close(stop)
			clients.Wait()
			works(t, d)
			t.Logf("| %s | %d | %d | %d | %d | %d |", f.name, f.connections, most, before, now, peak)
			if peak-before > f.grow {
				t.Errorf("the daemon grew by %d MiB, allowed are %d", peak-before, f.grow)
			}
			if n := int(begun.Load()); n < f.begun {
				t.Errorf("%d connections began, want %d", n, f.begun)
			}
			if most > 256+256+20 { // server.max_connections, server.limits.unauthenticated, and its own
				t.Errorf("%d connections are open", most)
			}
		})
	}
}

// flooder is one client of a flood.
type flooder struct {
	address, begins, sent string
	from                  *net.TCPAddr // nil: any
	again, read           bool
	begun                 *atomic.Int64 // clients that were answered to what they began with
}

// flood floods until stop: began is called when its connection has sent what it could.
func (f flooder) flood(began func(), stop <-chan struct{}) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if f.from != nil {
		dialer.LocalAddr = f.from
	}
	for {
		c, err := dialer.Dial("tcp", f.address)
		if err == nil {
			ended := make(chan struct{})
			go func() {
				select {
				case <-stop:
				case <-ended:
				}
				c.Close()
			}()
			answers, text := bufio.NewReader(c), []byte(f.sent)
			if f.begins != "" {
				session, status := begin(c, answers, f.begins)
				text = bytes.ReplaceAll(text, []byte("SESSION"), []byte(session))
				if status < 300 {
					f.begun.Add(1)
				}
			}
			if f.read {
				c.SetReadDeadline(time.Time{})
				go io.Copy(io.Discard, answers)
			}
			for ok := true; ok; ok = f.again && err == nil {
				c.SetWriteDeadline(time.Now().Add(3 * time.Second)) // who does not read is not read for ever
				_, err = io.Copy(c, bytes.NewReader(text))
				began()
			}
			if !f.again {
				<-stop
			}
			close(ended)
		}
		began()
		select {
		case <-stop:
			return
		default:
			if !f.again {
				return
			}
		}
	}
}

// begin sends the request with which a connection begins. It returns the MCP session of the
// answer, and its status: 1000 where none came.
func begin(c net.Conn, answers *bufio.Reader, request string) (session string, status int) {
	io.WriteString(c, request)
	c.SetReadDeadline(time.Now().Add(5 * time.Second))
	r, err := http.ReadResponse(answers, nil)
	if err != nil {
		return "", 1000
	}
	io.Copy(io.Discard, r.Body) // that of 101 is empty
	return r.Header.Get("Mcp-Session-Id"), r.StatusCode
}

// firstAnswer sends what a client of a flood sends, once. It returns the status of the first
// answer, with "and open" if its stream of events does not end; of a WebSocket "result", the
// error's code or "close" with its code; and "nothing" where no answer comes. What does not come is
// awaited for a short time where it is not wanted.
func firstAnswer(t *testing.T, address, begins, sent, want string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	if begins != "" {
		session, status := begin(c, answers, begins)
		if status >= 300 {
			return fmt.Sprintf("%d at its beginning", status)
		}
		sent = strings.ReplaceAll(sent, "SESSION", session)
	}
	go io.WriteString(c, sent) // ends with the connection: not all of it is read
	const long, short = 10 * time.Second, 300 * time.Millisecond
	wait := long
	if want == "nothing" {
		wait = short
	}
	c.SetReadDeadline(time.Now().Add(wait))
	for strings.Contains(begins, "Upgrade: websocket") {
		kind, payload, err := readFrame(answers)
		var m struct {
			ID     *int
			Result json.RawMessage
			Error  *struct{ Data struct{ Code string } }
		}
		switch {
		case err != nil:
			return "nothing"
		case kind == 8 && len(payload) >= 2:
			return fmt.Sprintf("close %d", int(payload[0])<<8|int(payload[1]))
		case json.Unmarshal(payload, &m) != nil || m.ID == nil: // hello
		case m.Error != nil:
			return m.Error.Data.Code
		case m.Result != nil:
			return "result"
		}
	}
	r, err := http.ReadResponse(answers, nil)
	if err != nil {
		return "nothing"
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		if strings.HasSuffix(want, "and open") {
			c.SetReadDeadline(time.Now().Add(short))
		}
		if _, err := io.Copy(io.Discard, r.Body); errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Sprint(r.StatusCode, " and open")
		}
	}
	return fmt.Sprint(r.StatusCode)
}

// readFrame reads a frame of the daemon's (RFC 6455 5.2): its opcode and its payload.
func readFrame(r *bufio.Reader) (kind byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	size := uint64(head[1] & 0x7f)
	if n := map[uint64]int{126: 2, 127: 8}[size]; n > 0 {
		long := make([]byte, 8)
		if _, err := io.ReadFull(r, long[8-n:]); err != nil {
			return 0, nil, err
		}
		size = binary.BigEndian.Uint64(long)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r, payload)
	return head[0] & 0x0f, payload, err
}
