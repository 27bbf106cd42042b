package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
)

// Whoever names nodes that nobody knows, as often as they can, costs the database a reading a second and the node no memory.
// A node that has just joined is found meanwhile.
func TestUnknownNodes(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a := joinTest(t, dsn, "a")
	b := joinTest(t, dsn, "b")
	began := time.Now()
	var all sync.WaitGroup
	for n := range 200 {
		all.Go(func() {
			for i := range 20 {
				id := newID()
				if i%2 == 1 {
					id = fmt.Sprint(strings.Repeat("X", 1000), n, i)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				if a.EnsureConnected(ctx, id) == nil {
					t.Errorf("there is a connection to %.20s", id)
				}
				cancel()
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	a.links.mu.Lock()
	for id := range a.links.attempts {
		if id != b.id {
			t.Errorf("the node keeps %.20s of %d", id, len(a.links.attempts))
			break
		}
	}
	a.links.mu.Unlock()
	c := joinTest(t, dsn, "c")
	if err := c.Serve(nopHandler{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := a.EnsureConnected(ctx, c.ID()); err != nil {
		t.Errorf("a node that has just joined: %v", err)
	}
	a.Close(t.Context()) // PostgreSQL counts what a connection did when it ends
	c.Close(t.Context())
	b.db.SetMaxIdleConns(0)
	var scans int
	await(t, "the ends of the connections", func() bool {
		var open int
		err := b.db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").Scan(&open)
		return err == nil && open <= 2
	})
	if err := b.db.QueryRow("SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'nodes'").Scan(&scans); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d scans of the table of nodes, of 4,000 questions in %v", scans, took)
	if limit := 150 + 20*int(took.Seconds()); scans > limit {
		t.Errorf("the table of nodes was scanned %d times, and joining, heartbeats and a reading a second take %d at most", scans, limit)
	}
}

// A heartbeat that waits for other readings of the nodes has time for its own.
func TestAHeartbeatBehindAReading(t *testing.T) {
	t.Parallel()
	a := joinTest(t, testpostgres.Start(t).DSN, "a")
	a.membership.reading <- struct{}{}
	time.AfterFunc(databaseTimeout+200*time.Millisecond, a.membership.reading.unlock)
	if err := a.heartbeat(t.Context()); err != nil {
		t.Errorf("the heartbeat: %v", err)
	}
	if err := a.checkDatabase(); err != nil {
		t.Errorf("behind it: %v", err)
	}
}

// A heartbeat does not wait until the lease has ended for readings that take too long: the next one renews it.
func TestAHeartbeatBehindReadingsWithoutEnd(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	a.membership.reading <- struct{}{}
	b.additions.reading <- struct{}{}
	defer a.membership.reading.unlock()
	defer b.additions.reading.unlock()
	done := make(chan *Node, 2)
	for _, n := range []*Node{a, b} {
		go func() {
			n.heartbeat(t.Context())
			done <- n
		}()
	}
	late := time.After(leaseDuration - heartbeatInterval)
	for range 2 {
		select {
		case n := <-done:
			if err := n.CheckLease(); err != nil {
				t.Errorf("%s: %v", n.cfg.Name, err)
			}
		case <-late:
			t.Fatal("a heartbeat still waits")
		}
	}
}
