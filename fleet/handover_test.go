package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testpostgres"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// A checkpoint that arrives behind the hand-over changes nothing: the session goes on from what
// was handed over, also when the node that had it has ended.
func TestACheckpointBehindTheHandOver(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	epoch, err := a.Claim(t.Context(), "agent", "work", 10, []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.HandOver(t.Context(), "agent", "work", epoch, []byte("handed over")); err != nil {
		t.Fatal(err)
	}
	// Any node may have it at once, one that has just come too.
	if owner, err := b.Owner(t.Context(), "agent", "work"); err != nil || !owner.Lost || !owner.Moving {
		t.Errorf("owner: %+v, %v, want one that hands the session over", owner, err)
	}
	a.Checkpoint(t.Context(), "agent", "work", epoch, []byte("late"), nil)
	a.Close(t.Context())
	taken, err := b.TakeOver(t.Context(), "agent", "work", Owner{Node: a.ID(), Epoch: epoch})
	if err != nil || taken == nil {
		t.Fatalf("the session was not taken over: %+v, %v", taken, err)
	}
	if !taken.Moved || string(taken.Checkpoint) != "handed over" {
		t.Errorf("it goes on from %q, moved: %t", taken.Checkpoint, taken.Moved)
	}
}

// The answer of a hand-over is lost. Until it is known what became of it nothing is done in the
// session. If it was done, the session ends here; if not, it goes on, and what was sent changes
// nothing when it arrives late.
func TestTheAnswerOfAHandOverIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		loses  int32
		handed bool
	}{
		{"done", dropUpdateReplies, true},
		{"not done", dropRequests, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pg := testpostgres.Start(t)
			net := newFaultyProxy(t, pg.DSN)
			b := joinTest(t, pg.DSN, "b")
			sessions := session.NewManager(session.Config{IdleTimeout: time.Hour, Max: 9, MaxPerAgent: 9, Queue: 9}, nil, quiet())
			of := testOptions()
			of.OnTakenOver = sessions.CloseTakenOver
			a := joinAs(t, net.DSN, "a", of)
			sessions.Fleet = a
			t.Cleanup(func() { sessions.Shutdown(context.Background()) })
			s, err := sessions.Open("agent", session.Options{Name: "work"})
			if err != nil {
				t.Fatal(err)
			}
			was, err := b.Owner(t.Context(), "agent", "work")
			if err != nil {
				t.Fatal(err)
			}
			net.drops.Store(c.loses)
			drain, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, stay, err := session.HandOverAll(drain, sessions); stay != 1 || protocol.CodeOf(err) != protocol.OutcomeUnknown {
				t.Errorf("%d sessions stay: %v", stay, err)
			}
			if !errors.Is(s.CheckLease(), session.ErrMoved) {
				t.Errorf("while nobody knows whose the session is: %v", s.CheckLease())
			}
			net.heal()
			if !c.handed {
				await(t, "the session goes on", func() bool { return s.CheckLease() == nil })
				if err := a.HandOver(t.Context(), "agent", "work", was.Epoch, []byte("late")); protocol.CodeOf(err) != protocol.FleetUnavailable {
					t.Errorf("the hand-over that came late: %v", err)
				}
				now, err := b.Owner(t.Context(), "agent", "work")
				if err != nil || now.Node != a.ID() || now.Lost || now.Epoch <= was.Epoch {
					t.Errorf("the owner is %+v (%v), was %+v", now, err, was)
				}
				if taken, err := b.TakeOver(t.Context(), "agent", "work", *now); taken != nil || err != nil {
					t.Errorf("it was taken over: %+v, %v", taken, err)
				}
				if err := a.Checkpoint(t.Context(), "agent", "work", now.Epoch, []byte("kept"), nil); err != nil {
					t.Errorf("its next checkpoint: %v", err)
				}
				return
			}
			select {
			case <-s.Done():
			case <-time.After(20 * time.Second):
				t.Fatal("the session is still here")
			}
			if ended := sessions.Ended("agent", "work"); ended != nil {
				t.Errorf("it is remembered as %v", ended)
			}
			taken, err := b.TakeOver(t.Context(), "agent", "work", *was)
			if err != nil || taken == nil || !taken.Moved {
				t.Errorf("it was not taken over: %+v, %v", taken, err)
			}
		})
	}
}

