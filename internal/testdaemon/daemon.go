// Package testdaemon starts the built daemon for end-to-end tests and
// benchmarks, each in a home of its own on a free loopback port, and holds it
// to leaving nothing behind: no process, no profile directory.
//
// It owns what it starts and nothing else. A Daemon's methods are called by the
// test's own goroutine; Dial's clients may be used by any.
package testdaemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	client "github.com/browserd/browserd/clients/go"
)

const (
	startWithin = 30 * time.Second // until /healthz answers
	stopWithin  = 20 * time.Second // from SIGTERM to the exit; that it ends at once is told by tests of just that
	reapWithin  = 20 * time.Second // from the exit until no process is left
)

// Options are what a test may choose; the zero value is a daemon that opens
// loopback pages.
type Options struct {
	// Binary is the program to run; empty: Binary().
	Binary string
	// Env is set last, over the environment and over what Start sets.
	Env map[string]string
	// Args follow "serve".
	Args []string
	// Wrap is a program with its arguments that runs the daemon's, which follows
	// them, in its own process (exec): unshare -m …
	Wrap []string
	// Home is the directory of an earlier Daemon, to start again in its state;
	// empty: a new one.
	Home string
	// Alone: the test is about one process, or about nodes that it starts itself, so that the daemon is
	// started as it is whatever FleetEnv says.
	Alone bool
	// Addr is where it listens; empty: at a free port of loopback.
	Addr string
}

// Daemon is a running `browserd serve`.
type Daemon struct {
	// Addr is host:port; Token the only token it takes.
	Addr, Token string
	// Home holds everything that it writes.
	Home string
	// PID is its process.
	PID int

	tb     TB
	binary string
	cmd    *exec.Cmd
	exited chan struct{}
	status error
}

// Start builds the daemon (once for the test process), starts it, and waits
// until /healthz answers. When the test ends, Stop is called if it was not.
func Start(tb TB, o Options) *Daemon {
	tb.Helper()
	if Fleet() && !o.Alone {
		d, err := startThree(tb, o)
		if err != nil {
			tb.Fatal(err)
		}
		return d
	}
	d, err := start(tb, o)
	for err != nil && o.Addr == "" && strings.Contains(err.Error(), "address already in use") { // by a program that took it meanwhile
		d, err = start(tb, o)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(d.Stop)
	return d
}

func start(tb TB, o Options) (*Daemon, error) {
	bin := o.Binary
	if bin == "" {
		var err error
		if bin, err = Binary(); err != nil {
			return nil, err
		}
	}
	if o.Addr == "" {
		o.Addr = FreeAddr(tb)
	}
	d := &Daemon{binary: bin, Addr: o.Addr, Token: "test-token-0123456789abcdef", Home: o.Home, tb: tb, exited: make(chan struct{})}
	if d.Home == "" {
		d.Home = newHome(tb)
	}
	log, err := os.OpenFile(d.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := slices.Concat(o.Wrap, []string{bin, "serve"}, o.Args)
	d.cmd = exec.Command(args[0], args[1:]...)
	d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = d.environ(o.Env), log, log
	if err := startAsFromTerminal(d.cmd); err != nil {
		return nil, err
	}
	d.PID = d.cmd.Process.Pid
	go func() {
		d.status = d.cmd.Wait()
		close(d.exited)
	}()
	if err := d.healthy(); err != nil {
		d.Kill()
		return nil, err
	}
	return d, nil
}

// startAsFromTerminal starts cmd with SIGHUP at its default disposition. A test
// run under nohup ignores SIGHUP, and a child would inherit that; a signal that
// the parent handles is reset in the child (execve(2)).
func startAsFromTerminal(cmd *exec.Cmd) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	return cmd.Start()
}

// newHome makes a directory that Chromium's unprivileged user may pass through,
// and whose path is short: Chromium's sockets below it take at most 108 bytes.
func newHome(tb TB) string {
	tb.Helper()
	home, err := os.MkdirTemp("", "browserd-test-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(home) })
	for dir, mode := range map[string]fs.FileMode{home: 0o755, filepath.Join(home, "tmp"): 0o777 | fs.ModeSticky} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, mode)); err != nil {
			tb.Fatal(err)
		}
	}
	return home
}

