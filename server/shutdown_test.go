package server

import (
	"bytes"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/browserd/browserd/protocol"
)

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Running commands may end within the grace time; new ones are refused; then
// clients are told and closed with 1001.
func TestShutdown(t *testing.T) {
	d := start(t, nil)
	c := d.connect(t)
	c.call(1, "session_open", `{"name":"one"}`)
	c.send(open(2, "one", "/hold"))
	d.site.lines(t, 1)
	d.stop()
	for { // until it is heard
		if m := c.call(3, "ping", `{}`); m.code() == protocol.ShuttingDown {
			break
		}
	}
	if conn, err := net.Dial("tcp", d.addr); err == nil {
		conn.SetReadDeadline(time.Now().Add(time.Second)) // it may have been taken just before, and no time is left for the command then
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a connection was taken")
		}
		conn.Close()
	}
	d.site.letGo("/hold")
	var got []string
	for {
		c.ws.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, frame, err := c.ws.ReadMessage()
		if websocket.IsCloseError(err, websocket.CloseGoingAway) {
			got = append(got, "closed 1001")
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{`"result"`, `"navigated"`, `"session_closing"`} {
			if strings.Contains(string(frame), word) {
				got = append(got, word)
				break
			}
		}
	}
	if want := []string{`"navigated"`, `"result"`, `"session_closing"`, "closed 1001"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := <-d.done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// What does not end by itself answers shutting_down, over both transports, and a
// client that does not read delays nothing beyond closeWait.
func TestShutdownCutsOff(t *testing.T) {
	d := start(t, func(c *Config) { c.ShutdownTimeout = 200 * time.Millisecond })
	c := d.connect(t)
	deaf := d.connect(t)
	deaf.send(request(1, "ping", `{}`))
	c.call(1, "session_open", `{"name":"one"}`)
	c.send(open(2, "one", "/hold/ws"), open(3, "one", "/queued"))
	answered := make(chan string, 1)
	go func() {
		status, body := d.post(t, "open", `{"url":"https://site.test/hold/http"}`)
		answered <- http.StatusText(status) + " " + body
	}()
	d.site.lines(t, 2)
	since := time.Now()
	d.stop()
	for _, id := range []float64{2, 3} {
		if m := c.answer(); m.code() != protocol.ShuttingDown || m.ID != 2.0 && m.ID != 3.0 {
			t.Errorf("%v: %v %+v", id, m.ID, m.Error)
		}
	}
	if a := <-answered; !strings.HasPrefix(a, "Service Unavailable") || !strings.Contains(a, `"shutting_down"`) {
		t.Errorf("HTTP: %s", a)
	}
	if code := c.closed(); code != websocket.CloseGoingAway {
		t.Errorf("closed with %d, want 1001", code)
	}
	if err := <-d.done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if took := time.Since(since); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}
