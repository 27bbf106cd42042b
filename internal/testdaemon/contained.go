package testdaemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/untested"
)

// CheckContained fails t unless the kernel contains the process pid, as package contain
// has it: a seccomp filter, no way to new privileges, no environment, and nothing open but
// standard input and output as pipes, an empty error output, and what Go's runtime needs.
// With ownNetwork it is also not in the network namespace of the test. It skips t where
// there is no /proc.
func CheckContained(t testing.TB, pid int, ownNetwork bool) {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		untested.Skip(t, "this system has no /proc")
	}
	dir := fmt.Sprintf("/proc/%d/", pid)
	read := func(name string) string {
		content, err := os.ReadFile(dir + name)
		if errors.Is(err, fs.ErrPermission) { // it forbids dumps: only root and who owns its namespaces may look
			untested.Skip(t, "only root may see the processes of scripts and PDFs here")
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	status := read("status")
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, want+"\n") {
			t.Errorf("its status lacks %q:\n%s", want, status)
		}
	}
	if got := read("environ"); got != "" { // which may hold secrets
		t.Errorf("its environment has %d bytes", len(got))
	}
	entries, err := os.ReadDir(dir + "fd")
	if err != nil {
		t.Fatal(err)
	}
	open := map[int]string{}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err == nil {
			open[fd], err = os.Readlink(dir + "fd/" + e.Name())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for fd, to := range open {
		switch {
		case fd <= 1 && strings.HasPrefix(to, "pipe:"), fd == 2 && to == os.DevNull:
		case fd > 2 && slices.Contains([]string{"anon_inode:[eventpoll]", "anon_inode:[eventfd]"}, to): // Go waits for the pipes by them
		case fd > 2 && strings.HasPrefix(to, "/sys/fs/cgroup/") && strings.HasPrefix(filepath.Base(to), "cpu."): // Go reads how many processors it has
		default:
			t.Errorf("its descriptor %d is %s", fd, to)
		}
	}
	if len(open) < 3 {
		t.Errorf("its open files are %v, want standard input, output and error output", open)
	}
	if !ownNetwork {
		return
	}
	mine, err1 := os.Readlink("/proc/self/ns/net")
	its, err2 := os.Readlink(dir + "ns/net")
	if err1 != nil || err2 != nil || mine == its {
		t.Errorf("its network namespace is %s (%v), the test's is %s (%v)", its, err2, mine, err1)
	}
}
