package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/internal/testdaemon"
)

var flagsOfFile = regexp.MustCompile(`(?m)^flags:\s+0([0-7]+)$`)

// A file that the daemon was started with, such as a supervisor's, is its own from the start: no process that it starts
// gets it, also before the first script or PDF.
func TestNoProcessInheritsAFileOfTheDaemon(t *testing.T) {
	d := testdaemon.Start(t, testdaemon.Options{Alone: true, Wrap: []string{"sh", "-c", `exec "$@" 9</etc/passwd`, "sh"}})
	if file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/9", d.PID)); err != nil || file != "/etc/passwd" {
		t.Fatalf("the daemon's file 9 is %s, %v", file, err)
	}
	of, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/9", d.PID))
	if err != nil {
		t.Fatal(err)
	}
	m := flagsOfFile.FindSubmatch(of)
	if m == nil {
		t.Fatalf("no flags in %s", of)
	}
	if flags, err := strconv.ParseUint(string(m[1]), 8, 32); err != nil || flags&unix.O_CLOEXEC == 0 {
		t.Errorf("its flags are 0%s, %v: its processes get it", m[1], err)
	}
}
