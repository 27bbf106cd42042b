package e2e_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// An operator at a terminal answers what waits for a confirmation by a key: allows it once, denies it, allows it
// for the session. A key that comes as soon as the question does answers nothing.
func TestWatchAnswersByAKey(t *testing.T) {
	t.Parallel()
	d := driven(t, "", map[string]string{"BROWSERD_POLICY__AUTONOMY": "supervised", "BROWSERD_POLICY__CONFIRM": "click"})
	web := newPageServer(t)
	web.serve("/a", page("A", `<button onclick="document.title='sent '+(n=(window.n||0)+1)">Send</button>`), "")
	a := as(t, d, ann)
	a.do("session_open", params{"name": "work"})
	a.open(web.URL + "/a")
	ref := a.snapshot().ref(t, "button", "Send")

	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	tty, screen := terminal(t)
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 160, Row: 30}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "watch")
	cmd.Env = append(slices.DeleteFunc(slices.Clone(d.Environ()), func(v string) bool { return strings.HasPrefix(v, "BROWSERD_TOKEN=") }), "TERM=xterm", "BROWSERD_TOKEN="+olga)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	t.Cleanup(func() { cmd.Process.Kill() })
	seen := readScreen(screen)
	shows := func(want string) {
		t.Helper()
		defer func() {
			if t.Failed() {
				t.Logf("the screen shows:\n%s", strings.Join(seen.frame(), "\n"))
			}
		}()
		until(t, 20*time.Second, want, func() bool { return strings.Contains(strings.Join(seen.frame(), "\n"), want) })
	}
	press := func(key string) {
		t.Helper()
		if _, err := screen.WriteString(key); err != nil {
			t.Fatal(err)
		}
	}
	// answered asks by a click, presses the key until it counts, and returns what came of the click.
	answered := func(key, said string) error {
		t.Helper()
		pending := a.send("click", params{"ref": ref})
		shows("1 WAIT FOR AN ANSWER (a allow once")
		shows(`ann: click [button] "Send" at ` + web.URL)
		press(key)
		until(t, 20*time.Second, said, func() bool {
			text := strings.Join(seen.frame(), "\n")
			if strings.Contains(text, "press the key again") {
				press(key)
			}
			return strings.Contains(text, said)
		})
		_, err := a.wait(pending)
		return err
	}
	shows("browserd at")
	if err := answered("d", "denied: ann: click"); protocol.CodeOf(err) != protocol.ConfirmationDenied {
		t.Errorf("denied by a key: %v", err)
	}
	if err := answered("a", "allowed once: ann: click"); err != nil {
		t.Errorf("allowed by a key: %v", err)
	}
	if err := answered("s", "allowed for the session: ann: click"); err != nil {
		t.Errorf("allowed for the session by a key: %v", err)
	}
	a.do("click", params{"ref": ref}) // nobody is asked any more
	if !strings.Contains(seen.all(), "read it, and press the key again") {
		t.Error("a key that came with the question answered it")
	}
	press("q")
	if err := cmd.Wait(); err != nil {
		t.Errorf("watch ended with %v", err)
	}
	until(t, 5*time.Second, "the person's screen", func() bool { return strings.HasSuffix(seen.all(), "\x1b[?7h\x1b[?25h\x1b[?1049l") })
}
