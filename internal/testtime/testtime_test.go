package testtime_test

import (
	"errors"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testtime"
)

// asked is a test that only notes what it is told.
type asked struct {
	testing.TB
	failed bool
}

func (a *asked) Errorf(string, ...any) { a.failed = true }

func TestOneOfThree(t *testing.T) {
	for good, want := range map[int]bool{1: false, 2: false, 3: false, 4: true} {
		a, tried := &asked{TB: t}, 0
		testtime.OneOfThree(a, func() error {
			if tried++; tried == good {
				return nil
			}
			return errors.New("late")
		})
		if a.failed != want || tried != min(good, 3) {
			t.Errorf("good the %d. time: failed %v after %d", good, a.failed, tried)
		}
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		most, never time.Duration
		want        bool
	}{{time.Minute, time.Hour, false}, {0, time.Hour, true}, {time.Minute, 0, true}} {
		a := &asked{TB: t}
		testtime.Within(a, "it", c.most, c.never, func() { time.Sleep(time.Microsecond) })
		if a.failed != c.want {
			t.Errorf("%+v: failed %v", c, a.failed)
		}
	}
}
