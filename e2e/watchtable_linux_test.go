package e2e_test

import (
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/browserd/browserd/internal/testdaemon"
)

// screenOf collects what a program writes to a terminal, and gives the last frame that
// it has drawn whole: from the top of the screen to the erased rest.
type screenOf struct {
	mu   sync.Mutex
	text strings.Builder
}

func readScreen(screen io.Reader) *screenOf {
	s := &screenOf{}
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, err := screen.Read(b)
			s.mu.Lock()
			s.text.Write(b[:n])
			s.mu.Unlock()
			if err != nil { // EIO where the last writer has closed it
				return
			}
		}
	}()
	return s
}

func (s *screenOf) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screenOf) frame() []string {
	text := s.all()
	end := strings.LastIndex(text, "\x1b[J")
	if end < 0 {
		return nil
	}
	text = text[:end]
	return strings.Split(text[strings.LastIndex(text, "\x1b[H")+len("\x1b[H"):], "\x1b[K\r\n")
}

// row is the words of the row that begins with the session's name.
func (s *screenOf) row(session string) string {
	for _, line := range s.frame() {
		if strings.HasPrefix(line, session+" ") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

// At a terminal, watch is a table that is drawn again with each event: a row for each
// session, with its page, its last command and what came of it; and the lines below.
func TestWatchIsATableAtATerminal(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	web := newPageServer(t)
	web.serve("/a", page("A", `<button onclick="confirm('Really?')">Ask</button><button onclick="location='/b'">Go</button>`), "")
	web.serve("/b", page("B", `<h1>B</h1>`), "")
	c := d.Dial(t)
	var opened struct{ Snapshot struct{ Text string } }
	for _, name := range []string{"ann", "bob"} {
		if err := c.Call(t.Context(), "session_open", map[string]any{"name": name}, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Call(t.Context(), "open", map[string]any{"session": name, "url": web.URL + "/a"}, &opened); err != nil {
			t.Fatal(err)
		}
	}
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	tty, screen := terminal(t)
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 160, Row: 24}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "watch")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(d.Environ(), "TERM=xterm"), tty, tty
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	t.Cleanup(func() { cmd.Process.Kill() })
	seen := readScreen(screen)
	shows := func(session, want string) {
		t.Helper()
		defer func() {
			if t.Failed() {
				t.Logf("the screen shows:\n%s", strings.Join(seen.frame(), "\n"))
			}
		}()
		until(t, 20*time.Second, session+": "+want, func() bool { return strings.Contains(seen.row(session), want) })
	}
	shows("ann", "ann "+web.URL+"/a")
	shows("bob", "bob "+web.URL+"/a")

	ref := refIn(t, opened.Snapshot.Text, "button", "Go")
	if err := c.Call(t.Context(), "click", map[string]any{"session": "bob", "ref": ref}, nil); err != nil {
		t.Fatal(err)
	}
	shows("bob", web.URL+`/b click [button] "Go" (`)
	shows("bob", "navigated")
	shows("ann", "ann "+web.URL+"/a")

	// What waits for somebody stands in its row.
	ask := refIn(t, opened.Snapshot.Text, "button", "Ask")
	if err := c.Call(t.Context(), "click", map[string]any{"session": "ann", "ref": ask}, nil); err != nil {
		t.Fatal(err)
	}
	shows("ann", `click [button] "Ask" (`)
	shows("ann", ` ms) a dialog: "Really?"`)
	if err := c.Call(t.Context(), "dialog", map[string]any{"session": "ann", "accept": true}, nil); err != nil {
		t.Fatal(err)
	}
	shows("ann", "dialog (")

	// An error has its code; a closed session has no row; the lines below tell all.
	if err := c.Call(t.Context(), "click", map[string]any{"session": "bob", "ref": "@e999"}, nil); err == nil {
		t.Fatal("@e999 was clicked")
	}
	shows("bob", "unknown_ref")
	if err := c.Call(t.Context(), "session_close", map[string]any{"session": "bob"}, nil); err != nil {
		t.Fatal(err)
	}
	until(t, 20*time.Second, "bob's row to go", func() bool { return len(seen.frame()) > 3 && seen.row("bob") == "" })
	if frame := strings.Join(seen.frame(), "\n"); !strings.Contains(frame, "bob session_closing") || len(seen.frame()) > 24 {
		t.Errorf("the last of 24 lines:\n%s", frame)
	}

	// The person's own screen comes back.
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Errorf("watch ended with %v", err)
	}
	until(t, 5*time.Second, "the person's screen", func() bool { return strings.HasSuffix(seen.all(), "\x1b[?7h\x1b[?25h\x1b[?1049l") })
}
