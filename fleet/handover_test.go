package fleet

import (
	"testing"

	"github.com/browserd/browserd/internal/testpostgres"
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
