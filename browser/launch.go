package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/browser"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/jail"
	"github.com/browserd/browserd/protocol"
)

const (
	// startLimit is how long Chromium may take to answer its first command; a
	// cold disk and a busy machine need several seconds. It is less than a command
	// has by default, which answers then what is wrong.
	startLimit = 25 * time.Second
	// killLimit is how long killed processes may take to be gone. They are gone
	// in milliseconds unless the kernel holds one.
	killLimit = 3 * time.Second
)

// process is one launched Chromium with all that belongs to it on the machine.
type process struct {
	cmd     *exec.Cmd
	found   Found
	profile *profile
	stderr  *tail
	proxy   net.Listener  // the egress proxy's, inside the jail; nil: no jail
	word    *net.UnixConn // the jail waits to be told there what to become; nil: no more, or no jail
	program []string      // that
	exited  chan struct{} // closed when the browser process has been waited for
	status  error         // of the browser process; read after exited
	log     *slog.Logger

	endOnce sync.Once
	endErr  error
	killed  atomic.Bool // by end, and not by itself or another
}

// launch starts Chromium and returns when it has answered its first command,
// with that answer. What it started it has ended again when it fails; the error
// has the code chromium_unavailable, one sentence with the cause and the next
// step.
func launch(ctx context.Context, cfg Config, log *slog.Logger) (*process, *cdp.Conn, browser.GetVersionResult, error) {
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
	conn := cdp.New(transport)
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	v, err := version(ctx, conn)
	if err == nil {
		return p, conn, v, nil
	}
	// When it went by itself, its last words come with its exit.
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
func spawn(cfg Config, found Found, log *slog.Logger) (*process, cdp.Transport, error) {
	if err := CanSandbox(cfg); err != nil {
		return nil, nil, err
	}
	owner, err := processOwner(cfg)
	if err != nil {
		return nil, nil, unavailable("set browser.run_as to an unprivileged user", "browser.run_as: %w", err)
	}
	prof, err := newProfile(cfg.StateDir, owner)
	if err != nil {
		return nil, nil, unavailable("make room in the temporary directory and in the state directory, and let browserd write there", "making a profile directory for Chromium: %w", err)
	}
	p := &process{found: found, profile: prof, stderr: &tail{limit: 8 << 10}, exited: make(chan struct{}), log: log}

	windows := cfg.withWindows(runtime.GOOS)
	if !cfg.Headless && !windows {
		log.Warn("browser.headless is false, but there is no display: running without windows")
	}
	args := flags(cfg, found, prof.userData(), windows, smallSharedMemory())
	p.cmd = exec.Command(found.Path, args...)
	p.cmd.Dir = prof.dir
	p.cmd.Env = withoutPrograms(environment(os.Environ(), prof, windows), found.Path)
	confine(p.cmd, owner)

	transport, err := p.start(cfg, owner)
	if err != nil {
		prof.remove()
		return nil, nil, p.explain(err)
	}
	if err := prof.started(p.cmd.Process.Pid); err != nil {
		log.Warn("the mark of a running Chromium could not be written", "error", err)
	}
	return p, transport, nil
}

// start starts the command with its pipes.
func (p *process) start(cfg Config, owner *account) (cdp.Transport, error) {
	var pipes []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			pipes = append(pipes, r, w)
			widen(w)
		}
		return r, w, err
	}
	commandR, commandW, err1 := pipe()
	answerR, answerW, err2 := pipe()
	wordsR, wordsW, err3 := pipe()
	err := errors.Join(err1, err2, err3)
	if err == nil {
		p.cmd.Stderr = wordsW // a file, so that Wait does not wait for whoever else holds it
		err = passPipes(p.cmd, commandR, answerW)
	}
	var handing *net.UnixConn
	var theirs *os.File
	if err == nil && cfg.JailPort != 0 {
		p.program = p.cmd.Args
		handing, theirs, err = intoJail(p.cmd, owner, cfg.JailPort)
	}
	if err == nil {
		err = p.run()
	}
	if theirs != nil {
		theirs.Close() // held open here too, the jail's end would not be seen
	}
	if err != nil {
		if handing != nil {
			handing.Close()
		}
		for _, f := range pipes {
			f.Close()
		}
		return nil, err
	}
	for _, f := range []*os.File{commandR, answerW, wordsW} {
		f.Close()
	}
	p.stderr.src = wordsR
	p.stderr.done = make(chan struct{})
	go p.stderr.fill()
	if handing != nil {
		l, err := handedOut(handing)
		if err != nil {
			handing.Close()
			answerR.Close()
			commandW.Close()
			p.end()
			return nil, err
		}
		p.proxy, p.word = l, handing
	}
	return cdp.Pipe(answerR, commandW), nil
}

// release lets what waits in its jail become Chromium, whose proxy adopt serves.
// Where it has ended meanwhile, its pipes say so.
func (p *process) release(adopt func(net.Listener)) {
	if p.word == nil {
		return
	}
	adopt(p.proxy)
	io.WriteString(p.word, strings.Join(p.program, "\x00")+"\x00")
	p.word.Close()
	p.word = nil
}

