package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
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
	// Beyond those that are told, connections are closed without a word.
	var quiet []net.Conn
	for range 3 + refusals {
		n, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		quiet = append(quiet, n)
	}
	last := quiet[len(quiet)-1]
	last.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := last.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("reading from the last: %v, want its end", err)
	}
	for i, c := range clients {
		if m := c.call(i, "ping", `{}`); m.Error != nil {
			t.Errorf("connection %d: %+v", i, m.Error)
		}
	}
	for _, n := range quiet {
		n.Close()
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
