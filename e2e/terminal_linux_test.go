package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/internal/untested"
)

// terminal is a pseudo-terminal (pts(4)): what is written to it comes out of
// screen.
func terminal(t *testing.T) (tty, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		untested.Missing(t, "there are no pseudo-terminals here: %v", err)
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
	t.Parallel()
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
	line, answer, ok := strings.Cut(strings.TrimPrefix(seen, erased+`wait "never said": 1 s, at most 2 s (Ctrl-C ends it)`), erased+"browserd: timeout: ")
	if line == seen || !ok || strings.Contains(answer, "\x1b") {
		t.Errorf("the terminal got %q", seen)
	}
	if seen := atTerminal(append(long, "--json")...); strings.Contains(seen, "\x1b") {
		t.Errorf("with --json the terminal got %q", seen)
	}
	if seen := atTerminal(append(long, "--quiet")...); !strings.HasPrefix(seen, "browserd: timeout: ") {
		t.Errorf("with --quiet the terminal got %q", seen)
	}
	if _, err := d.Command(long...); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a pipe got %q", err)
	}
}

// A person who opens a private page is asked whether it is allowed; what he answers
// holds, and no other address opens with it.
func TestLocalhostIsAskedForAtATerminal(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{"BROWSERD_POLICY__ALLOW_HOSTS": ""}})
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	page := demoServer(t)
	host := strings.TrimSuffix(strings.TrimPrefix(page, "http://"), "/")
	question := "Allow " + host + " for this machine? [y/N/always] "
	open := func(url, answer string) (screen string, stdout string) {
		tty, master := terminal(t)
		cmd := exec.Command(bin, "open", url)
		var out strings.Builder
		cmd.Env, cmd.Stdin, cmd.Stderr, cmd.Stdout = append(d.Environ(), "TERM=xterm"), tty, tty, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tty.Close()
		io.WriteString(master, answer)
		seen, _ := io.ReadAll(master)
		cmd.Wait()
		return string(seen), out.String()
	}
	if seen, out := open(page, "n\n"); !strings.Contains(seen, question) || !strings.Contains(seen, "→ browserd allow "+host) || out != "" {
		t.Errorf("no: %q %q", seen, out)
	}
	if seen, out := open(page, "y\n"); !strings.Contains(seen, question) || !strings.Contains(seen, "allowed until the daemon ends: "+host) || !strings.Contains(out, "[snapshot]") {
		t.Errorf("yes: %q %q", seen, out)
	}
	if seen, out := open(page, ""); strings.Contains(seen, "Allow") || !strings.Contains(out, "[snapshot]") {
		t.Errorf("after yes: %q %q", seen, out)
	}
	if _, err := os.Stat(d.Home + "/config/browserd/browserd.yaml"); err == nil {
		t.Error("yes was written down")
	}
	// The same port of another address is another host.
	other := strings.Replace(page, "127.0.0.1", "127.0.0.2", 1)
	if seen, out := open(other, "always\n"); !strings.Contains(seen, strings.Replace(question, "127.0.0.1", "127.0.0.2", 1)) || !strings.Contains(seen, "allowed: 127.0.0.2:") {
		t.Errorf("always: %q %q", seen, out)
	}
	if b, err := os.ReadFile(d.Home + "/config/browserd/browserd.yaml"); err != nil || !strings.Contains(string(b), "127.0.0.2:") {
		t.Errorf("always was not written down: %q %v", b, err)
	}
	// Where a page leads, nobody has typed: nobody is asked.
	leads := httptest.NewServer(http.RedirectHandler("http://127.0.0.3:8000/", http.StatusFound))
	defer leads.Close()
	if out, err := d.Command("allow", leads.URL); err != nil {
		t.Fatal(out, err)
	}
	if seen, _ := open(leads.URL, "always\n"); strings.Contains(seen, "[y/N/always]") || !strings.Contains(seen, "127.0.0.3") {
		t.Errorf("a redirect: %q", seen)
	}
}
