package session

import (
	"testing"
	"time"
)

// A refused session counts as wanted for refusalWindow: once if it has a name, each time if it has none, and
// never more than an agent may have.
func TestDemand(t *testing.T) {
	var d demand
	began := time.Now()
	for i, step := range []struct {
		after       time.Duration
		agent, name string
		want        int
	}{
		{0, "a", "work", 1},
		{time.Second, "a", "work", 1}, // the same client tries again
		{time.Second, "a", "", 2},
		{2 * time.Second, "a", "", 3},
		{2 * time.Second, "a", "", 3}, // an agent has at most three
		{3 * time.Second, "b", "work", 4},
		{refusalWindow + 500*time.Millisecond, "b", "work", 4}, // work was refused last after a second
		{refusalWindow + time.Second, "b", "more", 3},          // those of the first two seconds are forgotten, and b wants another
		{refusalWindow + 2*time.Second, "c", "", 3},
	} {
		now := began.Add(step.after)
		d.refuse(step.agent, step.name, 3, now)
		if got := d.wanted(now); got != step.want {
			t.Errorf("step %d: %d are wanted, want %d", i, got, step.want)
		}
	}
	if got := d.wanted(began.Add(2*refusalWindow + 3*time.Second)); got != 0 {
		t.Errorf("%d are wanted when nobody asks any more", got)
	}
	if d.total != 9 || len(d.agents) != 0 {
		t.Errorf("%d refusals, %d agents", d.total, len(d.agents))
	}
}
