//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// heldTo holds processes to a limit of the kernel's until the func it returns is called.
func heldTo(t *testing.T, resource int, soft uint64, pids ...int) (lift func()) {
	t.Helper()
	before := map[int]unix.Rlimit{}
	for _, pid := range pids {
		var was unix.Rlimit
		if err := unix.Prlimit(pid, resource, nil, &was); err != nil {
			continue // it has ended
		}
		before[pid] = was
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: soft, Max: was.Max}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for pid, was := range before {
			unix.Prlimit(pid, resource, &was, nil) // it may have ended meanwhile
		}
	}
}

// The daemon may open no further file: a page that is open is read and acted on, what
// needs a file or a connection says so in its time, nobody is let in meanwhile, and with
// files again everything works.
func TestNoDescriptorsLeft(t *testing.T) {
	aboutOneProcess(t, "the descriptors that it may open")
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily()})
	r := rowTest{newAgent(t, d), newPageServer(t), "files"}
	r.w.serve("/next", page("files", "<h1>Next</h1><button onclick='report(1)'>Go</button>"), "")
	r.open(r.w.URL + "/next")
	ref := r.snapshot().ref(t, "button", "Go")
	lift := heldTo(t, unix.RLIMIT_NOFILE, 3, d.PID) // those that are open stay
	for range 20 {
		r.do("snapshot", nil)
		r.do("click", click(ref, nil))
	}
	for command, p := range map[string]params{
		"http_request": {"url": r.w.alt() + "/next"}, "web_fetch": {"url": r.w.alt() + "/next", "source": "http"}, "state_save": {"name": "x"},
		"open": {"url": r.w.alt() + "/next"},
	} {
		p["timeout_ms"] = 5000
		began := time.Now()
		_, err := r.try(command, p)
		t.Logf("%s without descriptors: %v after %v", command, err, time.Since(began).Round(time.Millisecond))
		if code := protocol.CodeOf(err); code != protocol.NavigationFailed && code != protocol.FetchFailed && code != protocol.NoSpace && code != protocol.Timeout {
			t.Errorf("%s without descriptors: %v", command, err)
		}
	}
	lift()
	r.open(r.w.alt() + "/next")
	r.open(r.w.URL + "/next")
	r.do("click", click(r.snapshot().ref(t, "button", "Go"), nil))
	r.do("state_save", params{"name": "x"})
	newAgent(t, d).do("ping", nil)
	r.works()
	r.do("snapshot", nil)
}

// Chromium may start no further process or thread: before its start it is said to be
// unavailable, while it runs its session's commands end in their time; with processes
// again everything works.
func TestNoProcessesLeft(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily()})
	r := rowTest{newAgent(t, d), newPageServer(t), "processes"}
	r.w.serve("/next", page("processes", "<h1>Next</h1><button onclick='report(1)'>Go</button>"), "")
	lift := heldTo(t, unix.RLIMIT_NPROC, 1, d.PID)
	_, err := r.try("open", params{"url": r.w.URL + "/next", "source": "chromium", "timeout_ms": 20000})
	t.Logf("before Chromium's start: %v", err)
	if protocol.CodeOf(err) != protocol.ChromiumUnavailable || !strings.Contains(err.Error(), "no process or thread") {
		t.Errorf("before Chromium's start: %v, want chromium_unavailable", err)
	}
	lift()
	r.opensSoon("/next")

	var all []int
	for _, p := range testdaemon.Descendants(d.PID) {
		all = append(all, p.PID)
	}
	lift = heldTo(t, unix.RLIMIT_NPROC, 1, all...)
	said := map[protocol.Code]int{}
	for i := range 6 {
		other := newAgent(t, d)
		for _, command := range []string{"open", "tab_new"} {
			p := params{"timeout_ms": 5000}
			p["url"] = fmt.Sprintf("%s/next?%d", r.w.alt(), i)
			if command == "open" {
				p["source"] = "chromium"
			}
			_, err := other.try(command, p)
			if err == errHang || protocol.CodeOf(err) == protocol.Internal {
				t.Errorf("%s while Chromium runs: %v", command, err)
			}
			if err != nil {
				said[protocol.CodeOf(err)]++
			}
		}
	}
	t.Logf("of 12 commands that want a page: %v", said)
	lift()
	for _, p := range testdaemon.Descendants(d.PID) { // which were started meanwhile
		var l unix.Rlimit
		if unix.Prlimit(p.PID, unix.RLIMIT_NPROC, nil, &l) == nil {
			heldTo(t, unix.RLIMIT_NPROC, l.Max, p.PID)
		}
	}
	r.opensSoon("/next")
	r.works()
}
