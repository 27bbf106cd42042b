package cdp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/gorilla/websocket"
)

// Exactly what is over the limit is removed, wherever the reads begin and end.
func TestLargeMessagesAreTruncated(t *testing.T) {
	event, answer := func(n int) string { return `{"method":"` + strings.Repeat("x", n) }, func(n int) string { return `{"id":1,"` + strings.Repeat("x", n) }
	in := []string{"", "{", `{"id":1}`, event(10), event(MaxEvent + 1000), event(1), answer(MaxEvent + 1000), `{"method":"Fetch.requestPaused","params":{"` + strings.Repeat("x", MaxEvent), event(MaxEvent - 11), "{}"}
	var want []int
	for _, m := range in {
		if strings.HasPrefix(m, `{"method":"x`) {
			want = append(want, min(len(m), MaxEvent))
		} else {
			want = append(want, len(m))
		}
	}
	for name, reader := range map[string]io.Reader{
		"as it comes":  strings.NewReader(strings.Join(in, "\x00") + "\x00"),
		"in halves":    iotest.HalfReader(strings.NewReader(strings.Join(in, "\x00") + "\x00")),
		"byte by byte": iotest.OneByteReader(strings.NewReader(strings.Join(in[:4], "\x00") + "\x00")),
	} {
		got, err := io.ReadAll(&limitedReader{ReadCloser: io.NopCloser(reader)})
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range bytes.Split(bytes.TrimSuffix(got, []byte{0}), []byte{0}) {
			if len(m) != want[i] || !strings.HasPrefix(in[i], string(m)) {
				t.Errorf("%s: message %d has %d bytes, want the first %d of %d", name, i, len(m), want[i], len(in[i]))
			}
		}
	}
}

// An event of 100 MB costs the daemon no more than one that it would read.
func TestAnEventThatIsTooLarge(t *testing.T) {
	c, p := newPeer(t)
	events := make(chan string, 10)
	c.Handle("", func(method string, _ jsonv2.Value) { events <- method })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fmt.Fprint(p.w, `{"method":"Runtime.consoleAPICalled","params":{"args":[{"value":"`)
	for range 100 {
		p.w.Write(bytes.Repeat([]byte("x"), 1<<20))
	}
	fmt.Fprint(p.w, "\"}]}}\x00{\"method\":\"Page.next\",\"params\":{}}\x00")
	select {
	case got := <-events:
		if got != "Page.next" {
			t.Errorf("told %s", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the event behind it was not told")
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 200 {
		t.Errorf("%d MiB were taken for it", took)
	}
}

// A session gets EventTooLarge in place of an event that is too large, wherever the reads
// begin and end, and the messages after it are read.
func TestTheSessionOfALargeEventIsTold(t *testing.T) {
	large := func(over int) string {
		const head, end = `{"method":"Runtime.consoleAPICalled","params":{"x":"`, `"},"sessionId":"AB12"}`
		return head + strings.Repeat("x", MaxEvent+over-len(head)-len(end)) + end
	}
	for over, told := range map[int]bool{0: false, 1: true, 20: true, 1000: true} {
		in := `{"id":1}` + "\x00" + large(over) + "\x00" + `{"id":2}` + "\x00"
		want := `{"id":1}` + "\x00" + large(over)[:MaxEvent] + "\x00"
		if told {
			want += `{"method":"browserd.eventTooLarge","params":{"method":"Runtime.consoleAPICalled"},"sessionId":"AB12"}` + "\x00"
		}
		want += `{"id":2}` + "\x00"
		for name, reader := range map[string]io.Reader{"as it comes": strings.NewReader(in), "in halves": iotest.HalfReader(strings.NewReader(in)), "with its end": iotest.DataErrReader(strings.NewReader(in))} {
			got, err := io.ReadAll(&limitedReader{ReadCloser: io.NopCloser(reader)})
			if err != nil || string(got) != want {
				t.Errorf("%d too many, %s: %v, %d bytes that end with %s", over, name, err, len(got), got[max(0, len(got)-200):])
			}
		}
	}
}

// An event of a remote Chromium that is too large takes no more memory, and does not end
// the connection.
func TestAnEventOfARemoteThatIsTooLarge(t *testing.T) {
	up := websocket.Upgrader{}
	heard := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		ws, err := up.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		_, said, err := ws.ReadMessage()
		heard <- fmt.Sprintf("%s:%s %s %v", user, password, said, err)
		m, _ := ws.NextWriter(websocket.TextMessage)
		io.WriteString(m, `{"method":"Runtime.consoleAPICalled","params":{"args":[{"value":"`)
		for range 300 {
			m.Write(bytes.Repeat([]byte("x"), 1<<20))
		}
		io.WriteString(m, `"}]},"sessionId":"AB12"}`)
		m.Close()
		ws.WriteMessage(websocket.TextMessage, []byte(`{"method":"Page.next","params":{}}`))
		ws.ReadMessage() // until the other side is gone
	}))
	defer s.Close()
	transport, err := Dial(t.Context(), strings.Replace(s.URL, "http://", "ws://ann:hush@", 1)+"/devtools/browser/1")
	if err != nil {
		t.Fatal(err)
	}
	c := New(transport)
	defer c.Close()
	events := make(chan string, 10)
	c.Handle("", func(method string, _ jsonv2.Value) { events <- method })
	c.Handle("AB12", func(method string, _ jsonv2.Value) { events <- method })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.Session("").Send("Browser.getVersion", nil)
	if got := <-heard; got != `ann:hush {"id":1,"method":"Browser.getVersion"} <nil>` {
		t.Errorf("the other side heard %s", got)
	}
	for _, want := range []string{EventTooLarge, "Page.next"} {
		select {
		case got := <-events:
			if got != want {
				t.Errorf("told %s, want %s", got, want)
			}
		case <-c.Done():
			t.Fatal(c.Err())
		case <-time.After(60 * time.Second):
			t.Fatalf("%s was not told", want)
		}
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 600 { // the writer's 300 among them
		t.Errorf("%d MiB were taken for it", took)
	}
}
