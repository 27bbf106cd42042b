package listeners

import (
	"testing"
	"time"
)

// When listeners are asked for again: something was done, or it is long ago; and
// asking takes a twentieth of the time at most.
func TestStaleListeners(t *testing.T) {
	for _, c := range []struct {
		ago, took time.Duration
		active    bool
		want      bool
	}{
		{ago: time.Millisecond, active: true, want: true},
		{ago: time.Millisecond, active: false, want: false},
		{ago: calm, active: false, want: true},
		{ago: calm, took: calm, active: true, want: false},
		{ago: askAgain * calm, took: calm, active: false, want: true},
	} {
		m := Reported{asked: time.Now().Add(-c.ago), took: c.took, activity: 7}
		activity := m.activity
		if c.active {
			activity++
		}
		if got := m.stale(activity); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}
