package throttle

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserd/browserd/browser/cdp"
)

// Where a busy machine takes little of what a page says in a second, the rest waits in Chromium,
// and what others have asked for waits behind it: such a page is throttled however slowly it comes.
func TestLongLinesThatComeSlowlyAreThrottled(t *testing.T) {
	for _, row := range []struct {
		name      string
		bytes     int
		every     time.Duration
		throttled bool
	}{
		{"a megabyte at once, and again", 1 << 20, time.Millisecond, true},
		{"a megabyte a second", 1 << 20, time.Second, true},
		{"half a megabyte a second", 1 << 19, time.Second, true},
		{"a hundred kilobytes a second", 100 << 10, time.Second, false},
		{"a kilobyte five hundred times a second", 1 << 10, 2 * time.Millisecond, true},
		{"a hundred bytes five hundred times a second", 100, 2 * time.Millisecond, false},
		{"a line of five megabytes in five minutes", 5 << 20, 5 * time.Minute, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := cdp.New(silence{make(chan struct{})})
				defer conn.Close()
				life, end := context.WithCancel(t.Context())
				defer end()
				began := 0
				throttle := New(life, func(*cdp.Session, string, time.Duration) { began++ })
				s := conn.Session("of the page")
				for start := time.Now(); time.Since(start) < max(time.Minute, 3*row.every) && began == 0; time.Sleep(row.every) {
					throttle.Drop(s, "Runtime.consoleAPICalled", row.bytes)
				}
				if throttled := began > 0; throttled != row.throttled {
					t.Errorf("throttled: %t, want %t", throttled, row.throttled)
				}
			})
		})
	}
}

// silence is a Chromium that says nothing.
type silence struct{ closed chan struct{} }

func (s silence) Read(context.Context, *cdp.Message) error {
	<-s.closed
	return io.EOF
}
func (silence) Write(context.Context, *cdp.Message) error { return nil }
func (s silence) Close() error {
	close(s.closed)
	return nil
}
