package fleet

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

func TestMain(m *testing.M) {
	pbkdf2Rounds = 10
	if runAsNode() {
		return
	}
	goleak.VerifyTestMain(m)
}

const testKey = "a state key of the tests"

func testOptions() Options {
	return Options{Version: "test", Capacity: 100, Idle: 15 * time.Minute, StateKey: testKey, Sessions: func() int { return 0 }, OnTakenOver: func(string, string) {}, SetPolicyAdditions: func([]policy.Setting) {}}
}

// joinTest joins a fleet until the test ends.
func joinTest(t *testing.T, dsn, name string) *Node {
	t.Helper()
	return joinAs(t, dsn, name, testOptions())
}

func joinAs(t *testing.T, dsn, name string, opts Options) *Node {
	t.Helper()
	n, err := Join(t.Context(), Config{DSN: dsn, Name: name, Listen: "127.0.0.1:0"}, opts, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close(context.Background()) })
	return n
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// Nodes that start together lay the tables out once and get the numbers from 1. The next
// one of a name has the number of the last.
func TestNodesAreNumbered(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	nodes := make([]*Node, 5)
	var all sync.WaitGroup
	for i := range nodes {
		all.Go(func() { nodes[i] = joinTest(t, dsn, fmt.Sprint("n", i)) })
	}
	all.Wait()
	var numbers []int
	for _, n := range nodes {
		numbers = append(numbers, n.Number())
	}
	slices.Sort(numbers)
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, numbers); diff != "" {
		t.Fatal(diff)
	}
	nodes[0].Close(t.Context())
	nodes[1].Close(t.Context())
	if again := joinTest(t, dsn, "n1"); again.Number() != nodes[1].Number() {
		t.Errorf("n1 is node %d, was %d", again.Number(), nodes[1].Number())
	}
	if other := joinTest(t, dsn, "other"); other.Number() != nodes[0].Number() {
		t.Errorf("a new name is node %d, and %d was the lowest that is free", other.Number(), nodes[0].Number())
	}
}

// Where all nodes claim one name at once, one gets it, and the epochs of what follows rise.
func TestASessionHasOneOwner(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	nodes := []*Node{joinTest(t, dsn, "a"), joinTest(t, dsn, "b"), joinTest(t, dsn, "c")}
	last := int64(0)
	for range 30 {
		type claim struct {
			node  *Node
			epoch int64
			err   error
		}
		claims := make([]claim, len(nodes))
		var all sync.WaitGroup
		for i, n := range nodes {
			all.Go(func() {
				epoch, err := n.Claim(t.Context(), "agent", "work", 10, []byte("kept"))
				claims[i] = claim{n, epoch, err}
			})
		}
		all.Wait()
		var got []claim
		for _, c := range claims {
			if c.err == nil {
				got = append(got, c)
			} else if protocol.CodeOf(c.err) != protocol.InvalidParams {
				t.Fatal(c.err)
			}
		}
		if len(got) != 1 {
			t.Fatalf("%d nodes own the session", len(got))
		}
		if got[0].epoch <= last {
			t.Fatalf("epoch %d after %d", got[0].epoch, last)
		}
		last = got[0].epoch
		owner, err := nodes[0].Owner(t.Context(), "agent", "work")
		want := &Owner{Node: got[0].node.ID(), Number: got[0].node.Number(), Name: got[0].node.cfg.Name, Epoch: got[0].epoch}
		if diff := cmp.Diff(want, owner); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
		if taken, err := nodes[0].TakeOver(t.Context(), "agent", "work", *owner); taken != nil || err != nil {
			t.Fatalf("a session was taken from a node that has its lease (%v)", err)
		}
		got[0].node.Release(t.Context(), "agent", "work", got[0].epoch)
	}
	if owner, err := nodes[0].Owner(t.Context(), "agent", "work"); owner != nil || err != nil {
		t.Errorf("after the end: %v, %v", owner, err)
	}
}

