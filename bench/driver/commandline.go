package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/snapshot"
)

// program is a tool's command line, with what is said to every run of it.
type program struct {
	path, home string
	env, args  []string
	used       *atomic.Int64 // processor time of the runs that have ended, ns
}

func (p program) ended() time.Duration { return time.Duration(p.used.Load()) }

// run runs it once and returns what it printed.
func (p program) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, p.path, append(args, p.args...)...)
	cmd.Env, cmd.Dir = p.env, p.home
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second // a daemon that it starts may hold its pipes
	out, err := cmd.Output()
	if s := cmd.ProcessState; s != nil {
		p.used.Add(int64(s.UserTime() + s.SystemTime()))
	}
	if err != nil && !(errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success()) {
		return "", fmt.Errorf("%s: %w: %s%s", args[0], err, out, stderr.String())
	}
	return string(out), nil
}

// browserdCommand is browserd's command line against a daemon of ours.
type browserdCommand struct {
	*process
	program
	session string
}

func startBrowserdCommand(ctx context.Context, o Options) (Driver, error) {
	p, _, err := serveBrowserd(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	return &browserdCommand{p, program{path: p.cmd.Path, home: p.home, env: p.cmd.Env, used: new(atomic.Int64)}, ""}, nil
}

func (d *browserdCommand) NewSession(ctx context.Context) (Driver, error) {
	out, err := d.run(ctx, "session_open", "--json")
	if err != nil {
		return nil, err
	}
	var r struct{ Session string }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return nil, err
	}
	other := *d
	other.session = r.Session
	other.program.args = []string{"--session", r.Session}
	return &other, nil
}

func (d *browserdCommand) Close() error {
	if d.session != "" {
		return d.did(context.Background(), "session_close")
	}
	return d.stop(func() error { return d.cmd.Process.Signal(syscall.SIGTERM) })
}

func (d *browserdCommand) Name() string { return "browserd (command line)" }
func (d *browserdCommand) PIDs() []int  { return d.pids() }

func (d *browserdCommand) did(ctx context.Context, args ...string) error {
	_, err := d.run(ctx, args...)
	return err
}

func (d *browserdCommand) Open(ctx context.Context, url string) error {
	return d.did(ctx, "open", url, "--snapshot", "none")
}

func (d *browserdCommand) Text(ctx context.Context, kind Kind) (string, error) {
	args := []string{"snapshot"}
	for key, value := range browserdBudgets(kind) {
		args = append(args, fmt.Sprintf("--%s=%v", key, value))
	}
	out, err := d.run(ctx, args...)
	return strings.TrimRight(out, "\n"), err
}

func (d *browserdCommand) Snapshot(ctx context.Context, kind Kind) (Snapshot, error) {
	args := []string{"snapshot", "--json"}
	for key, value := range browserdBudgets(kind) {
		args = append(args, fmt.Sprintf("--%s=%v", key, value))
	}
	out, err := d.run(ctx, args...)
	if err != nil {
		return Snapshot{}, err
	}
	var r struct{ Snapshot snapshot.Snapshot }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		return Snapshot{}, err
	}
	nodes, err := parseBrowserd(r.Snapshot.Text)
	return Snapshot{r.Snapshot.Text, nodes}, err
}

func (d *browserdCommand) Click(ctx context.Context, ref string) error {
	return d.did(ctx, "click", ref, "--snapshot", "none")
}

func (d *browserdCommand) ClickAndSee(ctx context.Context, ref string) (string, error) {
	return d.run(ctx, "click", ref)
}

func (d *browserdCommand) DoubleClick(ctx context.Context, ref string) error {
	return d.did(ctx, "click", ref, "--count", "2", "--snapshot", "none")
}

func (d *browserdCommand) Type(ctx context.Context, ref, text string) error {
	return d.did(ctx, "type", ref, text, "--clear", "--snapshot", "none")
}

func (d *browserdCommand) Press(ctx context.Context, key string) error {
	return d.did(ctx, "press", key, "--snapshot", "none")
}

func (d *browserdCommand) Select(ctx context.Context, ref, label string) error {
	return d.did(ctx, "select", ref, label, "--snapshot", "none")
}

func (d *browserdCommand) Check(ctx context.Context, ref string, checked bool) error {
	return d.did(ctx, "check", ref, fmt.Sprintf("--checked=%v", checked), "--snapshot", "none")
}

func (d *browserdCommand) Hover(ctx context.Context, ref string) error {
	return d.did(ctx, "hover", ref, "--snapshot", "none")
}