// Nobody can say what became of a hand-over while the session's row is locked for longer than a node waits. When the lock is
// gone the session goes on here, also where a statement that waited for it is done then.
func TestNobodyCanSayWhatBecameOfAHandOver(t *testing.T) {
	t.Parallel()
	a := joinTest(t, testpostgres.Start(t).DSN, "a")
	epoch, err := a.Claim(t.Context(), "agent", "work", 10, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := a.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("SELECT FROM sessions FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(databaseTimeout+time.Second, func() { tx.Rollback() })
	ctx, cancel := context.WithTimeout(t.Context(), 4*databaseTimeout)
	defer cancel()
	now, err := a.ResolveHandOver(ctx, "agent", "work", epoch)
	if err != nil || now <= epoch {
		t.Fatalf("regained: %d, %v", now, err)
	}
	if err := a.Checkpoint(t.Context(), "agent", "work", now, []byte("more"), nil); err != nil {
		t.Errorf("its next checkpoint: %v", err)
	}
}

// A node that stops and could not hand its sessions over leaves them to the others, although the database answers again before
// it has ended; also one of which it does not know whether it was handed over. What ended before is gone.
func TestSessionsThatAreLeft(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	net := newFaultyProxy(t, pg.DSN)
	a, b := joinTest(t, net.DSN, "a"), joinTest(t, pg.DSN, "b")
	epochs := map[string]int64{}
	for _, name := range []string{"work", "unknown", "ended"} {
		epoch, err := a.Claim(t.Context(), "agent", name, 10, []byte("kept"))
		if err != nil {
			t.Fatal(err)
		}
		epochs[name] = epoch
	}
	a.LeaveSessions()
	a.Release(t.Context(), "agent", "ended", epochs["ended"])
	net.drops.Store(dropUpdateReplies)
	asking, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := a.ResolveHandOver(asking, "agent", "unknown", epochs["unknown"]); err == nil {
		t.Error("it is known what became of the session")
	}
	net.heal()
	await(t, "a heartbeat", func() bool { return a.heartbeat(t.Context()) == nil })
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.lease.mu.Lock()
	b.lease.heldSince -= declareLostAfter
	b.lease.mu.Unlock()
	for _, name := range []string{"work", "unknown"} {
		owner, err := b.Owner(t.Context(), "agent", name)
		if err != nil || owner == nil {
			t.Errorf("%s is gone: %v", name, err)
			continue
		}
		if taken, err := b.TakeOver(t.Context(), "agent", name, *owner); err != nil || taken == nil || string(taken.Checkpoint) != "kept" {
			t.Errorf("%s was not taken over: %+v, %v", name, taken, err)
		}
	}
	if owner, err := b.Owner(t.Context(), "agent", "ended"); owner != nil || err != nil {
		t.Errorf("what has ended: %+v, %v", owner, err)
	}
}

// What clients closed while the database did not answer has ended, also if it answers again only when the node stops and
// leaves the others its sessions.
func TestWhatEndedBeforeSessionsWereLeft(t *testing.T) {
	t.Parallel()
	pg := testpostgres.Start(t)
	a, b := joinTest(t, pg.DSN, "a"), joinTest(t, pg.DSN, "b")
	epochs := map[string]int64{}
	for _, name := range []string{"work", "ended"} {
		epoch, err := a.Claim(t.Context(), "agent", name, 10, []byte("kept"))
		if err != nil {
			t.Fatal(err)
		}
		epochs[name] = epoch
	}
	a.stop() // no heartbeat comes any more
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	a.Release(gone, "agent", "ended", epochs["ended"])
	a.LeaveSessions()
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, stays := range map[string]bool{"work": true, "ended": false} {
		if owner, err := b.Owner(t.Context(), "agent", name); err != nil || (owner != nil) != stays {
			t.Errorf("%s: %+v, %v; it stays: %t", name, owner, err, stays)
		}
	}
}

// A checkpoint tells a node that its session is another's.
func TestACheckpointOfATakenSession(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	told := make(chan string, 1)
	of := testOptions()
	of.OnTakenOver = func(_, name string) { told <- name }
	a, b := joinAs(t, dsn, "a", of), joinTest(t, dsn, "b")
	epoch, err := a.Claim(t.Context(), "agent", "work", 10, []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Exec("UPDATE sessions SET node = $1, epoch = nextval('epochs')", b.ID()); err != nil {
		t.Fatal(err)
	}
	if err := a.Checkpoint(t.Context(), "agent", "work", epoch, []byte("more"), nil); protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("the checkpoint: %v", err)
	}
	select {
	case got := <-told:
		if got != "work" {
			t.Errorf("the node was told of %s", got)
		}
	default:
		t.Error("the node was told nothing")
	}
}

// A node declares others lost only while it has its lease, by the database's clock
// too, and has had it for as long as a lease lasts: one that was frozen with all others would take
// them for lost.
func TestANodeThatWasFrozenJudgesNobody(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	a, b := joinTest(t, dsn, "a"), joinTest(t, dsn, "b")
	epoch, err := a.Claim(t.Context(), "agent", "work", 10, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	a.stop() // it sends no more heartbeats
	a.running.Wait()
	set := func(n *Node, ago time.Duration) {
		t.Helper()
		if _, err := b.db.Exec("UPDATE nodes SET lease_until = clock_timestamp() - $2 * interval '1 microsecond' WHERE id = $1", n.id, ago.Microseconds()); err != nil {
			t.Fatal(err)
		}
	}
	left := func() bool {
		t.Helper()
		if err := sweep(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		o, err := b.Owner(t.Context(), "agent", "work")
		if err != nil {
			t.Fatal(err)
		}
		return o != nil
	}
	set(a, time.Hour)
	b.lease.heldSince = b.now().mono - leaseDuration + time.Second
	if !left() {
		t.Error("a node that has just come back swept a session away")
	}
	b.lease.heldSince -= time.Second
	b.stop()
	b.running.Wait()
	set(b, time.Minute)
	if !left() {
		t.Error("a node whose lease is over swept a session away")
	}
	if taken, err := b.TakeOver(t.Context(), "agent", "work", Owner{Node: a.id, Epoch: epoch}); taken != nil || err != nil {
		t.Errorf("a node whose lease is over took a session over: %v, %v", taken, err)
	}
	set(b, -time.Minute)
	if left() {
		t.Error("the session is left")
	}
}

// A row of its own is what a node takes over only where it neither has the session nor has ended it.
func TestARowOfItsOwn(t *testing.T) {
	t.Parallel()
	a := joinTest(t, testpostgres.Start(t).DSN, "a")
	epoch, err := a.Claim(t.Context(), "agent", "work", 10, []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	k, own := key{"agent", "work"}, Owner{Node: a.id, Epoch: epoch}
	set := func(owned bool, handed bool, unreleased ...release) {
		a.ownership.mu.Lock()
		defer a.ownership.mu.Unlock()
		if a.owned = map[key]int64{}; owned {
			a.owned[k] = epoch
		}
		a.handingOver, a.pendingReleases = map[key]bool{k: handed}, unreleased
	}
	a.stop() // a heartbeat would remove what has ended
	a.running.Wait()
	for _, c := range []struct {
		name          string
		is            func()
		unrecordedRow bool
	}{
		{"it has it", func() { set(true, false) }, false},
		{"it hands it over", func() { set(false, true) }, false},
		{"it has ended it", func() { set(false, false, release{k, epoch}) }, false},
		{"it knows nothing of it", func() { set(false, false, release{k, epoch - 1}) }, true},
	} {
		c.is()
		taken, err := a.TakeOver(t.Context(), "agent", "work", own)
		if err != nil || (taken != nil) != c.unrecordedRow {
			t.Errorf("%s: taken over: %+v, %v", c.name, taken, err)
		}
	}
}
