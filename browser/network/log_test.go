package network

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// What is kept of the network comes back as it came, oldest first, without gaps,
// compressed or not; it is bounded, and compressed it is small.
func TestLogCompresses(t *testing.T) {
	l := &Log{}
	event := func(n int) string {
		return fmt.Sprintf(`{"requestId":"%d","request":{"url":"https://example.com/%d","headers":{"User-Agent":"%s"}}}`, n, n, strings.Repeat("Mozilla ", 100))
	}
	const sent = 3000
	for n := 1; n <= sent; n++ {
		l.Record("t1", nil, "Network.requestWillBeSent", jsonv2.Value(event(n)))
		if n%500 != 0 {
			continue
		}
		events, next := l.all() // some blocks are compressed by now, others not
		if next != n {
			t.Fatalf("next %d after %d events", next, n)
		}
		for i, e := range events {
			number := next - len(events) + 1 + i
			if e.number != number || string(e.params) != event(number) {
				t.Fatalf("event %d is %d, %s", number, e.number, e.params)
			}
		}
	}
	all := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, b := range l.blocks {
			if b.compressed == nil {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(10 * time.Second); !all(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the blocks are not compressed after 10 s")
		}
	}
	events, _ := l.all()
	kept, compressed := 0, 0
	for _, e := range events {
		kept += len(e.params)
	}
	for _, b := range l.blocks {
		compressed += len(b.compressed)
	}
	if kept > maxEventBytes || kept < maxEventBytes-2*maxBlockBytes || compressed*8 > kept {
		t.Errorf("%d events of %d bytes, compressed to %d; %d bytes may be kept", len(events), kept, compressed, maxEventBytes)
	}
}
