package browser

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/chromedp/cdproto/browser"
	cdproto "github.com/chromedp/cdproto/cdp"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Generation counts the launches of one Chromium, from 1. What was learnt from one
// generation (target, session, node ids) means nothing in the next.
type Generation = int

const (
	// closeLimit is how long Chromium may take to close by itself before it is
	// killed. Its profile is thrown away, so nothing is lost.
	closeLimit = time.Second
	// stableAfter is how long a browser must live for its death to be no sign
	// that the next one will die too.
	stableAfter = 10 * time.Second
	// freeFailures may happen in a row before a new launch has to wait.
	freeFailures = 3
	maxBackoff   = 30 * time.Second
	// manyFailures have the next launch wait for maxBackoff.
	manyFailures = freeFailures + 5
)

// Chromium is one supervised browser: launched when it is first needed, told
// about when it dies, and launched again when it is needed again. All methods may
// be called from any goroutine; Close it when done.
type Chromium struct {
	cfg  Config
	log  *slog.Logger
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup // launches and supervisors

	mu       sync.Mutex
	closed   bool
	current  *running // nil: none runs
	starting *flight  // not nil: a launch is under way
	failed   error    // why the last launch came to nothing; nil: it did not
	launches Generation
	failures int       // launches that failed or soon died, in a row
	retryAt  time.Time // no launch before
	lastErr  error     // why
	onLost   []func(gen Generation, cause string)
}

// running is one generation.
type running struct {
	gen     Generation
	conn    *cdp.Conn
	proc    *process // nil: at an endpoint
	version browser.GetVersionResult
	since   time.Time
	ending  chan struct{} // closed by Close: the end is wanted
}

// flight is a launch that any number of callers wait for.
type flight struct {
	began time.Time
	done  chan struct{}
	run   *running
	err   error
}

// Start returns the supervisor of a Chromium that is not running yet: Warm or
// the first Conn launches it. It lives until ctx ends or Close is called; after
// ctx has ended Close still waits for its end.
func Start(ctx context.Context, cfg Config, log *slog.Logger) *Chromium {
	c := &Chromium{cfg: cfg, log: log}
	c.ctx, c.stop = context.WithCancel(ctx)
	return c
}

// OnLost adds a callback that is told once for each browser that ended without
// Close: its generation and the cause in a few words. It is told within
// milliseconds, when all calls on the Conn have failed already, on a goroutine of
// the supervisor, which removes the rest meanwhile; it must not wait long, and
// may call Conn. Add callbacks before the first launch.
func (c *Chromium) OnLost(f func(gen Generation, cause string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onLost = append(c.onLost, f)
}

// Warm launches the browser now, if it does not run.
func (c *Chromium) Warm(ctx context.Context) error {
	_, _, err := c.Conn(ctx)
	return err
}

// Conn returns the connection to the browser that runs, and its generation. When
// none runs it launches one; callers meanwhile wait for the same launch, each as
// long as its ctx allows. The errors have codes: chromium_unavailable with
// the cause and the remedy (and at once, while repeated failures make the next
// launch wait), shutting_down after Close.
func (c *Chromium) Conn(ctx context.Context) (*cdp.Conn, Generation, error) {
	c.mu.Lock()
	if c.closed || c.ctx.Err() != nil {
		c.mu.Unlock()
		return nil, 0, protocol.Errorf(protocol.ShuttingDown, "the browser is being closed")
	}
	if r := c.current; r != nil && r.conn.Err() == nil {
		c.mu.Unlock()
		return r.conn, r.gen, nil
	}
	f := c.starting
	if f == nil {
		if wait := time.Until(c.retryAt); wait > 0 {
			err := c.lastErr
			c.mu.Unlock()
			return nil, 0, held(err, wait)
		}
		f = &flight{began: time.Now(), done: make(chan struct{})}
		c.starting = f
		c.work.Go(func() { c.fly(f) })
	}
	c.mu.Unlock()

	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("waiting for Chromium to start: %w", ctx.Err())
	}
	if f.err != nil {
		return nil, 0, f.err
	}
	return f.run.conn, f.run.gen, nil
}

// Rest ends the browser that runs, in the background; the next Conn launches
// another. OnLost is not told. One that is just being launched goes on: false.
func (c *Chromium) Rest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting != nil {
		return false
	}
	r := c.current
	if r == nil || c.closed {
		return true
	}
	c.current = nil
	close(r.ending)
	c.log.Info("Chromium is not needed for now", "generation", r.gen, "pid", r.pid())
	return true
}

// belongings are the profile of a generation that runs and what it says on its
// standard error; nil where it runs elsewhere, or no more.
func (c *Chromium) belongings(gen Generation) (*profile, *tail) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.current; r != nil && r.gen == gen && r.proc != nil {
		return r.proc.profile, r.proc.stderr
	}
	return nil, nil
}

