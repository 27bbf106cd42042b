package session

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// While a turn is lent, the turns behind it that only read run, in order, up to the first that does not. The
// one that lent its turn continues before all others.
func TestYieldLetsReadersRun(t *testing.T) {
	q := turns{limit: 10}
	var taken []*Turn
	for _, reads := range []bool{true, true, true, false, true} {
		turn, err := q.take(reads)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, turn)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	has := func(when string, i int) {
		t.Helper()
		for j, turn := range taken {
			if turn != nil && (turn.Wait(over) == nil) != (j == i) {
				t.Fatalf("%s: turn %d: has it %t, want only that of %d", when, j, j != i, i)
			}
		}
	}
	end := func(i int) { taken[i].End(); taken[i] = nil }
	has("at first", 0)
	err := taken[0].Yield(over, func() {
		has("while 0 rests", 1)
		if err := taken[1].Yield(over, func() { has("while 0 and 1 rest", 2) }); !errors.Is(err, context.Canceled) {
			t.Fatalf("1 came back while 2 held the turn: %v", err)
		}
		end(2)
		has("when 2 has ended", 1)
		end(1)
		has("before the one that acts", -1)
	})
	if err != nil {
		t.Fatal(err)
	}
	has("when 0 is back", 0)
	end(0)
	has("when 0 has ended", 3)
	end(3)
	has("at last", 4)
}

// A command whose Yield timed out, and which then ends, does not block the others.
func TestYieldThatTimesOut(t *testing.T) {
	q := turns{limit: 10}
	first, _ := q.take(true)
	second, _ := q.take(true)
	third, _ := q.take(false)
	over, cancel := context.WithCancel(context.Background())
	if err := first.Yield(over, cancel); !errors.Is(err, context.Canceled) {
		t.Fatalf("came back while another held it: %v", err)
	}
	first.End()
	if third.Wait(over) == nil {
		t.Fatal("two turns at once")
	}
	second.End()
	if err := third.Wait(over); err != nil {
		t.Fatal(err)
	}
}

// Of many commands that yield, read and act, one at a time holds the turn. Those that act run in order.
func TestYieldIsExclusive(t *testing.T) {
	q := turns{limit: 1000}
	ctx := context.Background()
	held, acted := 0, []int{} // the race detector sees two holders
	var all sync.WaitGroup
	for i := range 300 {
		turn, err := q.take(i%5 != 0)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer turn.End()
			if err := turn.Wait(ctx); err != nil {
				t.Error(err)
			}
			held++
			if i%5 == 0 {
				acted = append(acted, i)
			}
			for range i % 4 {
				if err := turn.Yield(ctx, func() {}); err != nil {
					t.Error(err)
				}
				held++
			}
		})
	}
	all.Wait()
	want := 0
	for i := range 300 {
		want += 1 + i%4
	}
	if held != want {
		t.Errorf("%d turns were counted, want %d", held, want)
	}
	for i, a := range acted {
		if a != 5*i {
			t.Fatalf("acted in the order %v", acted)
		}
	}
}
