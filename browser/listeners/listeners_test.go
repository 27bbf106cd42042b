package listeners

import (
	"testing"
	"time"
)

// Listeners are asked for again if there was activity, or after a while without any; and
// asking takes a twentieth of the time at most.
func TestStaleListeners(t *testing.T) {
	for _, c := range []struct {
		ago, took time.Duration
		active    bool
		want      bool
	}{
		{ago: time.Millisecond, active: true, want: true},
		{ago: time.Millisecond, active: false, want: false},
		{ago: idleInterval, active: false, want: true},
		{ago: idleInterval, took: idleInterval, active: true, want: false},
		{ago: costFactor * idleInterval, took: idleInterval, active: false, want: true},
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
