//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
		begins      string // sent first by each connection, and answered
		sent        string // then
		again       bool   // over and over
		read        bool   // answers are read
		addresses   bool   // each connection has an address of its own
		grow        int    // MiB that the daemon may grow by at most
	}{
		{name: "silent", connections: 1000, grow: 60},
		{name: "silent, from 1,000 addresses", connections: 1000, addresses: true, grow: 60},
		{name: "headers that do not end", connections: 1000, sent: "GET / HTTP/1.1\r\nHost: ADDRESS\r\nX: " + strings.Repeat("x", 60<<10), grow: 120},
		{name: "headers that are too long", connections: 300, sent: "GET / HTTP/1.1\r\nHost: ADDRESS\r\nX: " + strings.Repeat("x", 1<<20), grow: 120},
		{name: "many headers", connections: 300, sent: request("GET /v1/ping", strings.Repeat("X: y\r\n", 10_000)), read: true, grow: 120},
		{name: "HTTP/2 without TLS", connections: 300, sent: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08", 10_000), read: true, grow: 60},
		{name: "GET /healthz", connections: 16, sent: request("GET /healthz", ""), again: true, read: true, grow: 60},
		{name: "GET /healthz, unread", connections: 300, sent: strings.Repeat(request("GET /healthz", ""), 2000), grow: 60},
		{name: "GET /readyz", connections: 16, sent: request("GET /readyz", ""), again: true, read: true, grow: 60},
		{name: "GET /proof", connections: 16, sent: request("GET /proof?nonce="+strings.Repeat("ab", 32), ""), again: true, read: true, grow: 60},
		{name: "no token", connections: 16, sent: request("GET /v1/ws", ""), again: true, read: true, grow: 60},
		{name: "foreign Origin", connections: 16, sent: request("GET /v1/ws", "Origin: http://evil.test\r\n"), again: true, read: true, grow: 60},
		{name: "bodies without a token", connections: 64, sent: post("/v1/ping", "", strings.Repeat("x", 3_900_000)), read: true, grow: 60},
		{name: "WebSockets, silent", connections: 400, begins: upgrade, grow: 120},
		{name: "WebSockets, answers unread", connections: 192, begins: upgrade, sent: commands(300, "help", "{}"), grow: 200},
		{name: "WebSockets, compressed frames", connections: 192, begins: upgrade, sent: "\xc1\xfe\xff\xff\x00\x00\x00\x00" + strings.Repeat("\x00", 65535), grow: 120},
		{name: "WebSockets, subscriptions", connections: 192, begins: upgrade, sent: strings.Repeat(commands(1, "subscribe", `{"all":true,"events":[`+strings.TrimSuffix(types, ",")+`]}`), 30), grow: 300},
		{name: "MCP, initialize", connections: 192, sent: strings.Repeat(post("/mcp", auth, string(initialize(strings.Repeat("n", 15_000)))), 10), read: true, grow: 120},
		{name: "MCP, streams that are parked", connections: 192, sent: request("GET /mcp", auth+"Accept: text/event-stream\r\n"), grow: 120},
		{name: "HTTP, answers unread", connections: 192, sent: strings.Repeat(post("/v1/help", auth, "{}"), 500), grow: 300},
		{name: "HTTP, requests that hang", connections: 192, sent: post("/v1/http_request", auth, `{"url":"`+hang.URL+`"}`), grow: 120},
		{name: "the live view, unread", connections: 192, sent: strings.Repeat(request("GET /", auth), 200), grow: 300},
	} {
		t.Run(f.name, func(t *testing.T) {
			d := flooded(t, map[string]string{"BROWSERD_AUTH__TOKENS": fmt.Sprintf(`[{"agent":"rude","token":%q}]`, rude)})
			before, _ := memory(t, d)
			begins, text := strings.ReplaceAll(f.begins, "ADDRESS", d.Addr), []byte(strings.ReplaceAll(f.sent, "ADDRESS", d.Addr))
			stop := make(chan struct{})
			var clients, began sync.WaitGroup
			for i := range f.connections {
				began.Add(1)
				clients.Go(func() {
					once := sync.OnceFunc(began.Done)
					defer once()
					flood(d.Addr, begins, text, i, f.again, f.read, f.addresses, once, stop)
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
			if most > 256+256+20 { // server.max_connections, server.limits.unauthenticated, and its own
				t.Errorf("%d connections are open", most)
			}
		})
	}
}

// flood is one client that floods, until stop: began is called when its connection has sent
// what it could.
func flood(address, begins string, text []byte, i int, again, read, addresses bool, began func(), stop <-chan struct{}) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	if addresses {
		dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 2, byte(i/250), byte(i%250+1))}
	}
	for {
		c, err := dialer.Dial("tcp", address)
		if err == nil {
			ended := make(chan struct{})
			go func() {
				select {
				case <-stop:
				case <-ended:
				}
				c.Close()
			}()
			if begins != "" {
				io.WriteString(c, begins)
				c.SetReadDeadline(time.Now().Add(5 * time.Second))
				bufio.NewReaderSize(c, 16).ReadString('\n')
			}
			if read {
				c.SetReadDeadline(time.Time{})
				go io.Copy(io.Discard, c)
			}
			for ok := true; ok; ok = again && err == nil {
				c.SetWriteDeadline(time.Now().Add(3 * time.Second)) // who does not read is not read for ever
				_, err = io.Copy(c, bytes.NewReader(text))
				began()
			}
			if !again {
				<-stop
			}
			close(ended)
		}
		began()
		select {
		case <-stop:
			return
		default:
			if !again {
				return
			}
		}
	}
}
