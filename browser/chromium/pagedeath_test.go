package chromium

import (
	"testing"
	"testing/synctest"
	"time"
)

// Chromium has lost its zygote where eight pages in half a minute could get no process; what ends a page otherwise,
// and what was longer ago, does not count.
func TestFailedLaunches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f FailedLaunches
		fail := func(times int) (all bool) {
			for range times {
				all = f.Add("failed to launch")
				time.Sleep(time.Second)
			}
			return all
		}
		if fail(7) || f.Add("crashed") {
			t.Error("seven are too few")
		}
		if !fail(1) {
			t.Error("eight are enough")
		}
		time.Sleep(30 * time.Second)
		if fail(7) {
			t.Error("what failed half a minute ago still counts")
		}
		if !fail(1) {
			t.Error("eight are enough again")
		}
	})
}