func (d *browserdCommand) Drag(ctx context.Context, from, to string) error {
	return d.did(ctx, "drag", from, to, "--snapshot", "none")
}

func (d *browserdCommand) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	out, err := d.run(ctx, "eval", expression, "--json")
	if err != nil {
		return nil, err
	}
	var r struct{ Value json.RawMessage }
	err = json.Unmarshal([]byte(out), &r)
	return r.Value, err
}

// agentBrowserCommand is agent-browser's command line. The first command starts
// the session's daemon, which outlives it.
type agentBrowserCommand struct {
	program
	o       Options
	session string
}

func startAgentBrowserCommand(ctx context.Context, o Options) (Driver, error) {
	bin, err := agentBrowserProgram(o)
	if err != nil {
		return nil, err
	}
	home, err := newHome()
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("s%d", sessions.Add(1))
	env := environ(home, "AGENT_BROWSER_EXECUTABLE_PATH="+o.Chromium)
	return &agentBrowserCommand{program{bin, home, env, []string{"--session", name}, new(atomic.Int64)}, o, name}, nil
}

func (d *agentBrowserCommand) NewSession(ctx context.Context) (Driver, error) {
	return startAgentBrowserCommand(ctx, d.o)
}

func (d *agentBrowserCommand) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	defer os.RemoveAll(d.home)
	pid, err := pidOf(filepath.Join(d.home, d.session+".pid"))
	if pid == 0 {
		return err
	}
	// The daemon is a child of nobody here: what it started goes with it.
	below := testdaemon.Descendants(pid)
	_, err = d.run(ctx, "close")
	awaitGone(below)
	return err
}

func (d *agentBrowserCommand) Name() string { return "agent-browser (command line)" }

func (d *agentBrowserCommand) PIDs() []int {
	pid, err := pidOf(filepath.Join(d.home, d.session+".pid"))
	if err != nil || pid == 0 {
		return nil // no command has run yet
	}
	return Tree(pid)
}

func (d *agentBrowserCommand) did(ctx context.Context, args ...string) error {
	_, err := d.run(ctx, args...)
	return err
}

func (d *agentBrowserCommand) Open(ctx context.Context, url string) error {
	return d.did(ctx, "open", url)
}

func (d *agentBrowserCommand) Text(ctx context.Context, kind Kind) (string, error) {
	args := []string{"snapshot"}
	if kind != Whole {
		args = append(args, "-i")
	}
	out, err := d.run(ctx, args...)
	return strings.TrimRight(out, "\n"), err
}

func (d *agentBrowserCommand) Snapshot(ctx context.Context, kind Kind) (Snapshot, error) {
	return read(ctx, d, kind, parseAgentBrowser)
}

func (d *agentBrowserCommand) Click(ctx context.Context, ref string) error {
	return d.did(ctx, "click", ref)
}

func (d *agentBrowserCommand) ClickAndSee(ctx context.Context, ref string) (string, error) {
	if err := d.Click(ctx, ref); err != nil {
		return "", err
	}
	return d.Text(ctx, Default)
}

func (d *agentBrowserCommand) DoubleClick(ctx context.Context, ref string) error {
	return d.did(ctx, "dblclick", ref)
}

func (d *agentBrowserCommand) Type(ctx context.Context, ref, text string) error {
	return d.did(ctx, "fill", ref, text)
}

func (d *agentBrowserCommand) Press(ctx context.Context, key string) error {
	return d.did(ctx, "press", key)
}

func (d *agentBrowserCommand) Select(ctx context.Context, ref, label string) error {
	return d.did(ctx, "select", ref, label)
}

func (d *agentBrowserCommand) Check(ctx context.Context, ref string, checked bool) error {
	if !checked {
		return d.did(ctx, "uncheck", ref)
	}
	return d.did(ctx, "check", ref)
}

func (d *agentBrowserCommand) Hover(ctx context.Context, ref string) error {
	return d.did(ctx, "hover", ref)
}

func (d *agentBrowserCommand) Drag(ctx context.Context, from, to string) error {
	return d.did(ctx, "drag", from, to)
}

func (d *agentBrowserCommand) Eval(ctx context.Context, expression string) (json.RawMessage, error) {
	out, err := d.run(ctx, "eval", expression, "--json")
	if err != nil {
		return nil, err
	}
	var a agentBrowserAnswer
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		return nil, err
	}
	var r struct{ Result json.RawMessage }
	err = a.decode(&r)
	return r.Result, err
}
