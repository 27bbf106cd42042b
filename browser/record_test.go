package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
)

// What is kept of the network comes back as it came, oldest first, without gaps,
// packed or not; it is bounded, and packed it is small.
func TestRecorderPacks(t *testing.T) {
	c := &Context{}
	event := func(n int) string {
		return fmt.Sprintf(`{"requestId":"%d","request":{"url":"https://example.com/%d","headers":{"User-Agent":"%s"}}}`, n, n, strings.Repeat("Mozilla ", 100))
	}
	const sent = 3000
	for n := 1; n <= sent; n++ {
		c.mu.Lock()
		c.recorder.record(nil, nil, "Network.requestWillBeSent", jsonv2.Value(event(n)), &c.mu)
		c.mu.Unlock()
		if n%500 != 0 {
			continue
		}
		events, next := c.network() // some blocks are packed by now, others not
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
	eventually(t, 10*time.Second, "packed", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, b := range c.recorder.blocks {
			if b.packed == nil {
				return false
			}
		}
		return true
	})
	events, _ := c.network()
	kept, packed := 0, 0
	for _, e := range events {
		kept += len(e.params)
	}
	for _, b := range c.recorder.blocks {
		packed += len(b.packed)
	}
	if kept > networkKept || kept < networkKept-2*blockSize || packed*8 > kept {
		t.Errorf("%d events of %d bytes, packed to %d; %d bytes may be kept", len(events), kept, packed, networkKept)
	}
}
