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
	"github.com/browserd/browserd/telemetry"
)

// dispatcher runs the commands of all transports. A transport authenticates the client,
// calls prepare in the order in which commands arrive, and calls run in a separate
// goroutine for each command.
type dispatcher struct {
	runtime *command.Runtime
	log     *slog.Logger
	// life is the parent of every command's context; its cause, once it has
	// ended, is command.ErrShuttingDown.
	life context.Context
	end  context.CancelCauseFunc

	mu       sync.Mutex
	running  int
	admitted uint64 // commands admitted so far
	draining bool
	idle     chan struct{} // closed when the server drains and no command runs
	metrics  *metrics
}

func newDispatcher(runtime *command.Runtime) *dispatcher {
	d := &dispatcher{runtime: runtime, log: runtime.Log, idle: make(chan struct{}), metrics: newMetrics()}
	d.life, d.end = context.WithCancelCause(context.Background())
	runtime.Life = d.life
	return d
}

// task is an admitted command.
type task struct {
	dispatch *dispatcher
	job      *command.Job
	command  string
	id       string // identifies the command in the log
	agent    string
	span     *telemetry.Span
	arrived  time.Time
	prefix   []byte // written before the encoded result, so that a transport need not copy the result into its frame
}

// prepare checks a command and takes a place in its session's queue. It never blocks. Call
// run on the task exactly once.
// parent is the traceparent that the client sent; empty: none.
func (d *dispatcher) prepare(caller *command.Caller, parent, method string, params json.RawMessage) (t *task, err *protocol.Error) {
	return d.admit(caller.Agent, parent, method, func(span *telemetry.Span) (*command.Job, error) {
		return d.runtime.Prepare(caller, span, method, params)
	})
}

// admit is prepare with a func that makes the job.
func (d *dispatcher) admit(agent, parent, method string, prepare func(*telemetry.Span) (*command.Job, error)) (t *task, err *protocol.Error) {
	arrived, id := time.Now(), rand.Text()[:10]
	if err := d.enter(); err != nil {
		return nil, err
	}
	span := d.runtime.Tracer.Command(parent, metricName(method), agent, id)
	ctx := span.In(context.Background())
	defer func() {
		if p := recover(); p != nil {
			err = d.panicError(ctx, id, "", method, fmt.Sprintf("%T", p), debug.Stack())
		}
		if err != nil {
			t = nil
			d.leave()
			span.EndCommand("", "", string(err.Code))
			d.count(ctx, id, "", method, "", err.Code, arrived)
		}
	}()
	job, e := prepare(span)
	if e != nil {
		return nil, d.toProtocolError(ctx, id, "", method, e)
	}
	return &task{dispatch: d, job: job, agent: agent, span: span, command: method, id: id, arrived: arrived}, nil
}

// run waits for the command's turn, runs it, and passes prefix with the encoded result, or
// the error, to reply. Shutdown waits until reply has returned. ctx must descend from
// dispatcher.life and may end with the cause command.ErrCancelled.
func (t *task) run(ctx context.Context, reply func(result json.RawMessage, err *protocol.Error)) {
	defer t.dispatch.leave()
	reply(t.result(ctx))
}

func (t *task) result(ctx context.Context) (result json.RawMessage, err *protocol.Error) {
	d, session := t.dispatch, t.job.SessionName()
	ctx = protocol.WithRequest(t.span.In(ctx), t.id, session)
	source := ""
	defer func() {
		if p := recover(); p != nil {
			// The panic's text may contain text of a page. Log only its type.
			result, err = nil, d.panicError(ctx, t.id, session, t.command, fmt.Sprintf("%T", p), debug.Stack())
		}
		code := protocol.Code("ok")
		if err != nil {
			code = err.Code
			t.span.EndCommand(session, source, string(code))
		} else {
			t.span.EndCommand(session, source, "")
		}
		if t.job.IsForwarded() { // the daemon that runs the command counts it
			d.logCommand(ctx, t.id, session, t.command, "", code, time.Since(t.arrived))
			return
		}
		d.count(ctx, t.id, session, t.command, source, code, t.arrived)
	}()
	value, e := t.job.Run(ctx)
	if e != nil {
		return nil, d.toProtocolError(ctx, t.id, session, t.command, e)
	}
	if served, ok := value.(interface{ ServedBy() string }); ok {
		source = served.ServedBy()
	}
	if there, ok := value.(command.Forwarded); ok { // already encoded and redacted by the daemon that ran the command
		return append(t.prefix, there.Result...), nil
	}
	result, e = appendJSON(t.prefix, value)
	if e != nil {
		return nil, d.toProtocolError(ctx, t.id, session, t.command, fmt.Errorf("encoding the result: %w", e))
	}
	n := len(t.prefix) // the prefix has the client's own id, which must not be redacted
	return append(result[:n], d.runtime.Secrets.Redact(t.agent, result[n:])...), nil
}

// toProtocolError returns err's *protocol.Error. For any other error it logs the cause under the
// request's id and returns the error internal.
func (d *dispatcher) toProtocolError(ctx context.Context, id, session, command string, err error) *protocol.Error {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e
	}
	d.log.ErrorContext(ctx, "command failed", "request", id, "session", session, "command", command, "error", err)
	return internal(command, id)
}

func (d *dispatcher) panicError(ctx context.Context, id, session, command, kind string, stack []byte) *protocol.Error {
	d.log.ErrorContext(ctx, "command panicked", "request", id, "session", session, "command", command, "panic", kind, "stack", string(stack))
	return internal(command, id)
}

func internal(command, id string) *protocol.Error {
	return protocol.Errorf(protocol.Internal, "%s failed for a reason of browserd's own", command).With("incident", id)
}

// enter admits a command. It returns ErrShuttingDown once the daemon is shutting down.
func (d *dispatcher) enter() *protocol.Error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return command.ErrShuttingDown
	}
	d.running++
	d.admitted++
	return nil
}

// admittedCount returns the number of commands admitted so far.
func (d *dispatcher) admittedCount() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.admitted
}

// busy reports whether a command runs or waits.
func (d *dispatcher) busy() bool { return d.runningCount() > 0 }

// runningCount returns the number of commands that run or wait.
func (d *dispatcher) runningCount() int {
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

// drain refuses further commands. The channel is closed when none runs any longer.
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

// count counts one command in the metrics. An unknown name is counted as "unknown", so
// that no client can fill the table.
func (d *dispatcher) count(ctx context.Context, id, session, command, source string, code protocol.Code, since time.Time) {
	command = metricName(command)
	took := time.Since(since)
	d.metrics.ended(command, source, code, took)
	d.logCommand(ctx, id, session, command, source, code, took)
}

// metricName returns the name of a command, "unknown" for a name that is none.
func metricName(command string) string {
	if _, ok := actions.All.Lookup(command); !ok {
		return "unknown"
	}
	return command
}

func (d *dispatcher) logCommand(ctx context.Context, id, session, command, source string, code protocol.Code, took time.Duration) {
	d.log.DebugContext(ctx, "command", "request", id, "session", session, "command", command, "source", source, "code", code, "ms", took.Milliseconds())
}

// encode encodes v as JSON. It does not escape <, > and &, which are frequent in page text,
// since no answer is read as HTML. It does escape characters that control a terminal, and
// those that hide or reorder text.
func encode(v any) (json.RawMessage, error) { return appendJSON(nil, v) }

// appendJSON is encode with a prefix.
func appendJSON(prefix []byte, v any) (json.RawMessage, error) {
	b := bytes.NewBuffer(prefix)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return snapshot.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
