package chromium

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/browser"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/chromium/jail"
	"github.com/browserd/browserd/protocol"
)

const (
	// startLimit is how long Chromium may take to answer its first command; a
	// cold disk and a busy machine need several seconds. It is less than the default
	// timeout of a command, so that the command's error names the cause.
	startLimit = 25 * time.Second
	// killLimit is how long killed processes may take to be gone. They are gone
	// in milliseconds unless the kernel holds one.
	killLimit = 10 * time.Second
)

// Process is one launched Chromium, with its processes and files on the machine. Its
// exported methods may be called from any goroutine, also after it has ended.
type Process struct {
	cmd     *exec.Cmd
	found   Found
	profile *profile
	stderr  *stderrTail
	proxy   net.Listener  // the egress proxy's, inside the jail; nil: no jail
	handoff *net.UnixConn // on which the jail waits for its program; nil: it was sent, or there is no jail
	program []string      // Chromium's command line, for the jail
	exited  chan struct{} // closed when the browser process has been waited for
	status  error         // of the browser process; read after exited
	log     *slog.Logger

	pageMemoryMB int   // browser.page_memory_mb
	kept         *Kept // nil: the profile is discarded

	endOnce sync.Once
	endErr  error
	killed  atomic.Bool // by end, not by itself or by another process
}

// launch starts Chromium and returns when it has answered its first command, with that
// answer. If it fails it has ended all that it started, and the error has the code
// chromium_unavailable, one sentence with the cause, and the next step.
func launch(ctx context.Context, cfg Config, log *slog.Logger) (*Process, *cdp.Conn, browser.GetVersionResult, error) {
	var none browser.GetVersionResult
	found, err := Find(cfg)
	if err != nil {
		return nil, nil, none, err
	}
	p, transport, err := spawn(cfg, found, log)
	if err != nil {
		return nil, nil, none, err
	}
	p.release(cfg.Adopt)
	conn := cfg.connect(transport)
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	v, err := version(ctx, conn)
	if err == nil {
		return p, conn, v, nil
	}
	// When it ended by itself, the end of its standard error comes with its exit.
	if errors.Is(err, cdp.ErrGone) {
		select {
		case <-p.exited:
		case <-time.After(killLimit):
		}
	}
	conn.Close()
	p.end()
	return nil, nil, none, p.explain(err)
}

// spawn starts the processes and returns the pipe to them.
func spawn(cfg Config, found Found, log *slog.Logger) (*Process, cdp.Transport, error) {
	if err := CanSandbox(cfg); err != nil {
		return nil, nil, err
	}
	owner, err := processOwner(cfg)
	if err != nil {
		return nil, nil, unavailable("set browser.run_as to an unprivileged user", "browser.run_as: %w", err)
	}
	prof, err := newProfile(cfg.StateDir, owner, cfg.Kept)
	if coded := (*protocol.Error)(nil); errors.As(err, &coded) {
		return nil, nil, coded
	}
	if err != nil {
		return nil, nil, unavailable("make room in the temporary directory and in the state directory, and let browserd write there", "making a profile directory for Chromium: %w", err)
	}
	p := &Process{found: found, pageMemoryMB: cfg.PageMemoryMB, kept: cfg.Kept, profile: prof, stderr: &stderrTail{limit: 8 << 10}, exited: make(chan struct{}), log: log}

	windows := cfg.withWindows(runtime.GOOS)
	if !cfg.Headless && !windows {
		log.Warn("browser.headless is false, but there is no display: running without windows")
	}
	if !windows {
		if err := prof.disablePrompts(); err != nil {
			prof.drop(cfg.Kept, nil)
			return nil, nil, unavailable("let browserd write in the temporary directory", "preparing Chromium's profile: %w", err)
		}
	}
	args := flags(cfg, found, prof.userData(), windows, smallSharedMemory())
	p.cmd = exec.Command(found.Path, args...)
	p.cmd.Dir = prof.dir
	p.cmd.Env = withoutPrograms(environment(os.Environ(), prof, windows), found.Path, prof.programs())
	confine(p.cmd, owner)

	transport, err := p.start(cfg, owner)
	if err != nil {
		if p.cmd.Process == nil { // else start has ended it
			prof.drop(cfg.Kept, nil)
		}
		return nil, nil, p.explain(err)
	}
	if err := prof.started(p.cmd.Process.Pid); err != nil {
		log.Warn("the mark of a running Chromium could not be written", "error", err)
	}
	return p, transport, nil
}

