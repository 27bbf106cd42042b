//go:build linux && (amd64 || arm64)

package contain

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// probeName is the name (argv[0]) under which the tests' program contains itself as a script's
// process does, tries what it must not be able to do, and writes what came of it.
const probeName = "contained-probe"

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case probeName:
		probe()
		os.Exit(0)
	case parentName:
		parent(os.Args[1] == "bare")
		os.Exit(0)
	case sleeperName:
		select {}
	}
	os.Exit(m.Run())
}

var attempts = []struct {
	name string
	try  func() error
	// alone: tried in the contained process alone. Elsewhere it would replace the process or
	// stop the test's.
	alone bool
}{
	{"open a file", func() error { _, err := os.Open("/etc/passwd"); return err }, false},
	{"write a file", func() error { return os.WriteFile("/tmp/browserd-contained-probe", nil, 0o600) }, false},
	{"list a directory", func() error { _, err := os.ReadDir("/"); return err }, false},
	{"open a TCP socket", func() error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err }, false},
	{"open a Unix socket", func() error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }, false},
	{"dial", func() error { _, err := net.Dial("tcp", "127.0.0.1:9"); return err }, false},
	{"start a program", func() error { return exec.Command("/bin/true").Run() }, false},
	{"become a program", func() error { return unix.Exec("/bin/true", []string{"true"}, nil) }, true},
	{"signal the daemon", func() error { return unix.Kill(os.Getppid(), 0) }, false},
	{"trace the daemon", func() error { return unix.PtraceAttach(os.Getppid()) }, true},
	{"make memory that runs", func() error {
		_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
		return err
	}, false},
	{"make a namespace", func() error { return unix.Unshare(unix.CLONE_NEWUSER) }, false},
}

func probe() {
	if os.Getenv("CONTAINED") != "no" {
		if err := Self(60, 640<<20); err != nil {
			fmt.Println("contain:", err)
			return
		}
	}
	for _, a := range attempts {
		if a.alone && os.Getenv("CONTAINED") == "no" {
			continue
		}
		err := a.try()
		fmt.Printf("%s: refused %t (%v)\n", a.name, errors.Is(err, unix.EPERM), err)
	}
}

// The kernel refuses a contained process what no script needs, whatever runs in it.
func TestTheKernelContainsAProcess(t *testing.T) {
	for _, contained := range []string{"yes", "no"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Args, cmd.Env = []string{probeName}, []string{"CONTAINED=" + contained}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		refused := strings.Count(string(out), ": refused true")
		if contained == "yes" && refused != len(attempts) {
			t.Errorf("%d of %d attempts were refused:\n%s", refused, len(attempts), out)
		}
		if contained == "no" && refused > len(attempts)/2 {
			t.Errorf("the attempts say nothing: %d are refused without a filter:\n%s", refused, out)
		}
	}
}
