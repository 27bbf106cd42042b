package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/protocol"
)

// TestTranscripts plays what a client sends (>) and what must come back (<),
// whole. A string "*" in the wanted answer stands for anything.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/websocket/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	d := start(t, nil)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := d.connect(t)
			for n, line := range strings.Split(string(text), "\n") {
				switch mark, rest, _ := strings.Cut(line, " "); mark {
				case "", "#":
				case ">":
					c.send(rest)
				case ">binary":
					c.ws.WriteMessage(websocket.BinaryMessage, []byte(rest))
				case ">raw": // a Go string, for bytes that a text file cannot hold
					var raw string
					if _, err := fmt.Sscanf(rest, "%q", &raw); err != nil {
						t.Fatal(err)
					}
					c.send(raw)
				case "<":
					got := c.read()
					if diff := differ(t, got, rest); diff != "" {
						t.Errorf("%s:%d: got %s\n%s", file, n+1, got, diff)
					}
				default:
					t.Fatalf("%s:%d: %s", file, n+1, line)
				}
			}
			// Whatever was sent, the connection goes on.
			if m := c.call(4711, "ping", `{}`); m.Result["pong"] != true {
				t.Errorf("ping afterwards: %+v", m)
			}
		})
	}
}

func differ(t *testing.T, got, want string) string {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	return cmp.Diff(g, w, cmp.FilterValues(func(a, b any) bool { return a == "*" || b == "*" }, cmp.Ignore()))
}

func TestHello(t *testing.T) {
	d := start(t, nil)
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+d.addr+"/v1/ws", http.Header{"Authorization": {"Bearer " + bobToken}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	_, got, err := ws.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"jsonrpc":"2.0","method":"event","params":{"agent":"bob","protocol":1,"sources":["chromium","http"],"type":"hello","version":"test"}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSubprotocol(t *testing.T) {
	d := start(t, nil)
	for offered, want := range map[string]string{"": "", "browserd.v1": "browserd.v1", "other.v9": "", "other.v9, browserd.v1": "browserd.v1"} {
		h := http.Header{"Authorization": {"Bearer " + aliceToken}}
		if offered != "" {
			h.Set("Sec-WebSocket-Protocol", offered)
		}
		compressing := websocket.Dialer{EnableCompression: true}
		ws, r, err := compressing.Dial("ws://"+d.addr+"/v1/ws", h)
		if err != nil {
			t.Errorf("offering %q: %v", offered, err)
			continue
		}
		if ws.Subprotocol() != want || r.Header.Get("Sec-WebSocket-Extensions") != "" {
			t.Errorf("offering %q: agreed on %q, extensions %q", offered, ws.Subprotocol(), r.Header.Get("Sec-WebSocket-Extensions"))
		}
		ws.Close()
	}
}

// A connection that waits, as most do while a model thinks, holds nothing of its HTTP request: net/http's
// goroutine, with the stack that the handshake grew, has ended.
func TestUpgradedConnectionsLeaveNetHTTP(t *testing.T) {
	d := start(t, nil)
	for range 3 {
		d.connect(t)
	}
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		var stacks strings.Builder
		pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		if !strings.Contains(stacks.String(), "(*Server).serveWebSocket") {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("net/http serves connections that it has given away:\n%s", &stacks)
		}
	}
}

// A fault of the daemon's own ends the connection that it happens on, with its goroutines, and no other.
func TestPanicEndsItsConnection(t *testing.T) {
	var log lockedBuffer
	d := startLogging(t, nil, &log)
	c := d.connect(t)
	d.requests = nil // what counts the requests: reading the next frame panics
	c.send(request(1, "ping", "{}"))
	c.closed()
	for limit := time.Now().Add(10 * time.Second); !strings.Contains(log.String(), "connection panicked"); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not logged:\n%s", &log)
		}
	}
	if !strings.Contains(log.String(), "connection ended") {
		t.Errorf("what the connection had was not given back:\n%s", &log)
	}
	d.connect(t)
}

// A handshake with a body is refused, an agent's and a view's: the body would be taken for frames.
func TestHandshakeWithABody(t *testing.T) {
	d := start(t, nil)
	for _, c := range []struct{ path, field, body string }{
		{"/v1/ws", "Content-Length: 4", "abcd"},
		{"/v1/ws", "Transfer-Encoding: chunked", "4\r\nabcd\r\n0\r\n\r\n"},
		{"/view/v/ws", "Content-Length: 4", "abcd"},
	} {
		conn, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n\r\n%s", c.path, d.addr, aliceToken, c.field, c.body)
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(r.Body)
		if r.StatusCode != http.StatusBadRequest || !strings.Contains(string(answer), `"the WebSocket handshake has a body"`) {
			t.Errorf("%s, %s: %s %s", c.path, c.field, r.Status, answer)
		}
	}
}

