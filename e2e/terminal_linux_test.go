package e2e_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/internal/testdaemon"
)

// terminal is a pseudo-terminal (pts(4)): what is written to it comes out of
// screen.
func terminal(t *testing.T) (tty, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return tty, screen
}

// A command that takes long says so on a terminal, and takes that back before
// its answer; to a program and into a pipe it says nothing.
func TestProgressAtATerminal(t *testing.T) {
	d := testdaemon.Start(t, testdaemon.Options{})
	if out, err := d.Command("open", demoServer(t)); err != nil {
		t.Fatal(out, err)
	}
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	long := []string{"wait", "never said", "--timeout_ms", "1500"}
	atTerminal := func(args ...string) string {
		tty, screen := terminal(t)
		cmd := exec.Command(bin, args...)
		cmd.Env, cmd.Stderr = append(d.Environ(), "TERM=xterm"), tty
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tty.Close()
		seen, _ := io.ReadAll(screen) // EIO where the last writer has closed it
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 4 {
			t.Errorf("%v ended with %v", args, err)
		}
		return string(seen)
	}
	const erased = "\r\x1b[K"
	seen := atTerminal(long...)
	line, answer, ok := strings.Cut(strings.TrimPrefix(seen, erased+"wait: 1 s, at most 2 s (Ctrl-C ends it)"), erased+"browserd: timeout: ")
	if line == seen || !ok || strings.Contains(answer, "\x1b") {
		t.Errorf("the terminal got %q", seen)
	}
	if seen := atTerminal(append(long, "--json")...); strings.Contains(seen, "\x1b") {
		t.Errorf("with --json the terminal got %q", seen)
	}
	if _, err := d.Command(long...); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a pipe got %q", err)
	}
}
