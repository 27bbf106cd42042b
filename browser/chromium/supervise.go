package chromium

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

// Generation counts the launches of one Chromium, from 1. The ids of one generation (of
// targets, CDP sessions, nodes) are not valid in the next.
type Generation = int

const (
	// closeLimit is how long Chromium may take to close by itself before it is
	// killed. Its profile is thrown away, so nothing is lost.
	closeLimit = time.Second
	// keptCloseLimit is closeLimit for one whose profile is kept (Kept): it first writes it to disk.
	keptCloseLimit = 10 * time.Second
	// stableAfter is how long a browser must live for its death not to count as a failure.
	stableAfter = 10 * time.Second
	// freeFailures may happen in a row before a new launch has to wait.
	freeFailures = 3
	maxBackoff   = 30 * time.Second
	// manyFailures make the next launch wait for maxBackoff.
	manyFailures = freeFailures + 5
)

// Supervisor runs one Chromium: it launches it when it is first needed, calls the
// callbacks of OnLost when it dies, and launches it again when it is needed again. All
// methods may be called from any goroutine; Close it when done.
type Supervisor struct {
	cfg  Config
	log  *slog.Logger
	ctx  context.Context // ends with Close
	stop context.CancelFunc
	work sync.WaitGroup // launches and supervisors

	mu       sync.Mutex
	closed   bool
	current  *running       // nil: none runs
	starting *pendingLaunch // the launch under way; nil: none
	failed   error          // of the last launch; nil: it succeeded
	launches Generation
	failures int       // in a row: launches that failed, or whose browser soon died
	retryAt  time.Time // the earliest time of the next launch
	lastErr  error     // of the last failure
	onLost   []func(gen Generation, cause string)
	consent  consent
}

// running is one generation.
type running struct {
	gen     Generation
	conn    *cdp.Conn
	proc    *Process // nil: at an endpoint
	version browser.GetVersionResult
	since   time.Time
	ending  chan struct{} // closed by Close and StopIdle
}

// pendingLaunch is a launch that any number of callers wait for.
type pendingLaunch struct {
	began time.Time
	done  chan struct{} // closed when run and err are set
	run   *running
	err   error
}

// Start returns the supervisor of a Chromium that is not running yet: Warm or
// the first Conn launches it. It lives until ctx ends or Close is called; after
// ctx has ended Close still waits for its end.
func Start(ctx context.Context, cfg Config, log *slog.Logger) *Supervisor {
	s := &Supervisor{cfg: cfg, log: log}
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

// OnLost adds a callback that is called once for each browser that ended by itself,
// with its generation and the cause in a few words. It is called within milliseconds,
// after all calls on the connection have failed, on a goroutine of the supervisor,
// which removes what is left meanwhile. The callback must not wait long, and
// may call Conn. Add callbacks before the first launch.
func (s *Supervisor) OnLost(f func(gen Generation, cause string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onLost = append(s.onLost, f)
}

// Warm launches the browser now, if it does not run.
func (s *Supervisor) Warm(ctx context.Context) error {
	_, _, err := s.Conn(ctx)
	return err
}

// Conn returns the connection to the browser that runs, and its generation. When
// none runs it launches one; other callers wait for the same launch, each as long as
// its ctx allows. The errors have codes: chromium_unavailable with
// the cause and the remedy (and at once, while repeated failures make the next
// launch wait), shutting_down after Close.
func (s *Supervisor) Conn(ctx context.Context) (*cdp.Conn, Generation, error) {
	s.mu.Lock()
	if s.closed || s.ctx.Err() != nil {
		s.mu.Unlock()
		return nil, 0, protocol.Errorf(protocol.ShuttingDown, "the browser is being closed")
	}
	if r := s.current; r != nil && r.conn.Err() == nil {
		s.mu.Unlock()
		return r.conn, r.gen, nil
	}
	f := s.starting
	if f == nil && s.consent.refused != nil {
		defer s.mu.Unlock()
		return nil, 0, s.consent.refused
	}
	if f == nil {
		if wait := time.Until(s.retryAt); wait > 0 {
			err := s.lastErr
			s.mu.Unlock()
			return nil, 0, backoffError(err, wait)
		}
		f = &pendingLaunch{began: time.Now(), done: make(chan struct{})}
		s.starting = f
		s.work.Go(func() { s.runLaunch(f) })
	}
	s.mu.Unlock()

	select {
	case <-f.done:
	case <-s.consentTimeout(ctx, f):
		return nil, 0, waitingForConsent()
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("waiting for Chromium to start: %w", ctx.Err())
	}
	if f.err != nil {
		return nil, 0, f.err
	}
	return f.run.conn, f.run.gen, nil
}

// StopIdle ends the browser that runs, in the background; the next Conn launches
// another. The callbacks of OnLost are not called. It returns false, and does nothing,
// while a launch is under way.
func (s *Supervisor) StopIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting != nil {
		return false
	}
	r := s.current
	if r == nil || s.closed {
		return true
	}
	s.current = nil
	close(r.ending)
	s.log.Info("Chromium is not needed for now", "generation", r.gen, "pid", r.pid())
	return true
}

// Process returns the browser of a generation, or nil if it has ended or runs elsewhere
// (browser.endpoint).
func (s *Supervisor) Process(gen Generation) *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.current; r != nil && r.gen == gen {
		return r.proc
	}
	return nil
}