// Forty claims of one agent at once over three nodes: as many as session.max_per_agent allows
// are granted, no more and no fewer, and another agent has its own.
func TestTheLimitOfAnAgentIsTheFleets(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	nodes := []*Node{joinTest(t, dsn, "a"), joinTest(t, dsn, "b"), joinTest(t, dsn, "c")}
	var granted, refused atomic.Int32
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			_, err := nodes[i%3].Claim(t.Context(), "agent", fmt.Sprint("s", i), 7, []byte("kept"))
			switch protocol.CodeOf(err) {
			case "":
				granted.Add(1)
			case protocol.SessionLimit:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if granted.Load() != 7 || refused.Load() != 33 {
		t.Errorf("%d granted and %d refused, want 7 and 33", granted.Load(), refused.Load())
	}
	if _, err := nodes[0].Claim(t.Context(), "other", "s1", 7, []byte("kept")); err != nil {
		t.Error(err)
	}
}

// A node whose lease is over by the database's clock sends a heartbeat while another takes its session, a
// hundred times: either the heartbeat is first, and it keeps the session, or it is told.
func TestABeatAndATakeOverExcludeEachOther(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	told := make(chan string, 1)
	of := testOptions()
	of.OnTakenOver = func(_, name string) { told <- name }
	a, b := joinAs(t, dsn, "a", of), joinTest(t, dsn, "b")
	won := map[bool]int{}
	b.lease.heldSince -= declareLostAfter
	for i := range 100 {
		name := fmt.Sprint("s", i)
		epoch, err := a.Claim(t.Context(), "agent", name, 1000, []byte("kept"))
		if err != nil {
			t.Fatal(err)
		}
		a.lease.mu.Lock()
		a.lease.granted = false
		a.lease.mu.Unlock()
		if _, err := a.db.Exec("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1", a.id); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var taken bool
		var higher int64
		all.Go(func() {
			if err := a.heartbeat(t.Context()); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			t1, err := b.TakeOver(t.Context(), "agent", name, Owner{Node: a.id, Epoch: epoch})
			if err != nil {
				t.Error(err)
			}
			if taken = t1 != nil; taken {
				higher = t1.Epoch
			}
		})
		all.Wait()
		won[taken]++
		if a.CheckLease() != nil {
			t.Fatal("the node may not act after its beat")
		}
		_, keeps := a.owned[key{"agent", name}]
		if keeps == taken {
			t.Fatalf("taken is %t, and the first owner goes on: %t", taken, keeps)
		}
		if !taken {
			continue
		}
		if got := <-told; got != name || higher <= epoch {
			t.Fatalf("%s was taken at epoch %d, and the owner, of epoch %d, was told of %s", name, higher, epoch, got)
		}
	}
	t.Logf("the take-over was first %d times, the beat %d", won[true], won[false])
}

// A node that was stopped in the middle of a transaction that refers to its row, as many do, keeps nobody from taking its sessions.
func TestATakeOverWaitsForNoTransaction(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	stopped, other := joinTest(t, dsn, "stopped"), joinTest(t, dsn, "other")
	epoch, err := stopped.Claim(t.Context(), "agent", "work", 1000, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	stopped.stop()
	stopped.running.Wait()
	tx, err := stopped.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO uploads (agent, node, bytes, change) VALUES ('agent', $1, 1, 1)", stopped.id); err != nil {
		t.Fatal(err)
	}
	if _, err := other.db.Exec("UPDATE nodes SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1", stopped.id); err != nil {
		t.Fatal(err)
	}
	other.lease.mu.Lock()
	other.lease.heldSince -= declareLostAfter
	other.lease.mu.Unlock()
	began := time.Now()
	taken, err := other.TakeOver(t.Context(), "agent", "work", Owner{Node: stopped.id, Epoch: epoch})
	if err != nil || taken == nil {
		t.Errorf("after %v: %v, %v", time.Since(began), taken, err)
	}
}

// A node with another state.key is no node, and an error shows no password.
func TestRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	joinTest(t, pg.DSN, "a")
	other := testOptions()
	other.StateKey = "another key than the others"
	_, err := Join(t.Context(), Config{DSN: pg.DSN, Listen: "127.0.0.1:0"}, other, quiet())
	want := "state.key: the other nodes of the fleet have another: give all of them the same, since each has to read what the others sealed"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	pg.Stop()
	_, err = Join(t.Context(), Config{DSN: pg.DSN, Listen: "127.0.0.1:0"}, testOptions(), quiet())
	if err == nil || strings.Contains(err.Error(), "pass-word") {
		t.Errorf("without a database: %v", err)
	}
}

