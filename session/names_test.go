package session

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

// What an error says of a name that is too long is cut between its characters.
func TestALongNameInAnError(t *testing.T) {
	m := NewManager(Config{}, &fakeChromium{}, slog.New(slog.DiscardHandler))
	_, err := m.Get("alice", "a"+strings.Repeat("ä", 100))
	e, _ := err.(*protocol.Error)
	if e == nil || e.Code != protocol.SessionNotFound {
		t.Fatal(err)
	}
	if d := cmp.Diff("a"+strings.Repeat("ä", 63)+"…", e.Details["session"]); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