// backoffError returns the error of a call during the wait after failures.
func backoffError(err error, wait time.Duration) error {
	var cause *protocol.Error
	if !errors.As(err, &cause) {
		cause = unavailable("", "%w", err)
	}
	e := *cause
	e.Code = protocol.ChromiumUnavailable
	e.Message = fmt.Sprintf("%s (tried again in %v)", cause.Message, wait.Round(time.Second)+time.Second)
	return &e
}

// runLaunch carries out the launch f and wakes its callers.
func (s *Supervisor) runLaunch(f *pendingLaunch) {
	r, err := s.launchOrConnect()
	s.mu.Lock()
	s.starting, s.failed = nil, err
	if err == nil && s.closed {
		err = protocol.Errorf(protocol.ShuttingDown, "the browser is being closed")
		close(r.ending)
	}
	if r != nil {
		s.launches++
		r.gen = s.launches
		if err == nil {
			s.current = r
		}
		s.work.Go(func() { s.supervise(r) })
		s.work.Go(func() { s.watchMemory(r) })
		if s.cfg.AnswerTimeout > 0 && !s.cfg.Attach { // a person's own is not polled
			s.work.Go(func() { r.conn.Watch(s.cfg.AnswerTimeout) })
			s.work.Go(func() { r.conn.WatchNetworkService(s.cfg.AnswerTimeout) })
		}
	} else if s.ctx.Err() == nil {
		s.countFailure(err, time.Since(f.began) >= startLimit)
	}
	f.run, f.err = r, err
	s.mu.Unlock()
	close(f.done)
	switch {
	case err == nil:
		s.log.Info("Chromium runs", "product", r.version.Product, "pid", r.pid(), "generation", r.gen, "took", time.Since(f.began).Round(time.Millisecond))
	case protocol.CodeOf(err) == protocol.ChromiumUnavailable:
		s.log.Warn("Chromium does not start", "error", err)
	}
}