// run starts the command on a goroutine that keeps its OS thread until the
// browser process ends, and waits for it there: the kernel sends Pdeathsig when
// the thread that forked ends, not when the daemon does.
func (p *process) run() error {
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

// end kills what is left of the browser, waits for it and removes its profile
// directory and its mark. It may be called more than once.
func (p *process) end() error {
	p.endOnce.Do(func() {
		select {
		case <-p.exited:
		default:
			p.killed.Store(true)
		}
		killErr := killTree(p.cmd.Process, p.profile.userData(), p.exited)
		p.stderr.close()
		if p.word != nil {
			p.word.Close()
		}
		if p.proxy != nil {
			p.proxy.Close()
		}
		p.endErr = errors.Join(killErr, p.profile.remove())
		if p.endErr != nil {
			p.log.Warn("Chromium left something behind", "pid", p.cmd.Process.Pid, "error", p.endErr)
		}
	})
	return p.endErr
}

// cause says how the browser process ended, or "" while it runs, and where its end
// was ours.
func (p *process) cause() string {
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

// explain turns the failure of a start into one sentence and a next step, from
// what Chromium said on its way out.
func (p *process) explain(err error) error {
	said := p.stderr.String()
	has := func(s string) bool { return strings.Contains(said, s) }
	switch {
	case has(jail.Words):
		return unavailable("allow unprivileged user namespaces, or set browser.jail to off: browserd doctor says more",
			"Chromium's network namespace could not be made: %s", strings.TrimPrefix(lineWith(said, jail.Words), jail.Words))
	case has("No usable sandbox") || has("Failed to move to new namespace") || has("SUID sandbox helper binary was found, but is not configured correctly"):
		return unavailable(sandboxRemedy(), "%s cannot set up its sandbox on this machine", p.found.Path)
	case has("Running as root without --no-sandbox"):
		return unavailable("set browser.run_as to an unprivileged user", "%s was started as root and refuses to", p.found.Path)
	case has("error while loading shared libraries"):
		return unavailable("install Chromium with the system's package manager, which brings the libraries", "%s cannot start: %s", p.found.Path, lineWith(said, "error while loading shared libraries"))
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

// tail keeps the last bytes that Chromium wrote to its standard error.
type tail struct {
	limit int
	src   *os.File
	done  chan struct{}

	mu   sync.Mutex
	buf  []byte
	ooms int // renderers that have said that V8's heap is full, and are not asked for yet
}

// oomWords is what a renderer says before it ends for want of memory.
const oomWords = "V8 javascript OOM"

// oom says, once for each, whether a renderer has run out of memory.
func (t *tail) oom() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ooms == 0 {
		return false
	}
	t.ooms--
	return true
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A line may come in two parts.
	before := max(0, len(t.buf)-len(oomWords)+1)
	t.buf = append(t.buf, b...)
	t.ooms += strings.Count(string(t.buf[before:]), oomWords)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = slices.Delete(t.buf, 0, over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

func (t *tail) fill() {
	defer close(t.done)
	io.Copy(t, t.src)
}

// close takes what is left, once all who could write are gone.
func (t *tail) close() {
	if t.src == nil {
		return
	}
	select {
	case <-t.done:
	case <-time.After(killLimit):
	}
	t.src.Close()
	<-t.done
}

// lastLine returns the last line that says something, without the prefix of
// Chromium's log ("[1234:1234:1121/015010.1:FATAL:file.cc(1)] ").
func lastLine(s string) string {
	lines := strings.Split(s, "\n")
	for _, l := range slices.Backward(lines) {
		if _, rest, ok := strings.Cut(l, ")] "); ok && strings.HasPrefix(l, "[") {
			l = rest
		}
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "[") {
			return clip(l)
		}
	}
	return ""
}

func lineWith(s, part string) string {
	for l := range strings.Lines(s) {
		if strings.Contains(l, part) {
			return clip(strings.TrimSpace(l))
		}
	}
	return part
}

func clip(s string) string { return protocol.Cut(s, 300) }

// withoutPrograms leaves Chromium no PATH to find programs by: a link such as
// mailto: would make it start xdg-settings and xdg-open. It finds its own
// helpers beside itself. A script that stands before Chromium, and whatever
// runs on Windows, keeps its PATH.
func withoutPrograms(env []string, program string) []string {
	if runtime.GOOS == "windows" || isScript(program) {
		return env
	}
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	// With no PATH at all the C library looks in /bin and /usr/bin.
	return append(env, "PATH=/nonexistent")
}

// isScript says whether the program is one that another interprets.
func isScript(program string) bool {
	f, err := os.Open(program)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "#!"
}

// passedOn are the variables that Chromium gets from the daemon's environment:
// what it needs to find its libraries, fonts, language and time zone. Tokens,
// proxies and everything else stay behind.
var passedOn = []string{
	"PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH",
	// Windows does not start programs without these.
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMDATA", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

// windowVariables are passed on too where Chromium opens windows.
var windowVariables = []string{"DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE"}

// environment is Chromium's environment: the variables above, and directories
// of its own in place of the user's.
func environment(from []string, prof *profile, windows bool) []string {
	allowed := passedOn
	if windows {
		allowed = append(slices.Clone(passedOn), windowVariables...)
	}
	var env []string
	for _, kv := range from {
		name, _, _ := strings.Cut(kv, "=")
		up := strings.ToUpper(name)
		if slices.Contains(allowed, up) || strings.HasPrefix(up, "LC_") {
			env = append(env, kv)
		}
	}
	home, tmp := prof.home(), prof.tmp()
	for _, kv := range [][2]string{
		{"HOME", home}, {"TMPDIR", tmp}, {"TMP", tmp}, {"TEMP", tmp},
		{"XDG_CONFIG_HOME", home}, {"XDG_CACHE_HOME", home}, {"XDG_DATA_HOME", home}, {"XDG_STATE_HOME", home},
		{"USERPROFILE", home}, {"APPDATA", home}, {"LOCALAPPDATA", home},
		// Without a bus to try, Chromium neither waits for one nor talks to the user's.
		{"DBUS_SESSION_BUS_ADDRESS", "disabled:"}, {"DBUS_SYSTEM_BUS_ADDRESS", "disabled:"},
	} {
		env = append(env, fmt.Sprintf("%s=%s", kv[0], kv[1]))
	}
	return env
}
