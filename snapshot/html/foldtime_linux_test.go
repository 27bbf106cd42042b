package html

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/snapshot"
)

// threadTime is the processor time that the thread of the goroutine has used, whatever else the
// machine does.
func threadTime(t *testing.T) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// The time that a page with a long run of like siblings takes grows with its length, and not with the
// square of it: a run of elements in a slot, and a last sibling in which nothing has a name.
func TestALongRunTakesTimeByItsLength(t *testing.T) {
	run := strings.Repeat("<li><a href=/x>An item</a></li>", 400)
	for what, of := range map[string]func(n int) string{
		"in a slot": func(n int) string {
			return `<x-list><template shadowrootmode=open><slot></slot></template>` + strings.Repeat("<x-row><a href=/x>An item</a></x-row>", n) + `</x-list>`
		},
		"nothing has a name": func(n int) string {
			return `<ul>` + run + `<li>` + strings.Repeat(`<button></button>`, n) + `</li><li><a href=/x>The last</a></li></ul>`
		},
		"in a row": func(n int) string { return `<ul>` + strings.Repeat("<li><a href=/x>An item</a></li>", n) + `</ul>` },
	} {
		t.Run(what, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			took := func(n int) time.Duration {
				d, err := Parse(t.Context(), "<!doctype html><title>Long</title>"+of(n), nil, 1)
				if err != nil {
					t.Fatal(err)
				}
				least := time.Hour
				for range 3 {
					began := threadTime(t)
					c, err := d.Capture(t.Context(), snapshot.DefaultOptions(), snapshot.NewRefs(), nil)
					if err != nil {
						t.Fatal(err)
					}
					least = min(least, threadTime(t)-began)
					if s, _ := snapshot.Render(c, snapshot.DefaultOptions(), snapshot.NewRefs()); !strings.Contains(s.Text, "siblings") {
						t.Fatalf("nothing is folded:\n%s", s.Text)
					}
				}
				return least
			}
			short, long := took(2_000), took(16_000)
			t.Logf("2,000: %v, 16,000: %v", short, long)
			if long > 24*short {
				t.Errorf("2,000 in %v, 16,000 in %v", short, long)
			}
		})
	}
}