// held is the error of a launch that is not tried yet.
func held(err error, wait time.Duration) error {
	var cause *protocol.Error
	if !errors.As(err, &cause) {
		cause = unavailable("", "%w", err)
	}
	e := *cause
	e.Code = protocol.ChromiumUnavailable
	e.Message = fmt.Sprintf("%s (tried again in %v)", cause.Message, wait.Round(time.Second)+time.Second)
	return &e
}

// fly makes the launch of f and tells who waits for it.
func (c *Chromium) fly(f *flight) {
	r, err := c.begin()
	c.mu.Lock()
	c.starting, c.failed = nil, err
	if err == nil && c.closed {
		err = protocol.Errorf(protocol.ShuttingDown, "the browser is being closed")
		close(r.ending)
	}
	if r != nil {
		c.launches++
		r.gen = c.launches
		if err == nil {
			c.current = r
		}
		c.work.Go(func() { c.supervise(r) })
		c.work.Go(func() { c.guard(r) })
		if c.cfg.AnswerTimeout > 0 {
			c.work.Go(func() { r.conn.Watch(c.cfg.AnswerTimeout) })
			c.work.Go(func() { r.conn.WatchNetworkService(c.cfg.AnswerTimeout) })
		}
	} else if c.ctx.Err() == nil {
		c.count(err, time.Since(f.began) >= startLimit)
	}
	f.run, f.err = r, err
	c.mu.Unlock()
	close(f.done)
	switch {
	case err == nil:
		c.log.Info("Chromium runs", "product", r.version.Product, "pid", r.pid(), "generation", r.gen, "took", time.Since(f.began).Round(time.Millisecond))
	case protocol.CodeOf(err) == protocol.ChromiumUnavailable:
		c.log.Warn("Chromium does not start", "error", err)
	}
}

// begin launches a browser, or connects to the one at the endpoint.
func (c *Chromium) begin() (*running, error) {
	cfg := c.cfg
	if err := cfg.Check(); err != nil {
		return nil, unavailable("mend the configuration", "%w", err)
	}
	if cfg.Complete != nil {
		if err := cfg.Complete(&cfg); err != nil {
			return nil, unavailable("browserd doctor says what is wrong", "%w", err)
		}
	}
	program := inject // the first page needs it, and Chromium's start leaves room beside it
	c.work.Go(func() { program() })
	r := &running{ending: make(chan struct{}), since: time.Now()}
	var err error
	if cfg.Endpoint != "" {
		r.conn, r.version, err = dial(c.ctx, cfg)
	} else {
		r.proc, r.conn, r.version, err = launch(c.ctx, cfg, c.log)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// count counts a launch that came to nothing; after several in a row the next
// has to wait, longer each time. One that hung counts for many: the next would hold
// everybody up as long. Called with mu held.
func (c *Chromium) count(err error, hung bool) {
	c.failures++
	if hung {
		c.failures = max(c.failures, manyFailures)
	}
	c.lastErr = err
	if over := c.failures - freeFailures; over >= 0 {
		c.retryAt = time.Now().Add(min(maxBackoff, time.Second<<min(over, 10)))
	}
}

// supervise waits for the end of a browser, wanted or not, and removes all that
// is left of it.
func (c *Chromium) supervise(r *running) {
	var exited <-chan struct{} // for ever, at an endpoint
	if r.proc != nil {
		exited = r.proc.exited
	}
	select {
	case <-r.ending:
		r.shut()
		return
	case <-c.ctx.Done():
		r.shut()
		return
	case <-exited:
	case <-r.conn.Done():
	}

	select {
	case <-r.ending: // it closed because it was asked to
		r.shut()
		return
	case <-c.ctx.Done():
		r.shut()
		return
	default:
	}
	cause := r.fell()
	c.mu.Lock()
	if c.current == r {
		c.current = nil
	}
	if time.Since(r.since) < stableAfter {
		c.count(unavailable("browserd doctor says what is wrong", "Chromium ended right after its start: %s", cause), false)
	} else {
		c.failures = 0
	}
	told := c.onLost
	c.mu.Unlock()
	c.log.Warn("Chromium is lost", "generation", r.gen, "pid", r.pid(), "cause", cause)
	// What is left is removed while the others are told.
	var rest sync.WaitGroup
	if r.proc != nil {
		rest.Go(func() { r.proc.end() })
	}
	for _, f := range told {
		f(r.gen, cause)
	}
	rest.Wait()
}

// fell ends the connection to a browser that has died or hung up, and its
// processes, and says why in a few words.
func (r *running) fell() string {
	if r.proc == nil {
		err := r.conn.Err()
		r.conn.Close()
		return "the connection to browser.endpoint was lost: " + causeOf(err)
	}
	// The pipe closes a moment before the process can be waited for; a browser
	// that only closed its pipe is of no use any more.
	select {
	case <-r.proc.exited:
	case <-time.After(100 * time.Millisecond):
	}
	cause := r.proc.cause()
	if silent := (cdp.Unresponsive{}); cause == "" || errors.As(r.conn.Err(), &silent) {
		cause = causeOf(r.conn.Err())
	}
	r.conn.CloseWithError(errors.New(cause))
	killGroup(r.proc.cmd.Process)
	return cause
}

// causeOf returns what ended a connection, without what every such error says.
func causeOf(err error) string {
	var gone *protocol.Error
	if errors.As(err, &gone) {
		if multi, ok := gone.Cause.(interface{ Unwrap() []error }); ok {
			list := multi.Unwrap()
			return list[len(list)-1].Error()
		}
	}
	if err == nil {
		return "unknown"
	}
	return err.Error()
}

// shut ends a browser that is not wanted any more.
func (r *running) shut() {
	if r.proc != nil {
		r.conn.Session("").Send(browser.CommandClose, nil)
		select {
		case <-r.proc.exited:
		case <-time.After(closeLimit):
		}
	}
	r.conn.Close()
	if r.proc != nil {
		r.proc.end()
	}
}

func (r *running) pid() int {
	if r.proc == nil {
		return 0
	}
	return r.proc.cmd.Process.Pid
}

// Close ends the browser and waits until its processes, its profile directory and
// all goroutines of the supervisor are gone, or ctx ends. Conn answers
// shutting_down from then on. OnLost is not told. It may be called more than once.
func (c *Chromium) Close(ctx context.Context) error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		if c.current != nil {
			close(c.current.ending)
		}
	}
	r := c.current
	c.mu.Unlock()
	c.stop() // a launch under way is given up
	gone := make(chan struct{})
	go func() {
		c.work.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-ctx.Done():
		return fmt.Errorf("closing Chromium: %w", ctx.Err())
	}
	if r != nil && r.proc != nil {
		return r.proc.end()
	}
	return nil
}

