//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// The soak in short: clients of all manners for half a minute, renderers and a
// Chromium that die under them, and afterwards nothing is left that was not there
// before. `make soak` plays the same for an hour.
func TestSoak(t *testing.T) {
	d := testdaemon.Start(t, testdaemon.Options{Env: Env()})
	r, err := Run(t.Context(), d, Short(30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var report strings.Builder
	r.Print(&report, 8)
	t.Log(report.String())
	for _, fault := range r.Faults() {
		t.Error(fault)
	}
	if t.Failed() {
		t.Log(strings.Join(Errors(d.Log()), "\n"))
	}
	if r.Tally.Commands() < 20 {
		t.Errorf("%d commands were answered: the soak has shown nothing", r.Tally.Commands())
	}
}
