package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/browserd/browserd/internal/testdaemon"
)

// stopWithin is how long a tool has to end when it is told to.
const stopWithin = 10 * time.Second

// process is a tool that was started, in a home of its own.
type process struct {
	cmd    *exec.Cmd
	home   string
	exited chan struct{}
	err    error // of the exit, when exited is closed
}

// newHome makes a directory whose path is short, since Unix sockets below it
// take at most 108 bytes, and through which Chromium's unprivileged user may
// pass.
func newHome() (string, error) {
	home, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(home, 0o755); err != nil {
		return "", err
	}
	tmp := filepath.Join(home, "tmp")
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return "", err
	}
	return home, os.Chmod(tmp, 0o777|os.ModeSticky)
}

// environ is the environment of a tool in its home.
func environ(home string, extra ...string) []string {
	return append(os.Environ(), append([]string{
		"HOME=" + home,
		"TMPDIR=" + filepath.Join(home, "tmp"),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_CONFIG_HOME=" + filepath.Join(home, "config"),
		"XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
		"AGENT_BROWSER_SOCKET_DIR=" + home,
		"CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS=1", // it would ask a registry
	}, extra...)...)
}

// launch starts argv in home. prepare may connect pipes before; nil: nothing.
func launch(o Options, home string, env, argv []string, prepare func(*exec.Cmd) error) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = env, home
	cmd.Stderr = o.Log
	if o.Log == nil {
		cmd.Stderr = io.Discard
	}
	// A descendant that holds the pipe of standard error must not hold Wait.
	cmd.WaitDelay = time.Second
	if prepare != nil {
		if err := prepare(cmd); err != nil {
			return nil, err
		}
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, home: home, exited: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// freePort is a port of loopback that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// pids are the process and its descendants.
func (p *process) pids() []int { return Tree(p.cmd.Process.Pid) }

// stop tells the process to end, waits for it and for all that it started, and
// removes its home. What does not end by itself is killed, and is an error.
func (p *process) stop(tell func() error) error {
	below := testdaemon.Descendants(p.cmd.Process.Pid)
	err := tell()
	select {
	case <-p.exited:
	case <-time.After(stopWithin):
		err = errors.Join(err, fmt.Errorf("%s did not end within %v", p.cmd.Path, stopWithin))
		p.cmd.Process.Kill()
		<-p.exited
	}
	awaitGone(below)
	return errors.Join(err, os.RemoveAll(p.home))
}

// awaitGone waits until the processes have ended, and kills those that do not.
func awaitGone(all []testdaemon.Process) {
	left := testdaemon.AwaitGone(all, 3*time.Second)
	for _, p := range left {
		p.Kill()
	}
	testdaemon.AwaitGone(left, 3*time.Second)
}

// until calls ready every few milliseconds until it is true, the process has
// ended or ctx has.
func (p *process) until(ctx context.Context, what string, ready func() bool) error {
	for !ready() {
		select {
		case <-p.exited:
			return fmt.Errorf("%s ended before %s: %v", p.cmd.Path, what, p.err)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-time.After(time.Millisecond): // there is no event for a socket that opens
		}
	}
	return nil
}

// Tree is pid and all its descendants.
func Tree(pid int) []int {
	pids := []int{pid}
	for _, p := range testdaemon.Descendants(pid) {
		pids = append(pids, p.PID)
	}
	return pids
}
