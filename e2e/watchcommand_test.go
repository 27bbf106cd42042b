package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	client "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// watcher is a running `browserd watch`.
type watcher struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

func watch(t *testing.T, d *testdaemon.Daemon, args ...string) *watcher {
	t.Helper()
	bin, err := testdaemon.Binary()
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{t: t, cmd: exec.Command(bin, append([]string{"watch"}, args...)...), lines: make(chan string, 1000)} // more than any test makes
	w.cmd.Env = d.Environ()
	stdout, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.cmd.Process.Kill() })
	if said, err := bufio.NewReader(stderr).ReadString('\n'); !strings.Contains(said, "watching at ") {
		rest, _ := io.ReadAll(stderr)
		t.Fatalf("watch said %q %v %s", said, err, rest)
	}
	go func() {
		defer close(w.lines)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			w.lines <- s.Text()
		}
	}()
	return w
}

// until returns the lines up to one that holds word.
func (w *watcher) until(word string) []string {
	w.t.Helper()
	var seen []string
	for limit := time.After(20 * time.Second); ; {
		select {
		case line, more := <-w.lines:
			if !more {
				w.t.Fatalf("watch ended before %q:\n%s", word, strings.Join(seen, "\n"))
			}
			if seen = append(seen, line); strings.Contains(line, word) {
				return seen
			}
		case <-limit:
			w.t.Fatalf("watch never said %q:\n%s", word, strings.Join(seen, "\n"))
		}
	}
}

// end waits for the process, after a signal if there is one.
func (w *watcher) end(signal os.Signal) {
	w.t.Helper()
	if signal != nil {
		w.cmd.Process.Signal(signal)
	}
	for range w.lines { // Wait may be called when all is read
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("watch ended with %v", err)
	}
}

// Who watches sees each command of the agent's sessions, its effect and the
// lines that it changed, and events; nothing that was typed into a password field.
func TestWatch(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	app := demoServer(t)
	web := newPageServer(t)
	web.serve("/login", page("Login", `<label>Password <input type=password></label><label>Word <input type=password oninput="this.type = 'text'"></label>`), "")
	w := watch(t, d)
	c := d.Dial(t)
	call := func(command string, params map[string]any) string {
		var r struct {
			Session         string
			Snapshot, Delta struct{ Text string }
		}
		if err := c.Call(t.Context(), command, params, &r); err != nil {
			t.Fatal(err)
		}
		// The connection that acts is not told of its own commands: it has not asked.
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if e, err := c.Event(over, client.OfType(protocol.EventCommand)); err == nil {
			t.Errorf("told without asking: %+v", e)
		}
		return r.Snapshot.Text + r.Delta.Text
	}

	items := refIn(t, call("open", map[string]any{"url": app}), "link", "Items")
	if opened := strings.Join(w.until(`  @e8 [heading level=1] "Pantry"`), "\n"); !strings.Contains(opened, ` open {"url":"`+app+`"} `) {
		t.Errorf("open was told as\n%s", opened)
	}
	call("click", map[string]any{"ref": items})
	clicked := strings.Join(w.until(`-   @e8 [heading level=1] "Pantry"`), "\n")
	for _, want := range []string{` click {"ref":"` + items + `"} [link] "Items" `, ` ms`, "\n  effect: {", "\n  +   @e11 [button] \"Add\"", "\n  ~     @e4 [link href=\"/items\" current focused] \"Items\""} {
		if !strings.Contains(clicked, want) {
			t.Errorf("no %s in\n%s", want, clicked)
		}
	}
	if err := c.Call(t.Context(), "click", map[string]any{"ref": "@e9999"}, nil); err == nil {
		t.Fatal("clicked a ref that was never given out")
	}
	w.until(` ms unknown_ref: @e9999 `)
	login := call("open", map[string]any{"url": web.URL + "/login"})
	field, switched := refIn(t, login, "textbox", "Password"), refIn(t, login, "textbox", "Word")
	call("type", map[string]any{"ref": field, "text": canary})
	if typed := strings.Join(w.until(`~ `+field+` [textbox type="password"`), "\n"); strings.Contains(typed, canary) {
		t.Errorf("a password was told:\n%s", typed)
	}
	call("type", map[string]any{"ref": switched, "text": canary})
	if typed := strings.Join(w.until(`~ `+switched+` [textbox`), "\n"); strings.Contains(typed, canary) {
		t.Errorf("a password was told whose field has become another:\n%s", typed)
	}
	call("eval", map[string]any{"expression": "console.error('oh\x1b[2J no')"})
	for _, line := range w.until(" console_error ") {
		if strings.ContainsRune(line, '\x1b') {
			t.Errorf("an escape sequence came through: %q", line)
		}
	}
	w.end(os.Interrupt)
}

// One session by its name, for programs, until it closes; and one that is not there.
func TestWatchOneSession(t *testing.T) {
	t.Parallel()
	d := testdaemon.Start(t, testdaemon.Options{})
	c := d.Dial(t)
	for _, name := range []string{"other", "mine"} {
		if err := c.Call(t.Context(), "session_open", map[string]any{"name": name}, nil); err != nil {
			t.Fatal(err)
		}
	}
	w := watch(t, d, "mine", "--json")
	for _, name := range []string{"other", "mine"} {
		if err := c.Call(t.Context(), "open", map[string]any{"url": demoServer(t), "session": name}, nil); err != nil {
			t.Fatal(err)
		}
	}
	var told struct {
		Session, Type, Command, Code string
		Page                         struct{ Title string }
		Snapshot                     struct{ Text string }
	}
	lines := w.until(`"type":"command"`)
	for _, line := range lines {
		if err := json.Unmarshal([]byte(line), &told); err != nil || told.Session != "mine" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if told.Command != "open" || told.Code != "ok" || !strings.Contains(told.Page.Title, "Pantry") || !strings.Contains(told.Snapshot.Text, "[snapshot] ") {
		t.Errorf("told %+v", told)
	}
	if err := c.Call(t.Context(), "session_close", map[string]any{"session": "mine"}, nil); err != nil {
		t.Fatal(err)
	}
	w.until(`"session_closing"`)
	w.end(nil)

	_, err := d.Command("watch", "mine")
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 8 || !strings.Contains(err.Error(), "session_not_found: ") {
		t.Errorf("a session that is not there: %v", err)
	}
}