// FreeAddr returns an address of loopback where nothing listens.
func FreeAddr(tb TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func (d *Daemon) environ(extra map[string]string) []string {
	env := os.Environ()
	set := func(k, v string) { env = append(env, k+"="+v) } // the last one holds: os/exec
	set("HOME", d.Home)
	set("TMPDIR", filepath.Join(d.Home, "tmp"))
	set("XDG_STATE_HOME", filepath.Join(d.Home, "state"))
	set("XDG_CONFIG_HOME", filepath.Join(d.Home, "config"))
	set("XDG_CACHE_HOME", filepath.Join(d.Home, "cache"))
	set("XDG_RUNTIME_DIR", filepath.Join(d.Home, "run"))
	set("BROWSERD_TOKEN", d.Token)
	set("BROWSERD_SERVER__LISTEN", d.Addr)
	set("BROWSERD_POLICY__ALLOW_HOSTS", "127.0.0.1,localhost")
	set("BROWSERD_FALLBACK__ORDER", "http") // no test asks a reader on the internet
	for k, v := range extra {
		set(k, v)
	}
	return env
}

func (d *Daemon) healthy() error {
	deadline := time.Now().Add(startWithin)
	for time.Now().Before(deadline) {
		select {
		case <-d.exited:
			return fmt.Errorf("browserd serve ended: %v\n%s", d.status, d.Log())
		default:
		}
		resp, err := http.Get(d.URL() + "/healthz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(10 * time.Millisecond) // there is no event for a port that opens
	}
	return fmt.Errorf("browserd did not answer /healthz within %v\n%s", startWithin, d.Log())
}

// URL returns the base URL of HTTP.
func (d *Daemon) URL() string { return "http://" + d.Addr }

// WS returns the WebSocket endpoint.
func (d *Daemon) WS() string { return "ws://" + d.Addr + "/v1/ws" }

// Environ returns the daemon's own environment: with it a command line finds the
// daemon and its token.
func (d *Daemon) Environ() []string { return d.cmd.Env }

// Started is when the daemon's process began, as Process.Start has it.
func (d *Daemon) Started() string {
	s, _ := readStat(d.PID)
	return s.start
}

// Exited closes when the daemon has ended.
func (d *Daemon) Exited() <-chan struct{} { return d.exited }

// Binary returns the path of the daemon's program.
func (d *Daemon) Binary() string { return d.binary }

// Command runs the daemon's program with args in the daemon's own home and
// environment, as its operator would, and returns what it wrote to stdout.
func (d *Daemon) Command(args ...string) (string, error) {
	cmd := exec.Command(d.binary, args...)
	cmd.Env, cmd.Dir = d.Environ(), d.Home
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("browserd %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), err
}

// Log returns what the daemon has written so far.
func (d *Daemon) Log() string {
	b, err := os.ReadFile(d.logPath())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (d *Daemon) logPath() string { return filepath.Join(d.Home, "log") }

// Dial connects a client, which is closed when the test ends.
func (d *Daemon) Dial(tb TB) *client.Client {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.Dial(ctx, d.WS(), d.Token)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			tb.Logf("closing the client: %v", err)
		}
	})
	return c
}

// Kill ends the daemon as `kill -9` does and waits for its exit. Its Chromium
// may live on, for the next start to find.
func (d *Daemon) Kill() {
	if err := d.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.tb.Errorf("killing the daemon: %v", err)
	}
	<-d.exited
}

// Stop asks the daemon to end (SIGTERM) and fails the test if it does not exit
// with 0 in time, or leaves a process or a profile directory behind. After Kill
// or a first Stop it does nothing.
func (d *Daemon) Stop() {
	d.tb.Helper()
	select {
	case <-d.exited:
		return
	default:
	}
	below := Descendants(d.PID)
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.tb.Errorf("stopping the daemon: %v", err)
	}
	select {
	case <-d.exited:
		if d.status != nil {
			d.tb.Errorf("browserd serve ended with %v\n%s", d.status, tail(d.Log()))
		}
	case <-time.After(stopWithin):
		d.cmd.Process.Signal(syscall.SIGQUIT) // says what each goroutine waits for
		select {
		case <-d.exited:
		case <-time.After(stopWithin):
		}
		d.Kill()
		d.tb.Errorf("browserd did not end within %v of SIGTERM\n%s", stopWithin, d.Log())
	}
	if left := AwaitGone(below, reapWithin); len(left) > 0 {
		d.tb.Errorf("%d processes outlived the daemon: %v", len(left), left)
		for _, p := range left {
			p.Kill()
		}
	}
	if left := d.Profiles(); len(left) > 0 {
		d.tb.Errorf("the daemon left profile directories: %v", left)
	}
	if d.tb.Failed() {
		d.tb.Logf("the daemon's log:\n%s", tail(d.Log()))
	}
}

// Profiles lists the directories below Home that are Chromium profiles: they
// hold what Chromium writes first into one.
func (d *Daemon) Profiles() []string {
	var found []string
	filepath.WalkDir(d.Home, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it went away while the tree was being walked
		}
		switch e.Name() {
		case "Local State", "SingletonLock", "Default":
			found = append(found, filepath.Dir(path))
		}
		return nil
	})
	slices.Sort(found)
	return slices.Compact(found)
}

func tail(log string) string {
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}
