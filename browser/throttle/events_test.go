package throttle

import (
	"testing"

	"github.com/browserd/browserd/protocol"
)

func TestEventsAreThrottled(t *testing.T) {
	emitted := map[string]int{}
	emit := Events(func(typ string, _ map[string]any) { emitted[typ]++ })
	for range 10 * eventsPerSecond {
		emit(protocol.EventConsoleError, nil)
	}
	emit(protocol.EventBrowserLost, nil)
	// A second may pass while the loop runs.
	if n := emitted[protocol.EventConsoleError]; n < eventsPerSecond || n > 3*eventsPerSecond {
		t.Errorf("%d events of %d were emitted, want about %d", n, 10*eventsPerSecond, eventsPerSecond)
	}
	if emitted[protocol.EventBrowserLost] != 1 {
		t.Error("an event that no page causes was left out")
	}
}
