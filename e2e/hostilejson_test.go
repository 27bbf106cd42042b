//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/testtime"
	"github.com/browserd/browserd/protocol"
)

// JSON that is deep, wide or has endless numbers, within the size that a message may
// have, as parameters over each transport, as an MCP tool's arguments, and compressed: it
// is answered in time, never as a fault of browserd's own, and another client does not notice.
func TestHostileJSON(t *testing.T) {
	d := flooded(t, nil)
	other := newAgent(t, d)
	other.do("ping", nil)
	post := func(path, body string, more http.Header) (int, http.Header, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "POST", d.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + d.Token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		for k, v := range more {
			r.Header[k] = v
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(io.LimitReader(a.Body, 8<<20))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return a.StatusCode, a.Header, string(text)
	}
	_, h, _ := post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	own := http.Header{"Mcp-Session-Id": h["Mcp-Session-Id"]}
	post("/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, own)
	const size = 3 << 20
	before := peak(t, d.PID)
	for name, value := range map[string]string{
		"as deep as JSON may be":   strings.Repeat("[", 9900) + strings.Repeat("]", 9900),
		"deeper, arrays":           strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"deeper, objects":          strings.Repeat(`{"a":`, size/6) + "1" + strings.Repeat("}", size/6),
		"deeper, without an end":   strings.Repeat(`[{"url":`, size/8),
		"wide":                     "[" + strings.Repeat("[],", size/3) + "1]",
		"many names":               "{" + manyNames(size) + `"z":1}`,
		"the same name":            "{" + strings.Repeat(`"a":1,`, size/6) + `"a":1}`,
		"a number without end":     strings.Repeat("9", size),
		"an exponent without end":  "1e" + strings.Repeat("9", size),
		"escapes":                  `"` + strings.Repeat(`\u0000`, size/6) + `"`,
		"a surrogate without mate": `"` + strings.Repeat(`\ud800`, size/6) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			for where, played := range map[string]func() string{
				"WebSocket, of a parameter": func() string {
					w, _, err := dialWire(t, d, nil)
					if err != nil {
						t.Fatal(err)
					}
					r, err := w.ask(`{"jsonrpc":"2.0","id":1,"method":"open","params":{"url":"about:blank","x":` + value + `}}`)
					if err != nil {
						t.Fatalf("the connection: %v", err)
					}
					if r.Error == nil {
						return "answered with success"
					}
					return string(r.Error.Data.Code)
				},
				"WebSocket, beside them": func() string {
					w, _, err := dialWire(t, d, nil)
					if err != nil {
						t.Fatal(err)
					}
					r, err := w.ask(`{"jsonrpc":"2.0","id":1,"method":"nothing","x":` + value + `,"params":{}}`)
					if err != nil || r.Error == nil {
						t.Fatalf("%+v, %v", r, err)
					}
					return string(r.Error.Data.Code)
				},
				"HTTP": func() string {
					status, _, body := post("/v1/http_request", `{"url":"http://127.0.0.1:1/","timeout_ms":3000,"body":`+value+`}`, nil)
					return fmt.Sprintf("%d %.200s", status, body)
				},
				"MCP": func() string {
					status, _, body := post("/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"open","arguments":{"url":"about:blank","x":`+value+`}}}`, own)
					return fmt.Sprintf("%d %.200s", status, body)
				},
			} {
				began := time.Now()
				got := played()
				if took := time.Since(began); took > 8*time.Second || strings.Contains(got, "internal") || strings.HasPrefix(got, "500") || got == "answered with success" {
					t.Errorf("%s: %s after %v", where, got, took)
				}
				testtime.Within(t, where+": another client's ping", 2*time.Second, 8*time.Second, func() { other.do("ping", nil) })
			}
		})
	}
	// What is compressed is refused as it stands, and not made larger first.
	bomb := packed(t, ' ', 64)
	for _, path := range []string{"/v1/open", "/mcp"} {
		if status, _, body := post(path, bomb, http.Header{"Content-Encoding": {"gzip"}}); status != http.StatusBadRequest && status != http.StatusUnsupportedMediaType {
			t.Errorf("a compressed body for %s: %d %.200s", path, status, body)
		}
	}
	grown := peak(t, d.PID) - before
	t.Logf("the daemon's peak grew by %d KB", grown)
	if grown > 400<<10 {
		t.Errorf("the daemon's peak grew by %d KB", grown)
	}
	// What an MCP client says of itself stays for its session: it is another limit's.
	for _, value := range []string{"[" + strings.Repeat("[],", size/3) + "1]", strings.Repeat("[", size/2) + strings.Repeat("]", size/2)} {
		status, _, body := post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"experimental":{"x":`+value+`}},"clientInfo":{"name":"t","version":"1"}}}`, nil)
		if status >= 500 {
			t.Errorf("an MCP client that begins so: %d %.200s", status, body)
		}
	}
	other.do("ping", nil)
}

func manyNames(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size-20; i++ {
		fmt.Fprintf(&b, `"%x":1,`, i)
	}
	return b.String()
}

// A client that asks for compression gets none, and a frame that says it is compressed
// ends its connection and no other: there is nothing to inflate.
func TestNoFrameIsInflated(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_BROWSER__DISABLED": "true"}})
	other := newAgent(t, d)
	dialer := websocket.Dialer{EnableCompression: true}
	conn, resp, err := dialer.DialContext(t.Context(), d.WS(), http.Header{"Authorization": {"Bearer " + d.Token}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := resp.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("the daemon agrees to %q", got)
	}
	// RFC 6455 section 5.2: FIN, RSV1, text; masked with zeros, eight bytes of DEFLATE.
	frame := append([]byte{0x80 | 0x40 | 1, 0x80 | 8, 0, 0, 0, 0}, "\xaa\x56\x4a\x2c\x29\x01\x00\x00"...)
	if _, err := conn.NetConn().Write(frame); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		if _, _, err = conn.ReadMessage(); err != nil {
			break
		}
	}
	if !websocket.IsCloseError(err, websocket.CloseProtocolError) {
		t.Errorf("a compressed frame ends its connection with %v, want 1002", err)
	}
	other.do("ping", nil)
}

// 150 connections that want every event of every session, and whose list of events is as
// long as a message may be: commands go on in their time, the events arrive, and what was
// taken is given back.
func TestMassSubscriptions(t *testing.T) {
	d := testdaemon.Start(t, testdaemon.Options{})
	w := newPageServer(t)
	w.serve("/page", page("page", "<h1>Page</h1><button onclick='report(1)'>Go</button>"), "")
	a := newAgent(t, d)
	a.open(w.URL + "/page")
	before := vitalsOf(t, d)
	const n = 150
	long := make([]string, 300_000)
	for i := range long {
		long[i] = "navigated"
	}
	var ears []*client.Client
	for i := range n {
		ear := newAgent(t, d)
		events := []string{"navigated", "command", "dialog", "download", "tab_opened", "tab_closed"}
		if i < 3 {
			events = append(long, "command")
		}
		ear.do("subscribe", params{"events": events, "sessions": "all"})
		ear.do("subscribe", params{"events": events, "sessions": "all"})
		ears = append(ears, ear.c)
	}
	ref, worst := a.snapshot().ref(t, "button", "Go"), time.Duration(0)
	for range 20 {
		began := time.Now()
		a.do("click", click(ref, nil))
		worst = max(worst, time.Since(began))
	}
	if worst > 5*time.Second {
		t.Errorf("a click took %v", worst)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for i, ear := range ears {
		for range 20 {
			if _, err := ear.Event(ctx, func(e protocol.Event) bool { return e.Type == "command" && e.Fields["command"] == "click" }); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
		}
	}
	t.Logf("the slowest of 20 clicks took %v, the daemon grew by %d MB", worst, (vitalsOf(t, d).resident-before.resident)>>20)
	for _, ear := range ears {
		ear.Close()
	}
	before.processes += 2 // Chromium's own, which it may start meanwhile
	asBefore(t, d, before)
}
