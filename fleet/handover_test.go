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
	a.Checkpoint(t.Context(), "agent", "work", epoch, []byte("late"))
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
		{"done", updates, true},
		{"not done", requests, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pg := testpostgres.Start(t)
			net := newFaulty(t, pg.DSN)
			b := joinTest(t, pg.DSN, "b")
			sessions := session.NewManager(session.Config{IdleTimeout: time.Hour, Max: 9, MaxPerAgent: 9, Queue: 9}, nil, quiet())
			of := about()
			of.Taken = sessions.Taken
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
			net.lose.Store(c.loses)
			drain, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, stay := session.HandOverAll(drain, sessions); stay != 1 {
				t.Errorf("%d sessions stay", stay)
			}
			if !errors.Is(s.Held(), session.ErrMoved) {
				t.Errorf("while nobody knows whose the session is: %v", s.Held())
			}
			net.mend()
			if !c.handed {
				await(t, "the session goes on", func() bool { return s.Held() == nil })
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
				if err := a.Checkpoint(t.Context(), "agent", "work", now.Epoch, []byte("kept")); err != nil {
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

// A checkpoint tells a node that its session is another's.
func TestACheckpointOfATakenSession(t *testing.T) {
	t.Parallel()
	dsn := testpostgres.Start(t).DSN
	told := make(chan string, 1)
	of := about()
	of.Taken = func(_, name string) { told <- name }
	a, b := joinAs(t, dsn, "a", of), joinTest(t, dsn, "b")
	epoch, err := a.Claim(t.Context(), "agent", "work", 10, []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Exec("UPDATE sessions SET node = $1, epoch = nextval('epochs')", b.ID()); err != nil {
		t.Fatal(err)
	}
	if err := a.Checkpoint(t.Context(), "agent", "work", epoch, []byte("more")); protocol.CodeOf(err) != protocol.FleetUnavailable {
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
