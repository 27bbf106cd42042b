package browser

import (
	"testing"

	"github.com/browserd/browserd/protocol"
)

func TestAFloodOfEventsIsCutOff(t *testing.T) {
	told := map[string]int{}
	emit := limited(func(typ string, _ map[string]any) { told[typ]++ })
	for range 10 * eventsPerSecond {
		emit(protocol.EventConsoleError, nil)
	}
	emit(protocol.EventBrowserLost, nil)
	// A second may pass while the loop runs.
	if n := told[protocol.EventConsoleError]; n < eventsPerSecond || n > 3*eventsPerSecond {
		t.Errorf("%d events of %d were told, want about %d", n, 10*eventsPerSecond, eventsPerSecond)
	}
	if told[protocol.EventBrowserLost] != 1 {
		t.Error("an event that no page causes was left out")
	}
}