// What browserd fleet shows.
func TestLook(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	if r, err := ReadReport(t.Context(), Config{DSN: dsn}); err != nil || len(r.Nodes) > 0 {
		t.Errorf("before anybody joined: %v, %v", r, err)
	}
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	epoch, err := b.Claim(t.Context(), "agent", "work", 1, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ReadReport(t.Context(), Config{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	want := &Report{
		Nodes:    []NodeReport{{Node: a.Number(), Name: "a", Version: "test", State: "up", Capacity: 100}, {Node: b.Number(), Name: "b", Version: "test", State: "up", Capacity: 100, Sessions: 1}},
		Sessions: []SessionReport{{Agent: "agent", Session: "work", Node: b.Number(), Epoch: epoch}},
	}
	if diff := cmp.Diff(want, r, cmpopts.IgnoreFields(NodeReport{}, "Lease", "Began"), cmpopts.IgnoreFields(SessionReport{}, "Created")); diff != "" {
		t.Error(diff)
	}
	for _, n := range r.Nodes {
		if n.Lease < 5 || n.Lease > 10 {
			t.Errorf("node %d has a lease of %v s", n.Node, n.Lease)
		}
	}
	b.Close(t.Context())
	if r, err = ReadReport(t.Context(), Config{DSN: dsn}); err != nil || len(r.Nodes) != 1 || len(r.Sessions) != 0 {
		t.Errorf("after b ended: %+v, %v", r, err)
	}
}

// A session of a lost node goes to one that may declare others lost already, and a new one to the lowest number.
func TestANewNodeIsPlacedLast(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	came := joinTest(t, dsn, "came")
	other := joinTest(t, dsn, "other")
	if _, err := other.db.Exec("UPDATE nodes SET began = began - interval '1 minute' WHERE id = $1", other.id); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*Node{came, other} {
		if _, err := other.db.Exec("UPDATE nodes SET began = clock_timestamp() WHERE id = $1", came.id); err != nil {
			t.Fatal(err)
		}
		if err := n.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		for lost, want := range map[bool]string{false: "came", true: "other"} {
			if got, err := n.Place(lost); err != nil || got.Name != want {
				t.Errorf("Place(%v) at %s: %s, %v, want %s", lost, n.cfg.Name, got.Name, err, want)
			}
		}
	}
	// Of two that have just come the first is ready first.
	if _, err := other.db.Exec("UPDATE nodes SET began = clock_timestamp() - interval '6 s' WHERE id = $1", other.id); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*Node{came, other} {
		if err := n.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := n.Place(true); err != nil || got.Name != "other" {
			t.Errorf("Place at %s, where both have just come: %s, %v", n.cfg.Name, got.Name, err)
		}
	}
	// It may declare others lost by now, and others know: it does not send them away.
	came.lease.mu.Lock()
	came.lease.heldSince -= newNodePeriod
	came.lease.mu.Unlock()
	if got, err := came.Place(true); err != nil || got.Name != "came" {
		t.Errorf("Place at a node that may judge: %s, %v", got.Name, err)
	}
}

// The sessions of a node that misses two heartbeats are announced where they will be placed, once, and no more when it
// sends them again, when others have had the time to take them, and where it was the database that did not answer.
func TestTheSessionsOfASilentNodeAreComing(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	holding := func(sessions int, told *[]int) Options {
		a := testOptions()
		a.Sessions, a.ExpectTakeOvers = func() int { return sessions }, func(n int) { *told = append(*told, n) }
		return a
	}
	var told, toldLast, none []int
	silent := joinAs(t, dsn, "silent", holding(5, &none))
	first, last := joinAs(t, dsn, "first", holding(1, &told)), joinAs(t, dsn, "last", holding(0, &toldLast))
	for _, n := range []*Node{silent, first, last} { // only this test sends heartbeats
		n.stop()
		n.running.Wait()
		n.lease.heldSince -= declareLostAfter
	}
	if _, err := first.db.Exec("UPDATE nodes SET began = began - interval '1 minute'"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lease time.Duration // of the silent node
		since time.Duration // the nodes were read
		want  []int
	}{
		{9 * time.Second, heartbeatInterval, nil},
		{5 * time.Second, heartbeatInterval, []int{5}},
		{3 * time.Second, heartbeatInterval, []int{5}},
		{9 * time.Second, heartbeatInterval, []int{5, 0}},
		{4 * time.Second, 4 * time.Second, []int{5, 0}},
		{-time.Second, heartbeatInterval, []int{5, 0, 5}},
		{-3 * time.Second, heartbeatInterval, []int{5, 0, 5, 0}},
	} {
		if _, err := first.db.Exec("UPDATE nodes SET lease_until = clock_timestamp() + $2 * interval '1 microsecond' WHERE id = $1", silent.id, c.lease.Microseconds()); err != nil {
			t.Fatal(err)
		}
		for _, n := range []*Node{first, last} {
			n.membership.readAt = time.Now().Add(-c.since)
			if err := n.heartbeat(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(told, c.want) || toldLast != nil {
			t.Errorf("with a lease of %v: told %v and at the last node %v, want %v and nothing", c.lease, told, toldLast, c.want)
		}
	}
}

// A node looks at the others when the first of their leases is over, soon where that was meanwhile, and
// with its own heartbeat otherwise.
func TestWhenTheOthersAreLookedAt(t *testing.T) {
	for _, c := range []struct {
		name        string
		judge       time.Time
		least, most time.Duration
	}{
		{"nobody else", time.Time{}, 2 * time.Second, 2 * time.Second},
		{"all beat", time.Now().Add(9 * time.Second), 2 * time.Second, 2 * time.Second},
		{"one is over in half a second", time.Now().Add(500 * time.Millisecond), 100 * time.Millisecond, 510 * time.Millisecond},
		{"one was over meanwhile", time.Now().Add(-time.Second), time.Millisecond, 10 * time.Millisecond},
	} {
		r := membership{nextExpiry: c.judge}
		if got := r.untilNextExpiry(2 * time.Second); got < c.least || got > c.most {
			t.Errorf("%s: after %v, want %v to %v", c.name, got, c.least, c.most)
		}
	}
}
