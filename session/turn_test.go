package session

import (
	"context"
	"errors"
	"testing"

	"github.com/browserd/browserd/protocol"
)

// Turns come in the order in which they were taken, and one that is given up
// while it waits is skipped.
func TestTurnsKeepTheirOrder(t *testing.T) {
	q := turns{limit: 10}
	var taken []*Turn
	for range 4 {
		turn, err := q.take(false)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, turn)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := taken[0].Wait(context.Background()); err != nil {
		t.Fatalf("the first turn did not come: %v", err)
	}
	if err := taken[2].Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the third came while the first was held: %v", err)
	}
	taken[1].End()
	taken[0].End()
	if err := taken[2].Wait(ctx); err != nil {
		t.Fatalf("the third did not come after the first ended and the second was given up: %v", err)
	}
	if err := taken[3].Wait(ctx); err == nil {
		t.Fatal("two turns at once")
	}
	taken[2].End()
	taken[2].End() // ending twice takes nobody's turn
	if err := taken[3].Wait(ctx); err != nil {
		t.Fatalf("the fourth did not come: %v", err)
	}
}

func TestTurnsAreLimited(t *testing.T) {
	q := turns{limit: 2}
	for range 3 { // one holds, two wait
		if _, err := q.take(false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.take(false); protocol.CodeOf(err) != protocol.RateLimited {
		t.Fatalf("a turn beyond the limit: got %v, want rate_limited", err)
	}
	q.close()
	if _, err := q.take(false); protocol.CodeOf(err) != protocol.SessionNotFound {
		t.Fatalf("a turn of a closed session: got %v, want session_not_found", err)
	}
}
