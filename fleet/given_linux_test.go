package fleet

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/secret"
)

// hideRecorder is a Handler that records what its node hides.
type hideRecorder struct {
	nopHandler
	mu     sync.Mutex
	values []string // as agent: value
}

func (h *hideRecorder) Hide(agent string, given []secret.Given) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range given {
		h.values = append(h.values, agent+": "+g.Value)
	}
}

func (h *hideRecorder) has(value string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.values, value)
}

// joinHiding joins a fleet with a node that serves the others.
func joinHiding(t *testing.T, dsn, name string) (*Node, *hideRecorder) {
	t.Helper()
	n, h := joinTest(t, dsn, name), &hideRecorder{}
	if err := n.Serve(h); err != nil {
		t.Fatal(err)
	}
	return n, h
}

func give(t *testing.T, n *Node, agent, value string) error {
	t.Helper()
	return HideOnAllNodes(t.Context(), n, agent, []secret.Given{{Kind: secret.Text, Value: value}})
}

// keptValues are the sealed values in the database.
func keptValues(t *testing.T, n *Node) (sealed [][]byte) {
	t.Helper()
	rows, err := n.db.Query("SELECT value || tag FROM given")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			t.Fatal(err)
		}
		sealed = append(sealed, b)
	}
	return sealed
}

// What one node gives all others hide when Give returns, and one that comes later before it serves. The database
// does not show it. Giving it again asks nobody, and while the database is silent nothing new is given.
func TestAllNodesHideWhatOneGives(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, ofA := joinHiding(t, pg.DSN, "a")
	b, ofB := joinHiding(t, pg.DSN, "b")
	_, ofC := joinHiding(t, pg.DSN, "c")
	var took []time.Duration
	for i := range 20 {
		from := []*Node{a, b}[i%2]
		value := fmt.Sprint("hunter2 number ", i)
		began := time.Now()
		if err := give(t, from, "ann", value); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(began))
		for name, h := range map[string]*hideRecorder{"a": ofA, "b": ofB, "c": ofC} {
			if told := name == from.cfg.Name; !told && !h.has("ann: "+value) {
				t.Errorf("%s does not hide %s when it is given", name, value)
			}
		}
	}
	slices.Sort(took)
	t.Logf("given at three nodes in %v (median), %v at most", took[len(took)/2], took[len(took)-1])
	if _, later := joinHiding(t, pg.DSN, "later"); !later.has("ann: hunter2 number 0") || !later.has("ann: hunter2 number 19") || len(later.values) != 20 {
		t.Errorf("a later node hides %q", later.values)
	}
	sealed := keptValues(t, a)
	if len(sealed) != 20 || slices.ContainsFunc(sealed, func(b []byte) bool { return bytes.Contains(b, []byte("hunter2")) }) {
		t.Errorf("the database has %q", sealed)
	}
	pg.Freeze(t)
	began := time.Now()
	if err := give(t, a, "ann", "hunter2 number 0"); err != nil || time.Since(began) > time.Second {
		t.Errorf("given again, while the database is silent: %v after %v", err, time.Since(began))
	}
	for range 2 {
		if err := give(t, a, "ann", "hunter3"); protocol.CodeOf(err) != protocol.FleetUnavailable {
			t.Errorf("given while the database is silent: %v", err)
		}
	}
	if ofB.has("ann: hunter3") {
		t.Error("a node was told of what was not given")
	}
	pg.Thaw(t)
	await(t, "the database answers", func() bool { return give(t, a, "ann", "hunter3") == nil })
	if !ofB.has("ann: hunter3") || !ofC.has("ann: hunter3") {
		t.Error("not hidden when the database is back")
	}
}

