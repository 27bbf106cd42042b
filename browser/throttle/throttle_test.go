package throttle

import (
	"context"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/browserd/browserd/browser/cdp"
)

// Where a busy machine takes little of what a page says in a second, the rest waits in Chromium,
// and what others have asked for waits behind it: such a page is throttled however slowly it comes. A page that only
// streams by a WebSocket is not.
func TestMuchThatComesSlowlyIsThrottled(t *testing.T) {
	const console, frame = "Runtime.consoleAPICalled", "Network.webSocketFrameReceived"
	for _, row := range []struct {
		name      string
		method    string
		bytes     int
		every     time.Duration
		throttled bool
	}{
		{"a megabyte at once, and again", console, 1 << 20, time.Millisecond, true},
		{"a megabyte a second", console, 1 << 20, time.Second, true},
		{"half a megabyte a second", console, 1 << 19, time.Second, true},
		{"a hundred kilobytes a second", console, 100 << 10, time.Second, false},
		{"a kilobyte five hundred times a second", console, 1 << 10, 2 * time.Millisecond, true},
		{"a hundred bytes five hundred times a second", console, 100, 2 * time.Millisecond, false},
		{"a line of five megabytes in five minutes", console, 5 << 20, 5 * time.Minute, false},
		{"a WebSocket of two megabytes a second", frame, (64 << 10) * 4 / 3, time.Second / 32, false},
		{"a WebSocket of four megabytes a second", frame, (64 << 10) * 4 / 3, time.Second / 64, true},
		{"a data: URL of a hundred kilobytes ten times a second, told twice", frame, 100 << 10, time.Second / 20, false},
		{"a data: URL of a megabyte ten times a second", frame, 1 << 20, time.Second / 10, true},
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
					throttle.Drop(s, row.method, row.bytes)
				}
				if throttled := began > 0; throttled != row.throttled {
					t.Errorf("throttled: %t, want %t", throttled, row.throttled)
				}
			})
		})
	}
}

// The pause is doubled while the page goes on, also where it says little at a time and much of it, and begins anew
// where the page was quiet for a time.
func TestThePauseIsDoubledWhileThePageGoesOn(t *testing.T) {
	for _, row := range []struct {
		name  string
		bytes int
		every time.Duration
	}{
		{"nine hundred kilobytes, twenty times a second", 900_000, 50 * time.Millisecond},
		{"half a megabyte a second", 1 << 19, time.Second},
		{"ten bytes, two thousand times a second", 10, 500 * time.Microsecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := cdp.New(silence{make(chan struct{})})
				defer conn.Close()
				life, end := context.WithCancel(t.Context())
				defer end()
				var pauses []time.Duration
				throttle := New(life, func(_ *cdp.Session, _ string, pause time.Duration) { pauses = append(pauses, pause) })
				s := conn.Session("of the page")
				flood := func(until int) {
					for start := time.Now(); len(pauses) < until && time.Since(start) < 5*time.Minute; time.Sleep(row.every) {
						throttle.Drop(s, "Runtime.consoleAPICalled", row.bytes)
					}
				}
				flood(5)
				time.Sleep(time.Minute)
				flood(6)
				if want := []time.Duration{1, 2, 4, 8, 8, 1}; !slices.EqualFunc(pauses, want, func(a, b time.Duration) bool { return a == b*time.Second }) {
					t.Errorf("the pauses are %v, want %d seconds", pauses, want)
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