// Info is what a status report says about the browser.
type Info struct {
	Running    bool
	Generation Generation // of the one that runs or ran last; 0: none yet
	Product    string     // with its version, as Browser.getVersion has it
	Path       string     // of the program, or the endpoint
	PID        int        // 0 at an endpoint
	Shell      bool       // the headless shell
	// Sandbox is "on", "off: why", or "unknown" while no page is open and at an
	// endpoint.
	Sandbox string
}

// Info returns the state of the browser. It asks the kernel about the sandbox,
// which takes about a millisecond.
func (c *Chromium) Info() Info {
	c.mu.Lock()
	r, i := c.current, Info{Generation: c.launches, Sandbox: "unknown"}
	c.mu.Unlock()
	if r == nil || r.conn.Err() != nil {
		return i
	}
	i.Running, i.Generation, i.Product, i.PID, i.Path = true, r.gen, r.version.Product, r.pid(), c.cfg.Endpoint
	if r.proc != nil {
		i.Path, i.Shell = r.proc.found.Path, r.proc.found.Shell
		i.Sandbox = sandboxOf(i.PID)
		if c.cfg.UnsafeNoSandbox {
			i.Sandbox = "off: browser.unsafe_no_sandbox"
		}
	}
	return i
}

// Running says whether the browser runs. It costs nothing, where Info looks at all
// processes of the machine.
func (c *Chromium) Running() bool {
	c.mu.Lock()
	r := c.current
	c.mu.Unlock()
	return r != nil && r.conn.Err() == nil
}

// Starting is how long the launch that is under way has taken so far; 0: none is.
func (c *Chromium) Starting() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting == nil {
		return 0
	}
	return time.Since(c.starting.began)
}

// Failed is why the last launch came to nothing; nil where it did not, or there was none.
func (c *Chromium) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Usage counts Chromium's processes and their resident memory in bytes, where
// it runs on this machine and there is a /proc.
func (c *Chromium) Usage() (processes int, bytes uint64) {
	c.mu.Lock()
	r := c.current
	c.mu.Unlock()
	if r == nil || r.conn.Err() != nil || r.pid() == 0 {
		return 0, 0
	}
	return usage(r.pid())
}

// version returns Browser.getVersion of the browser behind conn.
func version(ctx context.Context, conn *cdp.Conn) (browser.GetVersionResult, error) {
	return cdproto.Call(ctx, conn.Session(""), browser.GetVersion, cdproto.Empty{})
}
