package fleet_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// What an agent was given cannot be read at a node that has its lease again: of the agent's commands none acts there or
// shows anything, whichever node they come to, and the error says so at once. Those of other agents go on. When the row is
// gone the agent's session goes on where it was.
func TestOneAgentsSecretsCannotBeRead(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := fleet.NewFaultyProxy(t, pg.DSN)
	acted := make(chan string, 99)
	acts := func(_ context.Context, c *command.Call) error { acted <- c.Caller.Agent; return nil }
	a := startDaemon(t, net.DSN, "a", acts)
	b := startDaemon(t, pg.DSN, "b", acts)
	agents := []string{"agent", "bob"}
	for _, agent := range agents {
		if _, err := a.runtime.Sessions.Open(agent, session.Options{Name: "work"}); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("pgx", pg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO given (agent, tag, code, value, at) VALUES ('agent', 'tag', false, 'garbage', clock_timestamp())"); err != nil {
		t.Fatal(err)
	}
	net.Drop(fleet.DropRequests)
	fleet.Await(t, "the lease is over", func() bool { return a.node.CheckLease() != nil })
	net.Drop(fleet.DropNothing)
	fleet.Await(t, "the node has its lease", func() bool { return a.node.CheckLease() == nil })
	for _, d := range []*daemon{a, b} {
		for _, method := range []string{"act", "look", "fetch"} {
			for _, agent := range agents {
				where := "work"
				if method == "fetch" {
					where = ""
				}
				began := time.Now()
				got := d.await(d.send(&command.Caller{Agent: agent, Token: 1}, method, where))
				if agent == "bob" || method == "fetch" && d == b {
					if got.err != nil {
						t.Errorf("%s of %s at node %d: %v", method, agent, d.node.Number(), got.err)
					}
					<-acted
					continue
				}
				e, is := got.err.(*protocol.Error)
				if !is || e.Code != protocol.FleetUnavailable || e.Details["reason"] != fleet.ReasonUnreadable || e.Next == "" || time.Since(began) > 5*time.Second {
					t.Errorf("%s of %s at node %d: %v after %v", method, agent, d.node.Number(), got.err, time.Since(began))
				}
			}
		}
	}
	if len(acted) > 0 {
		t.Errorf("commands of %s have acted", <-acted)
	}
	if _, err := db.Exec("DELETE FROM given"); err != nil {
		t.Fatal(err)
	}
	fleet.Await(t, "the node acts for the agent", func() bool { return a.node.CheckAgent("agent") == nil })
	for _, d := range []*daemon{a, b} {
		if got := d.await(d.send(agent(), "act", "work")); got.err != nil || got.node != a.node.Number() {
			t.Errorf("at node %d: %v", d.node.Number(), got)
		}
	}
}