// Commands of one session run in the order in which their frames were sent,
// while another session overtakes them.
func TestOrder(t *testing.T) {
	d := start(t, nil)
	c := d.connect(t)
	c.call(1, "session_open", `{"name":"slow"}`)
	c.call(2, "session_open", `{"name":"quick"}`)
	c.send(open(10, "slow", "/hold/1"))
	d.site.lines(t, 1)
	var slow []string
	for i := range 8 {
		c.send(open(11+i, "slow", fmt.Sprintf("/%d", i)))
		slow = append(slow, fmt.Sprintf("open /%d", i), fmt.Sprintf("end /%d", i))
	}
	if m := c.call(30, "open", `{"session":"quick","url":"https://site.test/quick"}`); m.Error != nil {
		t.Fatalf("the other session: %+v", m.Error)
	}
	if m := c.call(31, "ping", `{}`); m.Error != nil {
		t.Fatalf("ping: %+v", m.Error)
	}
	d.site.letGo("/hold/1")
	answered := map[any]bool{}
	for range 9 {
		m := c.answer()
		if m.Error != nil {
			t.Fatalf("%v: %+v", m.ID, m.Error)
		}
		answered[m.ID] = true
	}
	if len(answered) != 9 {
		t.Errorf("answered: %v", answered)
	}
	want := append([]string{"open /hold/1", "open /quick", "end /quick", "end /hold/1"}, slow...)
	if diff := cmp.Diff(d.site.lines(t, len(want)), want); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
}

func TestCancel(t *testing.T) {
	d := start(t, nil)
	c := d.connect(t)
	other := d.connect(t)
	c.call(1, "session_open", `{"name":"one"}`)
	c.send(open(10, "one", "/hold/a"), open(11, "one", "/queued"), open(12, "one", "/after"))
	d.site.lines(t, 1)

	if m := other.call(1, "cancel", `{"id":10}`); m.Error == nil && m.Result["cancelled"] == true {
		t.Errorf("another connection's cancel: %+v", m.Result)
	}
	got := map[float64]protocol.Code{}
	c.send(request(20, "cancel", `{"id":11}`)) // queued: it answers before the one that runs
	for range 2 {
		m := c.answer()
		got[m.ID.(float64)] = m.code()
	}
	c.send(request(21, "cancel", `{"id":10}`))
	for range 3 {
		m := c.answer()
		got[m.ID.(float64)] = m.code()
	}
	want := map[float64]protocol.Code{10: protocol.Cancelled, 11: protocol.Cancelled, 12: "", 20: "", 21: ""}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("codes, got before want:\n%s", diff)
	}
	lines := d.site.lines(t, 4)
	if want := []string{"open /hold/a", "end /hold/a: cancelled", "open /after", "end /after"}; !slices.Equal(lines, want) {
		t.Errorf("the site saw %q, want %q", lines, want)
	}
	// An id is free again once its request was answered; cancelling it is nothing.
	if m := c.call(10, "ping", `{}`); m.Error != nil {
		t.Errorf("the id again: %+v", m.Error)
	}
}

// An id that is still running is not taken twice, and its request goes on.
func TestDuplicateID(t *testing.T) {
	d := start(t, nil)
	c := d.connect(t)
	c.call(1, "session_open", `{"name":"one"}`)
	hold := `{"jsonrpc":"2.0","id":"a\u0062","method":"open","params":{"session":"one","url":"https://site.test/hold"}}`
	c.send(hold, `{"jsonrpc":"2.0","id":"ab","method":"ping"}`)
	if m := c.answer(); m.ID != "ab" || m.code() != protocol.InvalidRequest {
		t.Errorf("got %v %v, want invalid_request", m.ID, m.code())
	}
	d.site.letGo("/hold")
	if m := c.answer(); m.ID != "ab" || m.Error != nil {
		t.Errorf("the first: %v %+v", m.ID, m.Error)
	}
}