// launchOrConnect launches a browser, or connects to the one at the endpoint.
func (s *Supervisor) launchOrConnect() (*running, error) {
	cfg := s.cfg
	if err := cfg.Check(); err != nil {
		return nil, unavailable("fix the configuration", "%w", err)
	}
	if cfg.Complete != nil {
		if err := cfg.Complete(&cfg); err != nil {
			return nil, unavailable("browserd doctor says what is wrong", "%w", err)
		}
	}
	r := &running{ending: make(chan struct{}), since: time.Now()}
	var err error
	if cfg.Attach {
		r.conn, r.version, err = s.attach(cfg)
	} else if cfg.Endpoint != "" {
		r.conn, r.version, err = dial(s.ctx, cfg)
	} else {
		r.proc, r.conn, r.version, err = launch(s.ctx, cfg, s.log)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// countFailure counts a launch that failed. After several in a row the next one has to
// wait, longer each time (exponential backoff). One that hung counts for many, because the
// next one would keep all callers waiting as long. The caller holds mu.
func (s *Supervisor) countFailure(err error, hung bool) {
	if s.cfg.Attach { // to try costs nothing, and the person decides when their browser runs
		return
	}
	s.failures++
	if hung {
		s.failures = max(s.failures, manyFailures)
	}
	s.lastErr = err
	if over := s.failures - freeFailures; over >= 0 {
		s.retryAt = time.Now().Add(min(maxBackoff, time.Second<<min(over, 10)))
	}
}

// supervise waits for the end of a browser, for whatever reason, and removes what it
// leaves behind.
func (s *Supervisor) supervise(r *running) {
	var exited <-chan struct{} // forever, at an endpoint
	if r.proc != nil {
		exited = r.proc.exited
	}
	select {
	case <-r.ending:
		r.shutDown()
		return
	case <-s.ctx.Done():
		r.shutDown()
		return
	case <-exited:
	case <-r.conn.Done():
	}

	select {
	case <-r.ending: // it ended because Close or StopIdle asked it to
		r.shutDown()
		return
	case <-s.ctx.Done():
		r.shutDown()
		return
	default:
	}
	cause := r.endLost()
	if s.cfg.Attach {
		cause = detachedCause
	}
	s.mu.Lock()
	if s.current == r {
		s.current = nil
	}
	if lived := time.Since(r.since); lived < stableAfter && !s.cfg.Attach {
		s.countFailure(unavailable("browserd doctor says what is wrong", "Chromium ended %v after its start: %s", lived.Round(100*time.Millisecond), cause), false)
	} else {
		s.failures = 0
	}
	callbacks := s.onLost
	s.mu.Unlock()
	s.log.Warn("Chromium is lost", "generation", r.gen, "pid", r.pid(), "cause", cause)
	// What is left is removed while the callbacks run.
	var rest sync.WaitGroup
	if r.proc != nil {
		rest.Go(func() { r.proc.end() })
	}
	for _, f := range callbacks {
		f(r.gen, cause)
	}
	rest.Wait()
}

// endLost ends the connection to a browser that has died or hung up, and its
// processes, and returns the cause in a few words.
func (r *running) endLost() string {
	if r.proc == nil {
		err := r.conn.Err()
		r.conn.Close()
		return "the connection to browser.endpoint was lost: " + causeOf(err)
	}
	// The pipe closes a moment before the process can be waited for. A browser
	// that only closed its pipe cannot be used any more.
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

// causeOf returns why a connection ended, without the text that all such errors share.
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

// shutDown ends a browser that is not needed any more.
func (r *running) shutDown() {
	if r.proc != nil {
		limit := closeLimit
		if r.proc.kept != nil {
			limit = keptCloseLimit
		}
		r.conn.Session("").Send(browser.CommandClose, nil)
		select {
		case <-r.proc.exited:
		case <-time.After(limit):
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
// shutting_down from then on. The callbacks of OnLost are not called. Close may be called
// more than once.
func (s *Supervisor) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		if s.current != nil {
			close(s.current.ending)
		}
	}
	r := s.current
	s.mu.Unlock()
	s.stop() // cancels a launch under way
	gone := make(chan struct{})
	go func() {
		s.work.Wait()
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

// Info is the state of the browser, for a status report.
type Info struct {
	Running    bool
	Generation Generation // of the one that runs or ran last; 0: none yet
	Product    string     // with its version, as Browser.getVersion returns it
	Path       string     // of the program, or the endpoint
	PID        int        // 0 at an endpoint
	Shell      bool       // the headless shell
	// Attached is, with browser.attach, not_attached, waiting_for_consent, refused or attached.
	Attached string
	// Sandbox is "on", "off: why", or "unknown" while no page is open and at an
	// endpoint.
	Sandbox string
}

// Info returns the state of the browser. It asks the kernel about the sandbox,
// which takes about a millisecond.
func (s *Supervisor) Info() Info {
	s.mu.Lock()
	r, i := s.current, Info{Generation: s.launches, Sandbox: "unknown", Attached: s.attachment()}
	s.mu.Unlock()
	if r == nil || r.conn.Err() != nil {
		return i
	}
	i.Running, i.Generation, i.Product, i.PID, i.Path = true, r.gen, r.version.Product, r.pid(), s.cfg.Endpoint
	if r.proc != nil {
		i.Path, i.Shell = r.proc.found.Path, r.proc.found.Shell
		i.Sandbox = sandboxOf(i.PID)
		if s.cfg.UnsafeNoSandbox {
			i.Sandbox = "off: browser.unsafe_no_sandbox"
		}
	}
	return i
}

// Running reports whether the browser runs. It costs nothing, while Info reads all
// processes of the machine.
func (s *Supervisor) Running() bool {
	s.mu.Lock()
	r := s.current
	s.mu.Unlock()
	return r != nil && r.conn.Err() == nil
}

// Starting returns how long the launch under way has taken so far, or 0 if there is none.
func (s *Supervisor) Starting() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting == nil {
		return 0
	}
	return time.Since(s.starting.began)
}

// Failed returns the error of the last launch, or nil if it succeeded or there was none.
func (s *Supervisor) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Usage counts Chromium's processes and their resident memory in bytes, where
// it runs on this machine and there is a /proc.
func (s *Supervisor) Usage() (processes int, bytes uint64) {
	s.mu.Lock()
	r := s.current
	s.mu.Unlock()
	if r == nil || r.conn.Err() != nil || r.pid() == 0 {
		return 0, 0
	}
	return usage(r.pid())
}

// version returns Browser.getVersion of the browser behind conn.
func version(ctx context.Context, conn *cdp.Conn) (browser.GetVersionResult, error) {
	return cdproto.Call(ctx, conn.Session(""), browser.GetVersion, cdproto.Empty{})
}
