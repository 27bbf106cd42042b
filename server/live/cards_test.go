package live

import (
	"log/slog"
	"testing"
	"time"

	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// refusing is a session.Fleet that lets nothing be done.
type refusing struct {
	session.Fleet
	err *protocol.Error
}

func (r refusing) CheckAgent(string) error { return r.err }

// checkCard says why a card may not be shown: because the lease is over, or because a row of the database
// cannot be read.
func TestACardSaysWhyItIsNotShown(t *testing.T) {
	m := session.NewManager(session.Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, nil, slog.New(slog.DiscardHandler))
	s, err := m.Open("ann", session.Options{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkCard(s); err != nil {
		t.Errorf("a session that may be shown: %v", err)
	}
	over := protocol.Errorf(protocol.FleetUnavailable, "the lease is over")
	unread := protocol.Errorf(protocol.FleetUnavailable, "a row").With("reason", fleet.ReasonUnreadable)
	for refused, want := range map[*protocol.Error]string{over: "its node has no lease", unread: "its node cannot read all that the agent was given of its secrets"} {
		m.Fleet = refusing{err: refused}
		if said, is := checkCard(s).(*protocol.Error); !is || said.Code != protocol.FleetUnavailable || said.Message != want {
			t.Errorf("%v is %v", refused, said)
		}
	}
}