// A notification runs and is not answered, whatever comes of it.
func TestNotification(t *testing.T) {
	d := start(t, nil)
	c := d.connect(t)
	c.call(1, "session_open", `{"name":"one"}`)
	c.send(`{"jsonrpc":"2.0","method":"open","params":{"session":"one","url":"https://site.test/silent"}}`,
		`{"jsonrpc":"2.0","method":"nope"}`,
		`{"jsonrpc":"2.0","method":"ping","params":[1]}`)
	d.site.lines(t, 2)
	if m := c.answer2(t, "navigated"); m.ID != nil {
		t.Errorf("got %+v", m)
	}
	c.send(request(2, "ping", `{}`))
	if m := c.message(); m.ID != float64(2) {
		t.Errorf("something was answered before: %+v", m)
	}
}

// answer2 reads the next frame, which must be an event of that type.
func (c *client) answer2(t *testing.T, typ string) message {
	t.Helper()
	m := c.message()
	if m.Params["type"] != typ {
		t.Fatalf("got %+v, want the event %s", m, typ)
	}
	return m
}

// Beyond max_pending a request is refused at once, and cancel still works.
func TestMaxPending(t *testing.T) {
	d := start(t, func(c *Config) { c.MaxPending = 4 })
	c := d.connect(t)
	c.call(1, "session_open", `{"name":"one"}`)
	for i := range 4 {
		c.send(open(10+i, "one", fmt.Sprintf("/hold/%d", i)))
	}
	m := c.call(20, "open", `{"session":"one","url":"https://site.test/"}`)
	if m.code() != protocol.RateLimited || m.Error.Data.Details["limit"] != 4.0 {
		t.Errorf("the fifth: %+v", m.Error)
	}
	for i := range 4 {
		c.send(request(30+i, "cancel", fmt.Sprintf(`{"id":%d}`, 10+i)))
	}
	cancelled := 0
	for range 8 {
		if m := c.answer(); m.code() == protocol.Cancelled {
			cancelled++
		} else if m.Error != nil {
			t.Errorf("%v: %+v", m.ID, m.Error)
		}
	}
	if cancelled != 4 {
		t.Errorf("%d cancelled, want 4", cancelled)
	}
}

// A flood is answered one by one, within the limits of the connection.
func TestFlood(t *testing.T) {
	d := start(t, func(c *Config) { c.MaxPending = 8 })
	c := d.connect(t)
	c.call(1, "session_open", `{"name":"one"}`)
	const n = 5000
	go func() {
		for i := range n {
			if c.ws.WriteMessage(websocket.TextMessage, []byte(open(100+i, "one", "/"))) != nil {
				return
			}
		}
	}()
	most := 0
	for range n {
		m := c.answer()
		if m.Error != nil && m.code() != protocol.RateLimited {
			t.Fatalf("%+v", m.Error)
		}
		most = max(most, runtime.NumGoroutine())
	}
	if most > 100 {
		t.Errorf("%d goroutines at once", most)
	}
}

// A lost connection cancels what it runs, and its session can be used again by name.
func TestLostConnection(t *testing.T) {
	d := start(t, nil)
	c := d.connect(t)
	c.call(1, "session_open", `{"name":"kept"}`)
	c.send(open(2, "kept", "/hold"))
	d.site.lines(t, 1)
	c.ws.NetConn().Close()
	if got, want := d.site.lines(t, 2), []string{"open /hold", "end /hold: cancelled"}; !slices.Equal(got, want) {
		t.Errorf("the site saw %q, want %q", got, want)
	}
	again := d.connect(t)
	if m := again.call(1, "open", `{"session":"kept","url":"https://site.test/again"}`); m.Error != nil {
		t.Errorf("the session: %+v", m.Error)
	}
	stranger := d.connectAs(t, bobToken)
	if m := stranger.call(1, "open", `{"session":"kept","url":"https://site.test/"}`); m.code() != protocol.SessionNotFound {
		t.Errorf("another agent: %+v", m)
	}
	// Which names it has taken, another agent does not learn by trying.
	if m := stranger.call(2, "session_open", `{"name":"kept"}`); m.Error != nil {
		t.Errorf("a name that another agent uses: %+v", m.Error)
	}
	if m := stranger.call(3, "session_open", `{"name":"kept"}`); m.code() != protocol.InvalidParams {
		t.Errorf("a name that it uses itself: %+v", m)
	}
	if m := again.call(2, "snapshot", `{"session":"kept"}`); m.Error != nil {
		t.Errorf("the first agent's own: %+v", m.Error)
	}
}