// start starts the command with its pipes.
func (p *Process) start(cfg Config, owner *account) (cdp.Transport, error) {
	var pipes []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			pipes = append(pipes, r, w)
			setPipeSize(w)
		}
		return r, w, err
	}
	commandR, commandW, err1 := pipe()
	answerR, answerW, err2 := pipe()
	stderrR, stderrW, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		p.cmd.Stderr = stderrW // a file, so that Wait does not wait for other processes that have it open
		err = passPipes(p.cmd, commandR, answerW)
	}
	var handoff *net.UnixConn
	var jailEnd *os.File
	if err == nil && cfg.JailPort != 0 {
		p.program = p.cmd.Args
		handoff, jailEnd, err = jailCommand(p.cmd, owner, cfg.JailPort)
	}
	if err == nil {
		err = p.run()
	}
	if jailEnd != nil {
		jailEnd.Close() // while it is open here too, reading does not end when the jail does
	}
	if err != nil {
		if handoff != nil {
			handoff.Close()
		}
		for _, f := range pipes {
			f.Close()
		}
		return nil, err
	}
	for _, f := range []*os.File{commandR, answerW, stderrW} {
		f.Close()
	}
	p.stderr.src = stderrR
	p.stderr.done = make(chan struct{})
	go p.stderr.fill()
	if handoff != nil {
		l, err := receiveListener(handoff)
		if err != nil {
			handoff.Close()
			answerR.Close()
			commandW.Close()
			p.end()
			return nil, err
		}
		p.proxy, p.handoff = l, handoff
	}
	return cdp.Pipe(answerR, commandW), nil
}

// release passes the jail's listener to adopt, and then tells the process that waits in the
// jail to execute Chromium. If that process has ended meanwhile, its pipes are closed.
func (p *Process) release(adopt func(net.Listener)) {
	if p.handoff == nil {
		return
	}
	adopt(p.proxy)
	io.WriteString(p.handoff, strings.Join(p.program, "\x00")+"\x00")
	p.handoff.Close()
	p.handoff = nil
}

// run starts the command on a goroutine that keeps its OS thread until the
// browser process ends, and waits for it there: the kernel sends Pdeathsig when
// the thread that forked ends, not when the daemon does.
func (p *Process) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.status = p.cmd.Wait()
		close(p.exited)
	}()
	return <-started
}

// end kills what is left of the browser, waits for it, stores its profile if that is kept, and
// removes its profile directory and its mark. If a process does not end, both stay for Reap. It may
// be called more than once.
func (p *Process) end() error {
	p.endOnce.Do(func() {
		select {
		case <-p.exited:
		default:
			p.killed.Store(true)
		}
		killErr := killTree(p.cmd.Process, p.profile.userData(), p.exited)
		p.stderr.close()
		if p.handoff != nil {
			p.handoff.Close()
		}
		if p.proxy != nil {
			p.proxy.Close()
		}
		if p.endErr = killErr; killErr == nil {
			p.endErr = p.profile.keep(p.kept)
		} else if p.kept != nil {
			p.kept.Drop(killErr)
		}
		if p.endErr != nil {
			p.log.Warn("Chromium left something behind", "pid", p.cmd.Process.Pid, "error", p.endErr)
		}
	})
	return p.endErr
}

// cause returns how the browser process ended, or "" while it runs and if end ended it.
func (p *Process) cause() string {
	if p.killed.Load() {
		return ""
	}
	select {
	case <-p.exited:
	default:
		return ""
	}
	if p.status == nil {
		return "Chromium exited"
	}
	return "Chromium ended: " + p.status.Error()
}

// explain turns the failure of a start into one sentence and a next step, from the end
// of Chromium's standard error.
func (p *Process) explain(err error) error {
	said := p.stderr.String()
	has := func(s string) bool { return strings.Contains(said, s) }
	switch {
	case has(jail.ErrorPrefix):
		return unavailable("allow unprivileged user namespaces, or set browser.jail to off: browserd doctor says more",
			"Chromium's network namespace could not be made: %s", strings.TrimPrefix(lineWith(said, jail.ErrorPrefix), jail.ErrorPrefix))
	case has("No usable sandbox") || has("Failed to move to new namespace") || has("SUID sandbox helper binary was found, but is not configured correctly"):
		return unavailable(sandboxRemedy(), "%s cannot set up its sandbox on this machine", p.found.Path)
	case has("Running as root without --no-sandbox"):
		return unavailable("set browser.run_as to an unprivileged user", "%s was started as root and refuses to", p.found.Path)
	case has("error while loading shared libraries"):
		return unavailable("install Chromium with the system's package manager, which brings the libraries", "%s cannot start: %s", p.found.Path, lineWith(said, "error while loading shared libraries"))
	case errors.Is(err, syscall.EAGAIN) || has("Resource temporarily unavailable"):
		return unavailable("raise the limit on processes and threads of Chromium's user (ulimit -u, TasksMax of the service, pids of the container)", "%s may start no process or thread", p.found.Path)
	case has("Missing X server") || has("ozone_platform"):
		return unavailable("set browser.headless to true", "%s has no display to open windows on", p.found.Path)
	case errors.Is(err, os.ErrPermission):
		return unavailable("run browserd as a user without privileges, or as root with CAP_SETUID, CAP_SETGID and CAP_KILL; Chromium's program must be readable to everybody", "starting %s as an unprivileged user: %w", p.found.Path, err)
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("browserd doctor says what is slow or missing", "%s did not answer within %v of its start", p.found.Path, startLimit)
	case errors.Is(err, context.Canceled):
		return protocol.Errorf(protocol.Cancelled, "starting Chromium: %w", err)
	}
	why := lastLine(said)
	if how := p.cause(); how != "" {
		why = strings.TrimSuffix(how+": "+why, ": ")
	}
	if why == "" {
		why = err.Error()
	}
	e := unavailable("browserd doctor says what is wrong", "%s did not start: %s", p.found.Path, why)
	e.Cause = err
	return e
}
