package live

import (
	"testing"

	"github.com/browserd/browserd/protocol"
)

// The timeline forgets a session when it ends or moves to another node.
func TestTimelineForgets(t *testing.T) {
	for _, gone := range []string{protocol.EventSessionClosing, protocol.EventSessionMoved} {
		line := NewTimeline(nil)
		tell := func(typ string, fields map[string]any) {
			line.record(protocol.Event{Type: typ, Agent: "ann", Session: "work", Fields: fields})
		}
		tell(protocol.EventCommand, map[string]any{"command": "open"})
		tell(protocol.EventDialog, map[string]any{"answer": "open", "kind": "alert"})
		if len(line.actions) != 1 || len(line.dialogs) != 1 {
			t.Fatalf("%v, %v", line.actions, line.dialogs)
		}
		tell(gone, nil)
		if len(line.actions) != 0 || len(line.dialogs) != 0 {
			t.Errorf("%s: %v, %v", gone, line.actions, line.dialogs)
		}
	}
}