func TestEvents(t *testing.T) {
	d := start(t, nil)
	c, idle, stranger := d.connect(t), d.connect(t), d.connectAs(t, bobToken)
	c.call(1, "session_open", `{"name":"one"}`)

	// What a command causes is told before its answer.
	c.send(open(2, "one", "/flood?n=3"))
	var got []string
	for range 5 {
		m := c.message()
		if m.Params == nil {
			got = append(got, fmt.Sprintf("answer %v", m.ID))
		} else {
			got = append(got, fmt.Sprintf("%v %v", m.Params["type"], m.Params["session"]))
		}
	}
	want := []string{"console_error one", "console_error one", "console_error one", "navigated one", "answer 2"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got before want:\n%s", diff)
	}
	// Neither to a connection of the same agent that has not named the session, nor to another agent.
	for _, other := range []*client{idle, stranger} {
		other.send(request(1, "ping", `{}`))
		if m := other.message(); m.ID != 1.0 {
			t.Errorf("an event came: %+v", m)
		}
	}

	subscribe := func(id int, events, next string) {
		t.Helper()
		if m := c.call(id, "subscribe", `{"events":`+events+`}`); m.Error != nil {
			t.Fatal(m.Error)
		}
		c.send(open(id+1, "one", "/flood?n=1"))
		if m := c.message(); fmt.Sprint(m.Params["type"]) != next {
			t.Errorf("subscribed to %s: got %+v first, want %s", events, m, next)
		}
	}
	subscribe(10, `["navigated"]`, "navigated")
	c.answer()
	subscribe(20, `[]`, "<nil>")
	subscribe(30, `["console_error","navigated"]`, "console_error")
	c.answer()
	m := c.call(40, "subscribe", `{"events":["console_error","nonsense"]}`)
	if m.code() != protocol.InvalidParams || !strings.Contains(fmt.Sprint(m.Error.Data.Details), "session_closing") {
		t.Errorf("an unknown type: %+v", m.Error)
	}
}

// A connection that answers no ping is closed; one that does stays.
func TestPing(t *testing.T) {
	d := start(t, func(c *Config) { c.PingInterval = time.Second })
	alive, dead := d.connect(t), d.connect(t)
	pings := make(chan struct{}, 100)
	alive.ws.SetPingHandler(func(data string) error {
		pings <- struct{}{}
		return alive.ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
	})
	dead.ws.SetPingHandler(func(string) error { return nil })
	read := make(chan struct{})
	go func() { defer close(read); alive.ws.SetReadDeadline(time.Time{}); alive.ws.ReadMessage() }()
	if code := dead.closed(); code != 0 {
		t.Errorf("closed with %d", code)
	}
	deadline := time.After(40 * time.Second)
	for n := range 4 {
		select {
		case <-pings:
		case <-read:
			t.Fatalf("the connection that answers pings was closed after %d", n)
		case <-deadline:
			t.Fatalf("%d pings came, want 4", n)
		}
	}
	alive.ws.Close()
	<-read
}

// A failure without a code is internal: its text stays in the log, a panic's
// does not even get there, and params never do.
func TestInternal(t *testing.T) {
	var log lockedBuffer
	d := startLogging(t, nil, &log)
	c := d.connect(t)
	for i, path := range []string{"/broken", "/panic"} {
		m := c.call(i+1, "open", `{"url":"https://site.test`+path+`?secret=hunter2"}`)
		incident, _ := m.Error.Data.Details["incident"].(string)
		if m.code() != protocol.Internal || incident == "" || strings.Contains(fmt.Sprintf("%+v", m.Error), "canary") {
			t.Errorf("%s: %+v", path, m.Error)
		}
		if !strings.Contains(log.String(), incident) {
			t.Errorf("%s: the incident is not in the log", path)
		}
	}
	if m := c.call(9, "ping", `{}`); m.Error != nil {
		t.Errorf("ping: %+v", m.Error)
	}
	text := log.String()
	if !strings.Contains(text, "a canary that belongs in the log") {
		t.Error("the cause is not in the log")
	}
	for _, never := range []string{"belongs nowhere", "hunter2", aliceToken} {
		if strings.Contains(text, never) {
			t.Errorf("the log holds %q", never)
		}
	}
	want := `browserd_commands_total{code="internal",command="open",source=""} 2
browserd_commands_total{code="ok",command="ping",source=""} 1
`
	shown := httptest.NewRecorder()
	d.dispatch.metrics.handler().ServeHTTP(shown, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	got := ""
	for line := range strings.Lines(shown.Body.String()) {
		if strings.HasPrefix(line, "browserd_commands_total{") {
			got += line
		}
	}
	if got != want {
		t.Errorf("counted\n%swant\n%s", got, want)
	}
}