// Nodes come while secrets are given: whichever is first, a node that serves hides what was given.
func TestANodeComesWhileASecretIsGiven(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, _ := joinHiding(t, pg.DSN, "a")
	for i := range 30 {
		value := fmt.Sprint("hunter2 number ", i)
		var both sync.WaitGroup
		both.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond) // at another moment of what the other does, each time
			if err := give(t, a, "ann", value); err != nil {
				t.Error(err)
			}
		})
		n, h := joinHiding(t, pg.DSN, "b")
		both.Wait()
		if !h.has("ann: " + value) {
			t.Fatalf("number %d is shown at the node that came", i)
		}
		n.Close(t.Context())
	}
}

// disconnect cuts a node off from the others. Its connections to them stay.
func disconnect(n *Node, from ...*Node) {
	n.listener.Close()
	for _, f := range from {
		f.links.mu.Lock()
		o := f.links.open[n.id]
		f.links.mu.Unlock()
		if o != nil {
			o.close()
		}
	}
}

// A node that has its lease and does not say that it hides a secret: the secret is not given, and the error names the
// node. When its lease is over the secret is given without it. Once it may act again, it hides the secret too.
func TestANodeDoesNotSayThatItHides(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := newFaultyProxy(t, pg.DSN)
	a, _ := joinHiding(t, pg.DSN, "a")
	b, ofB := joinHiding(t, net.DSN, "b")
	disconnect(b, a)
	began := time.Now()
	err := give(t, a, "ann", "hunter2")
	if e, ok := err.(*protocol.Error); !ok || e.Code != protocol.FleetUnavailable || e.Details["node"] != b.number || time.Since(began) > hideTimeout+time.Second {
		t.Errorf("while it has its lease: %v after %v", err, time.Since(began))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := HideOnAllNodes(ctx, a, "ann", []secret.Given{{Kind: secret.Text, Value: "hunter2"}}); err != context.DeadlineExceeded {
		t.Errorf("when the command's time is over: %v", err)
	}
	net.drops.Store(dropRequests)
	began = time.Now()
	if err := give(t, a, "ann", "hunter2"); err != nil || b.CheckLease() == nil {
		t.Fatalf("when its lease is over: %v, and the node may act: %v", err, b.CheckLease() == nil)
	}
	t.Logf("given %v after the node was cut off", time.Since(began))
	if ofB.has("ann: hunter2") {
		t.Fatal("the test shows nothing: the node was told")
	}
	net.heal()
	for deadline := time.Now().Add(20 * time.Second); b.CheckLease() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the node does not come back")
		}
	}
	if !ofB.has("ann: hunter2") {
		t.Error("the node may act, and does not hide it")
	}
}

// slowHider is a Handler that does not confirm what it hides until a test says so.
type slowHider struct {
	nopHandler
	until chan struct{}
}

func (s *slowHider) Hide(string, []secret.Given) { <-s.until }

// A node is asked again and again, since it does not answer: nothing of that is kept.
func TestWhatANodeDidNotAnswerIsForgotten(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, _ := joinHiding(t, pg.DSN, "a")
	b, of := joinTest(t, pg.DSN, "b"), &slowHider{until: make(chan struct{})}
	if err := b.Serve(of); err != nil {
		t.Fatal(err)
	}
	if err := a.EnsureConnected(t.Context(), b.id); err != nil {
		t.Fatal(err)
	}
	a.links.mu.Lock()
	o := a.links.open[b.id]
	a.links.mu.Unlock()
	ask := func(limit time.Duration) int {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return len(requestHide(ctx, a, []Member{{ID: b.id, Number: b.number}}, hideRequest{"ann", []secret.Given{{Kind: secret.Text, Value: "hunter2"}}}))
	}
	for range 3 {
		if ask(20*time.Millisecond) == 0 {
			t.Fatal("the test shows nothing: the node has answered")
		}
	}
	o.mu.Lock()
	if len(o.pending) > 0 {
		t.Errorf("%d answers are waited for", len(o.pending))
	}
	o.mu.Unlock()
	close(of.until)
	if ask(10*time.Second) > 0 {
		t.Error("the node does not answer any more")
	}
}

