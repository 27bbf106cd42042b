package browser

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// What is cut is what is too much, wherever the reads begin and end.
func TestMessagesAreCut(t *testing.T) {
	event, answer := func(n int) string { return `{"method":"` + strings.Repeat("x", n) }, func(n int) string { return `{"id":1,"` + strings.Repeat("x", n) }
	in := []string{"", "{", `{"id":1}`, event(10), event(maxEvent + 1000), event(1), answer(maxEvent + 1000), `{"method":"Fetch.requestPaused","params":{"` + strings.Repeat("x", maxEvent), event(maxEvent - 11), "{}"}
	var want []int
	for _, m := range in {
		if strings.HasPrefix(m, `{"method":"x`) {
			want = append(want, min(len(m), maxEvent))
		} else {
			want = append(want, len(m))
		}
	}
	for name, reader := range map[string]io.Reader{
		"as it comes":  strings.NewReader(strings.Join(in, "\x00") + "\x00"),
		"in halves":    iotest.HalfReader(strings.NewReader(strings.Join(in, "\x00") + "\x00")),
		"byte by byte": iotest.OneByteReader(strings.NewReader(strings.Join(in[:4], "\x00") + "\x00")),
	} {
		got, err := io.ReadAll(&bounded{ReadCloser: io.NopCloser(reader)})
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
