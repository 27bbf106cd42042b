// Package testtime holds what takes time to a limit on a machine that does other things too: CI's has two
// processors, and one test at a time may be held up for a second and more.
//
// It owns no limit: the test has that. It never lets a failure pass that comes each time.
package testtime

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

const tries = 3

// OneOfThree runs try until it returns nil, three times at most, and fails the test with all that was returned
// where it never does. What has nothing to do with time try tells the test itself, which fails then at once.
func OneOfThree(t testing.TB, try func() error) {
	t.Helper()
	var all error
	for range tries {
		err := try()
		if err == nil {
			return
		}
		t.Logf("too late once: %v", err)
		all = errors.Join(all, err)
	}
	t.Errorf("%d times in a row:\n%v", tries, all)
}

// Within is OneOfThree for what must not take longer than most. No try may take longer than never, which tells
// a wait from a machine that is slow.
func Within(t testing.TB, what string, most, never time.Duration, try func()) {
	t.Helper()
	OneOfThree(t, func() error {
		t.Helper()
		began := time.Now()
		try()
		took := time.Since(began)
		if took > never {
			t.Errorf("%s took %v", what, took)
		}
		if took > most {
			return fmt.Errorf("%s took %v, want %v", what, took, most)
		}
		return nil
	})
}
