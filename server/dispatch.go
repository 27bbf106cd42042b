package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/browserd/browserd/actions"
	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// dispatcher runs the commands of all transports. A transport authenticates, calls prepare
// in the order in which commands arrive, and run in a goroutine of the
// command's own; what run returns is ready to be written.
type dispatcher struct {
	runtime *command.Runtime
	log     *slog.Logger
	// life is the parent of every command's context; its cause, once it has
	// ended, is command.ErrShuttingDown.
	life context.Context
	end  context.CancelCauseFunc

	mu       sync.Mutex
	running  int
	entered  uint64 // commands let in so far
	draining bool
	idle     chan struct{} // closed when draining and nothing runs
	metrics  *metrics
}

func newDispatcher(runtime *command.Runtime) *dispatcher {
	d := &dispatcher{runtime: runtime, log: runtime.Log, idle: make(chan struct{}), metrics: newMetrics()}
	d.life, d.end = context.WithCancelCause(context.Background())
	return d
}

// task is an admitted command.
type task struct {
	dispatch *dispatcher
	job      *command.Job
	command  string
	id       string // tells it from all others, in the log
	arrived  time.Time
	begins   []byte // stands before the encoded result, which so needs not be copied
}

// prepare checks a command and takes its place in its session's queue. It
// never blocks. run must be called on the task, once.
func (d *dispatcher) prepare(caller *command.Caller, method string, params json.RawMessage) (t *task, err *protocol.Error) {
	arrived, id := time.Now(), rand.Text()[:10]
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = d.broken(id, "", method, fmt.Sprintf("%T", p), debug.Stack())
		}
		if err != nil {
			t = nil
			d.leave()
			d.count(id, "", method, "", err.Code, arrived)
		}
	}()
	job, e := d.runtime.Prepare(caller, method, params)
	if e != nil {
		return nil, d.coded(id, "", method, e)
	}
	return &task{dispatch: d, job: job, command: method, id: id, arrived: arrived}, nil
}

// run waits for the command's turn, runs it, and hands its encoded result, behind
// begins, or what it failed with, to reply. The daemon's end waits until reply is back.
// ctx descends from dispatch.life and may end with the cause command.ErrCancelled.
func (t *task) run(ctx context.Context, reply func(result json.RawMessage, err *protocol.Error)) {
	defer t.dispatch.leave()
	reply(t.result(ctx))
}

func (t *task) result(ctx context.Context) (result json.RawMessage, err *protocol.Error) {
	d, session := t.dispatch, t.job.SessionName()
	ctx = protocol.WithRequest(ctx, t.id, session)
	source := ""
	defer func() {
		if p := recover(); p != nil {
			// The panic's text may hold what a page said; its type does not.
			result, err = nil, d.broken(t.id, session, t.command, fmt.Sprintf("%T", p), debug.Stack())
		}
		code := protocol.Code("ok")
		if err != nil {
			code = err.Code
		}
		d.count(t.id, session, t.command, source, code, t.arrived)
	}()
	value, e := t.job.Run(ctx)
	if e != nil {
		return nil, d.coded(t.id, session, t.command, e)
	}
	if served, ok := value.(interface{ ServedBy() string }); ok {
		source = served.ServedBy()
	}
	result, e = encodeBehind(t.begins, value)
	if e != nil {
		return nil, d.coded(t.id, session, t.command, fmt.Errorf("encoding the result: %w", e))
	}
	return result, nil
}

// coded returns err's *protocol.Error, or internal with the cause in the log
// under the request's id.
func (d *dispatcher) coded(id, session, command string, err error) *protocol.Error {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e
	}
	d.log.Error("command failed", "request", id, "session", session, "command", command, "error", err)
	return internal(command, id)
}

func (d *dispatcher) broken(id, session, command, kind string, stack []byte) *protocol.Error {
	d.log.Error("command panicked", "request", id, "session", session, "command", command, "panic", kind, "stack", string(stack))
	return internal(command, id)
}

func internal(command, id string) *protocol.Error {
	return protocol.Errorf(protocol.Internal, "%s failed for a reason of browserd's own", command).With("incident", id)
}

// enter lets one more command in, until the daemon is shutting down.
func (d *dispatcher) enter() *protocol.Error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return command.ErrShuttingDown
	}
	d.running++
	d.entered++
	return nil
}

// begun counts the commands that were let in; busy says whether one runs.
func (d *dispatcher) begun() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.entered
}

func (d *dispatcher) busy() bool { return d.now() > 0 }

// now counts the commands that run or wait.
func (d *dispatcher) now() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running
}

func (d *dispatcher) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	if d.draining && d.running == 0 {
		close(d.idle)
	}
}

// drain lets no command in any more. The channel closes when none runs.
func (d *dispatcher) drain() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.draining {
		d.draining = true
		if d.running == 0 {
			close(d.idle)
		}
	}
	return d.idle
}

func (d *dispatcher) isDraining() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.draining
}

// count keeps account of one command. A name that is no command's is counted
// as "unknown", so that no client can fill the table.
func (d *dispatcher) count(id, session, command, source string, code protocol.Code, since time.Time) {
	if _, ok := actions.All.Lookup(command); !ok {
		command = "unknown"
	}
	took := time.Since(since)
	d.metrics.ended(command, source, code, took)
	d.log.Debug("command", "request", id, "session", session, "command", command, "source", source, "code", code, "ms", took.Milliseconds())
}

// encode writes JSON as the wire has it: <, > and & as they are, since page
// text is full of them and no answer is ever read as HTML. Characters that a terminal obeys
// or that hide or reorder text are escaped, wherever the text is shown.
func encode(v any) (json.RawMessage, error) { return encodeBehind(nil, v) }

// encodeBehind is encode with something before it.
func encodeBehind(begins []byte, v any) (json.RawMessage, error) {
	b := bytes.NewBuffer(begins)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return snapshot.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
