package main

import (
	"testing"

	"github.com/browserd/browserd/bench/driver"
	"github.com/browserd/browserd/internal/testdaemon"
)

// With scripts, browserd's part of the six tasks takes two calls each, and 13,600 tokens at
// most on average, although each turn reads again what the ones before it read. By refs they
// are done too.
func TestTheTasksAreDone(t *testing.T) {
	bin, err := testdaemon.PlainBinary()
	if err != nil {
		t.Fatal(err)
	}
	defer testdaemon.RemoveBinary()
	chromium, err := driver.FindChromium()
	if err != nil {
		t.Fatal(err)
	}
	count, err := driver.TokenCounter()
	if err != nil {
		t.Fatal(err)
	}
	all := []*player{players()[0], players()[2]}
	if err := play(t.Context(), all, 1, driver.Options{Browserd: bin, Chromium: chromium}, count, false); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		calls, tokens := 0, 0
		for _, e := range p.played {
			if e.failed != nil {
				t.Errorf("%s: %s: %v", p.name, e.task, e.failed)
			}
			calls += e.calls
			tokens += e.read
		}
		n := len(p.played)
		t.Logf("%s: %d tasks, %.1f calls, %d tokens each", p.name, n, float64(calls)/float64(n), tokens/n)
		if n != 6 || p.scripts && (calls > 2*n || tokens > 13600*n) {
			t.Errorf("%s: %d tasks in %d calls with %d tokens", p.name, n, calls, tokens)
		}
	}
}