// What was given is forgotten when no node runs that was there, and the agent has no session; a code after an hour.
// A node whose lease was over for a while tells the others again.
func TestWhatWasGivenIsForgotten(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, _ := joinHiding(t, pg.DSN, "a")
	_, ofB := joinHiding(t, pg.DSN, "b")
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := a.db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	left := func() int {
		t.Helper()
		a.lease.mu.Lock()
		a.lease.heldSince -= leaseDuration // it may declare others lost
		a.lease.mu.Unlock()
		if err := sweep(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		return len(keptValues(t, a))
	}
	if _, err := a.Claim(t.Context(), "ann", "work", 9, []byte("kept")); err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"ann", "bob"} {
		if err := give(t, a, agent, "hunter2"); err != nil {
			t.Fatal(err)
		}
	}
	if err := HideOnAllNodes(t.Context(), a, "ann", []secret.Given{{Kind: secret.TOTP, Value: "493817"}}); err != nil {
		t.Fatal(err)
	}
	if got := left(); got != 3 {
		t.Errorf("%d of 3 are left while the node runs that gave them", got)
	}
	exec("UPDATE given SET at = at - interval '2 hours' WHERE code")
	if got := left(); got != 2 {
		t.Errorf("%d of 2 are left when the code is of no use any more", got)
	}
	exec("UPDATE given SET at = at - interval '2 hours'")
	exec("UPDATE nodes SET began = began - interval '3 hours', lease_until = clock_timestamp() - interval '1 second' WHERE name = 'b'")
	if got := left(); got != 2 {
		t.Errorf("%d of 2 are left while a node may come back that was there", got)
	}
	exec("UPDATE nodes SET began = began + interval '3 hours' WHERE name = 'b'")
	if got := left(); got != 1 {
		t.Errorf("%d of 1 are left: the one of the agent that has a session", got)
	}
	a.lease.mu.Lock()
	a.lease.heldSince++
	a.lease.mu.Unlock()
	ofB.mu.Lock()
	ofB.values = nil
	ofB.mu.Unlock()
	await(t, "the other node has its lease", func() bool {
		others, err := otherLeaseholders(t.Context(), a)
		return err == nil && len(others) == 1
	})
	if err := give(t, a, "bob", "hunter2"); err != nil || !ofB.has("bob: hunter2") || len(keptValues(t, a)) != 2 {
		t.Errorf("given again after the lease: %v, %q", err, ofB.values)
	}
}

