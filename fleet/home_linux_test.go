package fleet

import (
	"testing"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
)

// The session of a token's requests that name none is the one that was named last at any node, each
// token's its own. Without the database nobody knows it.
func TestHomesOfAllNodes(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	one, two := joinTest(t, pg.DSN, "one"), joinTest(t, pg.DSN, "two")
	home := func(n *Node, agent string, token int, want string) {
		t.Helper()
		if got, err := Home(t.Context(), n, agent, token); err != nil || got != want {
			t.Errorf("%s, token %d: %q, %v; want %q", agent, token, got, err, want)
		}
	}
	set := func(n *Node, agent string, token int, session string) {
		t.Helper()
		if err := SetHome(t.Context(), n, agent, token, session); err != nil {
			t.Error(err)
		}
	}
	home(one, "ann", 1, "")
	set(one, "ann", 1, "shop")
	set(two, "ann", 2, "bank")
	set(two, "bob", 1, "news")
	home(two, "ann", 1, "shop")
	home(one, "ann", 2, "bank")
	set(two, "ann", 1, "mail")
	home(one, "ann", 1, "mail")
	home(one, "bob", 1, "news")

	pg.Freeze(t)
	if got, err := Home(t.Context(), one, "ann", 1); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("while the database is silent: %q, %v", got, err)
	}
	if err := SetHome(t.Context(), two, "ann", 1, "none"); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("while the database is silent: %v", err)
	}
}
