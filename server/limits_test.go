package server

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/protocol"
)

// A frame beyond the limit closes its connection with 1009, and no other.
func TestOversizedFrame(t *testing.T) {
	d := start(t, nil)
	other := d.connect(t)
	before := heap()
	for _, size := range []int{4<<20 + 1, 10 << 20, 20 << 20} {
		c := d.connect(t)
		frame := append([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`), bytes.Repeat([]byte("a"), size)...)
		c.ws.WriteMessage(websocket.TextMessage, frame) // may fail: it is cut off in the middle
		if code := c.closed(); code != websocket.CloseMessageTooBig {
			t.Errorf("%d bytes: closed with %d, want 1009", size, code)
		}
	}
	if m := other.call(1, "ping", `{}`); m.Error != nil {
		t.Errorf("the other connection: %+v", m)
	}
	if grown := heap() - before; grown > 32<<20 {
		t.Errorf("%d bytes more are held", grown)
	}
	// The largest that is allowed.
	envelope := len(request(2, "ping", `{"x":""}`))
	m := other.call(2, "ping", `{"x":"`+strings.Repeat("a", 4<<20-envelope)+`"}`)
	if m.code() != protocol.InvalidParams {
		t.Errorf("4 MiB: %+v, want invalid_params", m)
	}
}

// What no WebSocket client library sends.
func TestRawFrames(t *testing.T) {
	d := start(t, nil)
	for name, test := range map[string]struct {
		send string
		want int // close code
	}{
		"declares 2^63-1 bytes":   {"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00aaaa", websocket.CloseMessageTooBig},
		"declares 2^64-1 bytes":   {"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00aaaa", websocket.CloseMessageTooBig},
		"not masked":              {"\x81\x02{}", websocket.CloseProtocolError},
		"reserved bits":           {"\xf1\x82\x00\x00\x00\x00{}", websocket.CloseProtocolError},
		"unknown opcode":          {"\x83\x82\x00\x00\x00\x00{}", websocket.CloseProtocolError},
		"continuation of nothing": {"\x80\x82\x00\x00\x00\x00{}", websocket.CloseProtocolError},
		"ping of 126 bytes":       {"\x89\xfe\x00\x7e\x00\x00\x00\x00" + strings.Repeat("a", 126), websocket.CloseProtocolError},
	} {
		t.Run(name, func(t *testing.T) {
			c := d.connect(t)
			if _, err := io.WriteString(c.ws.NetConn(), test.send); err != nil {
				t.Fatal(err)
			}
			if code := c.closed(); code != test.want {
				t.Errorf("closed with %d, want %d", code, test.want)
			}
		})
	}
	t.Run("100,000 fragments", func(t *testing.T) {
		c := d.connect(t)
		w := bufio.NewWriter(c.ws.NetConn())
		text := `{"jsonrpc":"2.0","id":1,"method":"ping"` + strings.Repeat(" ", 100000) + `}`
		for i := range len(text) {
			first := byte(0)
			if i == 0 {
				first = 1
			}
			if i == len(text)-1 {
				first |= 0x80
			}
			w.Write([]byte{first, 0x81, 0, 0, 0, 0, text[i]})
		}
		w.Flush()
		if m := c.message(); m.ID != 1.0 || m.Error != nil {
			t.Errorf("got %+v", m)
		}
	})
	t.Run("a flood of pings", func(t *testing.T) {
		c := d.connect(t)
		pongs := 0
		c.ws.SetPongHandler(func(string) error { pongs++; return nil })
		go func() {
			w := bufio.NewWriter(c.ws.NetConn())
			for range 100000 {
				w.WriteString("\x89\x81\x00\x00\x00\x00a")
			}
			w.Write(websocketText(request(1, "ping", `{}`)))
			w.Flush()
		}()
		if m := c.message(); m.ID != 1.0 {
			t.Errorf("got %+v", m)
		}
		if pongs == 0 {
			t.Error("no pong")
		}
	})
}

// websocketText is a masked text frame of less than 126 bytes.
func websocketText(s string) []byte {
	return append([]byte{0x81, 0x80 | byte(len(s)), 0, 0, 0, 0}, s...)
}

// A client that never reads is closed, holds a bounded amount of memory, and
// slows nobody down.
func TestSlowReader(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		frame  func(i int) string
	}{
		"answers, until the write deadline": {
			func(c *Config) { c.WriteTimeout = 3 * time.Second; c.MaxPending = 4 },
			func(i int) string { return request(i, "help", `{}`) },
		},
		"events, until too many lie there": {
			func(c *Config) { c.WriteTimeout = time.Minute; c.MaxPending = 4 },
			func(i int) string { return open(i, "one", "/flood?n=100000") },
		},
		"events, until they are too large": {
			func(c *Config) { c.WriteTimeout = time.Minute; c.SendBuffer = 1 << 20; c.ReadLimit = 1 << 20 },
			func(i int) string { return open(i, "one", "/large?n=3000000") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, test.change)
			other := d.connect(t)
			slow := d.connect(t)
			slow.call(1, "session_open", `{"name":"one"}`)
			before := heap()
			sent := make(chan struct{})
			go func() { // until it is cut off: its own requests are not read any more either
				defer close(sent)
				for i := 2; ; i++ {
					if slow.ws.WriteMessage(websocket.TextMessage, []byte(test.frame(i))) != nil {
						return
					}
				}
			}()
			var worst time.Duration
			for i := 1; ; i++ {
				since := time.Now()
				if m := other.call(i, "ping", `{}`); m.Error != nil {
					t.Fatalf("the other connection: %+v", m.Error)
				}
				worst = max(worst, time.Since(since))
				select {
				case <-sent:
				case <-time.After(time.Millisecond):
					if i > 20000 {
						t.Fatal("the slow reader is still connected")
					}
					continue
				}
				break
			}
			// Who waited for the slow one would have waited for its write deadline.
			if worst >= 3*time.Second {
				t.Errorf("a ping of another connection took %v", worst)
			}
			if grown := heap() - before; grown > 64<<20 {
				t.Errorf("%d bytes more are held", grown)
			}
			t.Logf("worst ping beside it: %v", worst)
		})
	}
}

// Each of a quota's limits holds by itself, and nothing is kept of who holds nothing.
func TestQuota(t *testing.T) {
	q := newQuota(&quota{what: "things", key: "all", part: "part", next: "wait", all: 10, perToken: 6, perAddress: 8})
	a, b := remoteNet("192.0.2.1:1").Addr(), remoteNet("192.0.2.2:1").Addr()
	at := func(token int, address netip.Addr) peer { return peer{token, netip.PrefixFrom(address, 32)} }
	for _, test := range []struct {
		who    peer
		n      int64
		quota  string // that refuses; empty: none
		status int
	}{
		{at(1, a), 6, "", 0},
		{at(1, b), 1, "part_per_token", 429},
		{at(2, a), 2, "", 0},
		{at(3, a), 1, "part_per_address", 429},
		{at(3, b), 3, "all", 503},
		{at(3, b), 2, "", 0},
		{at(1, a), 0, "", 0},
	} {
		err := q.take(test.who, test.n)
		switch {
		case err == nil && test.quota != "":
			t.Errorf("%v takes %d: no error, want that of %s", test.who, test.n, test.quota)
		case err != nil && (err.Code != protocol.RateLimited || err.Details["quota"] != test.quota || q.status(err) != test.status || err.Details["retry_after_s"] == nil || err.Next == ""):
			t.Errorf("%v takes %d: %+v, status %d", test.who, test.n, err, q.status(err))
		}
	}
	for _, back := range []struct {
		who peer
		n   int64
	}{{at(1, a), 6}, {at(2, a), 2}, {at(3, b), 2}} {
		q.give(back.who, back.n)
	}
	if q.held != 0 || len(q.tokens) != 0 || len(q.addresses) != 0 {
		t.Errorf("after all is given back: %d, %v, %v", q.held, q.tokens, q.addresses)
	}
}

// One token's connections, requests and MCP sessions take none of another's.
func TestTokensAreLimitedApart(t *testing.T) {
	d := start(t, func(c *Config) {
		c.Limits.ConnectionsPerToken, c.Limits.MCPSessionsPerToken = 2, 2
		c.Limits.QueuedBytesPerToken = c.ReadLimit + 1
	})
	alice := d.connect(t)
	d.connect(t)
	third, resp, err := websocket.DefaultDialer.Dial("ws://"+d.addr+"/v1/ws", http.Header{"Authorization": {"Bearer " + aliceToken}})
	if err == nil {
		third.Close()
		t.Fatal("a third connection of the token")
	}
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(body), `"quota":"server.limits.connections_per_token"`) {
		t.Errorf("a third connection: %d %v %s", resp.StatusCode, resp.Header, body)
	}
	bob := d.connectAs(t, bobToken)
	if m := bob.call(1, "ping", `{}`); m.Error != nil {
		t.Errorf("another token's connection: %+v", m)
	}

	// A request that waits leaves no place for a second large one; small ones go through.
	large := `{"url":"https://site.test/hold","a":"` + strings.Repeat("a", 3<<20) + `"}`
	alice.call(1, "session_open", `{"name":"one"}`)
	alice.send(open(2, "one", "/hold"))
	d.site.lines(t, 1)
	alice.send(open(3, "one", "/?"+strings.Repeat("a", 3<<20)))
	alice.send(`{"jsonrpc":"2.0","id":4,"method":"open","params":` + large + `}`)
	if m := alice.answer(); m.ID != 4. || m.code() != protocol.RateLimited || m.Error.Data.Details["quota"] != "server.limits.queued_bytes_per_token" {
		t.Errorf("a second large request: %+v", m)
	}
	alice.send(`{"jsonrpc":"2.0","params":` + large + `,"method":"open","id":5}`)
	if m := alice.answer(); m.ID != nil || m.code() != protocol.RateLimited {
		t.Errorf("one whose id comes behind its params: %+v", m)
	}
	if m := alice.call(6, "ping", `{}`); m.Error != nil {
		t.Errorf("a small request meanwhile: %+v", m)
	}
	bob.send(`{"jsonrpc":"2.0","id":2,"method":"open","params":` + large + `}`)
	if m := bob.answer(); m.code() != protocol.InvalidParams {
		t.Errorf("another token's large request: %+v, want invalid_params", m)
	}
	d.site.letGo("/hold")
	for range 2 {
		alice.answer()
	}
	if m := alice.call(7, "open", `{"a":"`+strings.Repeat("a", 3<<20)+`"}`); m.code() != protocol.InvalidParams {
		t.Errorf("a large request afterwards: %+v", m)
	}
	if d.queued.held != 0 {
		t.Errorf("%d bytes are still counted", d.queued.held)
	}
}

func TestFirstID(t *testing.T) {
	for frame, want := range map[string]string{
		`{"id":7,"method":"type","params":{"te`:      `7`,
		`{"jsonrpc":"2.0","id":"a","params":{"te`:    `"a"`,
		`{"params":{"text":"aaa`:                     `null`,
		`{"id":{"a":1},"params":{"text":"aaa`:        `null`,
		`{"id":"` + strings.Repeat("a", 300) + `","`: `null`,
		`{"id":"aaa`: `null`,
		`[{"id":1}`:  `null`,
		``:           `null`,
	} {
		if got := string(firstID([]byte(frame))); got != want {
			t.Errorf("%s: %s, want %s", frame, got, want)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestConnectionLimit(t *testing.T) {
	d := start(t, func(c *Config) { c.MaxConnections = 3 })
	clients := []*client{d.connect(t), d.connect(t), d.connect(t)}
	h := http.Header{"Authorization": {"Bearer " + aliceToken}}
	_, r, err := websocket.DefaultDialer.Dial("ws://"+d.addr+"/v1/ws", h)
	if err == nil || r == nil || r.StatusCode != http.StatusServiceUnavailable {
		t.Fatalf("the fourth: %v %v, want 503", r, err)
	}
	body, _ := io.ReadAll(r.Body)
	if !strings.Contains(string(body), "server.max_connections") {
		t.Errorf("the fourth: %s", body)
	}
	for i, c := range clients {
		if m := c.call(i, "ping", `{}`); m.Error != nil {
			t.Errorf("connection %d: %+v", i, m.Error)
		}
	}
	// A place that is given up can be taken.
	clients[0].ws.Close()
	limit := time.Now().Add(10 * time.Second)
	for {
		ws, _, err := websocket.DefaultDialer.Dial("ws://"+d.addr+"/v1/ws", h)
		if err == nil {
			ws.Close()
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("after one left: %v", err)
		}
	}
}