// A row that cannot be read keeps a node that begins, or has its lease again, from acting for that row's agent: it may hold
// what is to be hidden. For all others it acts. The log says once which row it is and what deletes it. Then the node acts for
// the agent too, and hides the rest. Many rows that can be read keep no node.
func TestWhatWasGivenCannotBeRead(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	logs := map[string]*logBuffer{}
	join := func(name string) (*Node, *hideRecorder) {
		t.Helper()
		logs[name] = &logBuffer{}
		n, err := Join(t.Context(), Config{DSN: pg.DSN, Name: name, Listen: "127.0.0.1:0"}, testOptions(), slog.New(slog.NewTextHandler(logs[name], nil)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close(context.Background()) })
		h := &hideRecorder{}
		if err := n.Serve(h); err != nil {
			t.Fatal(err)
		}
		return n, h
	}
	a, _ := join("a")
	for _, agent := range []string{"ann", "o'ann"} {
		if err := give(t, a, agent, "hunter2"); err != nil {
			t.Fatal(err)
		}
	}
	garbage := func(tag string) {
		t.Helper()
		if _, err := a.db.Exec("INSERT INTO given (agent, tag, code, value, at) VALUES ('o''ann', $1, false, 'garbage', clock_timestamp())", []byte(tag)); err != nil {
			t.Fatal(err)
		}
	}
	garbage("\x01\x02")
	if err := a.CheckAgent("o'ann"); err != nil {
		t.Errorf("at a node that has its lease: %v", err)
	}
	b, ofB := join("b")
	over := func() {
		a.lease.mu.Lock()
		a.lease.granted = false
		a.lease.mu.Unlock()
	}
	over()
	await(t, "the node has its lease", func() bool { return a.CheckLease() == nil })
	for _, n := range []*Node{a, b} {
		err := n.CheckAgent("o'ann")
		if e, is := err.(*protocol.Error); !is || e.Code != protocol.FleetUnavailable || e.Details["node"] != n.number || e.Next == "" {
			t.Errorf("for the agent of the row: %v", err)
		}
		if err := n.CheckAgent("ann"); err != nil {
			t.Errorf("for another agent: %v", err)
		}
		if _, err := n.Claim(t.Context(), "o'ann", "work", 9, []byte("kept")); protocol.CodeOf(err) != protocol.FleetUnavailable {
			t.Errorf("a session of the agent: %v", err)
		}
		if _, err := n.Claim(t.Context(), "ann", "work of "+n.cfg.Name, 9, []byte("kept")); err != nil {
			t.Errorf("a session of another agent: %v", err)
		}
	}
	if !ofB.has("ann: hunter2") || !ofB.has("o'ann: hunter2") {
		t.Errorf("of what can be read %q is hidden", ofB.values)
	}
	for _, n := range []*Node{a, b} {
		heartbeats(t, n, 3)
	}
	for name, log := range logs {
		if said := log.with("o'ann"); len(said) != 1 {
			t.Fatalf("the log of %s says %q", name, said)
		}
	}
	garbage("\x03") // known to no node, since none begins its lease
	b.given.mu.Lock()
	_, statement, _ := strings.Cut(b.given.unreadable["o'ann"].Error(), "delete the row with ")
	b.given.mu.Unlock()
	if !strings.Contains(logs["b"].with("o'ann")[0], "DELETE FROM given WHERE agent = 'o''ann'") {
		t.Errorf("the log says %q", logs["b"].with("o'ann"))
	}
	if _, err := a.db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	await(t, "the log names the other row", func() bool { return len(logs["b"].with(`\\x03`)) == 1 })
	if _, err := a.db.Exec("DELETE FROM given WHERE tag = '\\x03'"); err != nil {
		t.Fatal(err)
	}
	await(t, "the nodes act for the agent", func() bool { return a.CheckAgent("o'ann") == nil && b.CheckAgent("o'ann") == nil })
	if len(keptValues(t, a)) != 2 {
		t.Error("another row was deleted")
	}
	sealed := a.keys.sealGiven("ann", []byte(`{"kind":"text","value":"hunter2"}`))
	if _, err := a.db.Exec("INSERT INTO given (agent, tag, code, value, at) SELECT 'ann', sha256(i::text::bytea), false, $1, clock_timestamp() FROM generate_series(1, 20000) AS i", sealed); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := loadGiven(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	t.Logf("20,000 rows read in %v", time.Since(began))
	over()
	await(t, "the node acts", func() bool { return a.CheckLease() == nil })
}

// What the agents of rows that cannot be read were given takes long to be read, or cannot be: that costs the node's other
// agents nothing, and the node acts for those agents when it has been.
func TestRowsThatCannotBeReadCostNoLease(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, _ := joinHiding(t, pg.DSN, "a")
	if _, err := a.db.Exec("INSERT INTO given (agent, tag, code, value, at) VALUES ('ann', 'tag', false, 'garbage', clock_timestamp())"); err != nil {
		t.Fatal(err)
	}
	if err := loadGiven(t.Context(), a); err != nil || a.CheckAgent("ann") == nil {
		t.Fatalf("the test shows nothing: %v", err)
	}
	tx, err := a.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("LOCK TABLE given"); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < leaseDuration+heartbeatInterval; time.Sleep(20 * time.Millisecond) {
		if err := a.CheckAgent("bob"); err != nil {
			t.Fatalf("after %v the node does not act for another agent: %v", time.Since(began), err)
		}
		if a.CheckAgent("ann") == nil {
			t.Fatal("the node acts for an agent, and knows not what it was given")
		}
	}
	if _, err := tx.Exec("DELETE FROM given"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	await(t, "the node acts for the agent", func() bool { return a.CheckAgent("ann") == nil })
}
