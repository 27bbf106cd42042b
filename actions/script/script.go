// Package script runs the scripts of the command run, each in a process of its own that
// can do nothing but ask for the next command (package child). It owns those processes: it
// starts and contains them, keeps one ready, checks what they send, and kills them.
//
// A child is not trusted: whatever it sends is limited in size, number and form before
// anything is done with it, and what it asks for goes to the func that the caller of Run
// passed. Any goroutine may call Run.
package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/browserd/browserd/actions/script/child"
	"github.com/browserd/browserd/protocol"
)

// Config limits one script, and what is saved of all.
type Config struct {
	MemoryMB int           `koanf:"memory_mb" default:"64" doc:"megabytes that the values of one script may use"`
	CPU      time.Duration `koanf:"cpu" default:"5s" doc:"processor time of one script; what it waits for does not count"`
	Steps    int           `koanf:"steps" default:"1000" doc:"commands that one script may send"`
	PerToken int           `koanf:"per_token" default:"8" doc:"scripts that may run at once with one token; a further one is refused with rate_limited"`
	Count    int           `koanf:"count" default:"100" doc:"saved scripts that one agent may keep"`
	Bytes    int           `koanf:"bytes" default:"4194304" doc:"bytes of saved scripts that one agent may keep, all together; one has at most 1 MiB"`
}

// Check returns an error that names the first invalid value.
func (c Config) Check() error {
	switch {
	case c.MemoryMB < 8 || c.MemoryMB > 256:
		return fmt.Errorf("scripts.memory_mb: %d: accepts 8 to 256", c.MemoryMB)
	case c.CPU < 100*time.Millisecond || c.CPU > 30*time.Second:
		return fmt.Errorf("scripts.cpu: %s: accepts 100ms to 30s", c.CPU)
	case c.Steps < 1 || c.Steps > 100000:
		return fmt.Errorf("scripts.steps: %d: accepts 1 to 100000", c.Steps)
	case c.PerToken <= 0:
		return fmt.Errorf("scripts.per_token: %d: accepts a number above 0", c.PerToken)
	case c.Count <= 0:
		return fmt.Errorf("scripts.count: %d: accepts a number above 0", c.Count)
	case c.Bytes <= 0:
		return fmt.Errorf("scripts.bytes: %d: accepts a number above 0", c.Bytes)
	}
	return nil
}

// DefaultConfig has the limits that hold where the operator sets none.
var DefaultConfig = Config{MemoryMB: 64, CPU: 5 * time.Second, Steps: 1000, PerToken: 8, Count: 100, Bytes: 4 << 20}

// Limits of a script's output. What is within them is cut later to what the client asked for.
const (
	maxValueChars = 1 << 20
	maxLogChars   = 64 << 10
	maxLogLines   = 1000
	maxMessage    = 4000 // characters of an error's message
)

// Script is one script with its input, a JSON value.
type Script struct {
	Code  string
	Input json.RawMessage
	// Commands are the methods of the script's object browser, each with its main parameter.
	Commands map[string]string
	// Token is the number of the token with which the script was sent.
	Token int
}

// Step is one command that a script sends.
type Step struct {
	Number  int    // from 1
	Command string // any name: the child may send what it likes
	Params  json.RawMessage
	Call    string // as the script wrote it; empty: browser.COMMAND
	Line    int
	Column  int
}

// Answer is the outcome of a step: its result or its error, as JSON.
type Answer struct {
	Result, Error json.RawMessage
}

// Ended is how a script ended by itself.
type Ended struct {
	Value json.RawMessage // JSON; empty: undefined
	Logs  []string
	Steps int
	// Failure is nil if the script succeeded.
	Failure *child.Failure
}

// Run runs a script and calls step for each command that it sends, one after the other, in
// this goroutine. It returns how the script ended, or an error where as many scripts of the
// token run as may, or where the process could not be started, died, sent what it must not,
// or ctx ended. A step's context ends with the process too. When Run returns, the process is
// dead or dying.
func (p *Pool) Run(ctx context.Context, s Script, step func(context.Context, Step) Answer) (Ended, error) {
	if err := p.admit(s.Token); err != nil {
		return Ended{}, err
	}
	defer p.release(s.Token)
	p.throttle.waitToBegin(ctx, s.Token)
	c, err := p.assign(ctx, s)
	if err != nil {
		return Ended{}, err
	}
	defer p.discard(c)
	defer context.AfterFunc(ctx, c.kill)()
	over, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { p.throttle.watch(over, c, s.Token) })
	defer func() { stop(); watching.Wait() }() // before the process ends, and its number is another's
	ended, err := c.run(ctx, p.config, step)
	if ctx.Err() != nil {
		return ended, context.Cause(ctx)
	}
	return ended, err
}

// admit counts a script of the token as running, until release.
func (p *Pool) admit(token int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.running[token]; n >= p.config.PerToken {
		return protocol.Errorf(protocol.RateLimited, "%d scripts of this token run already, as many as scripts.per_token allows", n).
			With("quota", "scripts.per_token").With("limit", p.config.PerToken).With("retry_after_s", 1).
			Then("wait until one of them has ended, or end one with cancel, then send this one again")
	}
	p.running[token]++
	return nil
}

func (p *Pool) release(token int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[token]--; p.running[token] == 0 {
		delete(p.running, token)
	}
}

// assign sends the script to a process, and returns that. A process that died while it waited
// for a script is replaced: it has done nothing yet.
func (p *Pool) assign(ctx context.Context, s Script) (*process, error) {
	for again := true; ; again = false {
		c, err := p.take(ctx)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, c.kill)
		err = child.WriteFrame(c.in, child.Start{Code: s.Code, Input: s.Input, Commands: s.Commands, Limits: child.Limits{
			MemoryMB: p.config.MemoryMB, CPUMS: int(p.config.CPU.Milliseconds()), Steps: p.config.Steps, ValueChars: maxValueChars, LogChars: maxLogChars,
		}})
		stop()
		if err == nil {
			return c, nil
		}
		p.discard(c)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, child.ErrTooLong):
			return nil, protocol.Errorf(protocol.TooLarge, "input: it has %d bytes, more than a script can read", len(s.Input)).With("parameter", "input").With("limit", child.MaxFrame).With("size", len(s.Input))
		case !again:
			return nil, fmt.Errorf("%w: %w", ErrDied, err)
		}
	}
}

// ErrDied is the error of a child that ended without reporting the end of its script.
var ErrDied = errors.New("the script's process died")

// ErrHostile is the error of a child that sent an invalid message.
var ErrHostile = errors.New("the script's process sent something that it must not")

func (c *process) run(ctx context.Context, limits Config, step func(context.Context, Step) Answer) (Ended, error) {
	ended := Ended{Logs: []string{}}
	alive, died := context.WithCancel(ctx)
	defer died()
	messages := c.listen(alive, died)
	for {
		// A child that computes for longer than its processor time, on however loaded a
		// machine, ends by its own clock or the kernel's.
		m, ok := <-messages
		if !ok {
			return ended, fmt.Errorf("%w: %w", ErrDied, c.end)
		}
		switch {
		case m.Done != nil && m.Step == nil && !m.Ready:
			return c.done(ended, m.Done)
		case m.Step == nil || m.Done != nil || m.Ready:
			return ended, ErrHostile
		}
		next := Step{
			Number: ended.Steps + 1, Command: cut(m.Step.Command, 100), Params: m.Step.Params,
			Call: cut(m.Step.Call, 200), Line: max(m.Step.Line, 0), Column: max(m.Step.Column, 0),
		}
		if next.Number > limits.Steps {
			return ended, &Limit{Name: "steps", Value: limits.Steps, At: next}
		}
		ended.Steps++
		answer := step(alive, next)
		if ctx.Err() != nil {
			return ended, context.Cause(ctx)
		}
		if err := child.WriteFrame(c.in, child.Answer{Result: answer.Result, Error: answer.Error}); err != nil {
			return ended, fmt.Errorf("%w: %w", ErrDied, err)
		}
	}
}

// listen reads what the child sends, also while a step is under way, so that its end is known
// at once: then died is called, c.end is set, and the channel is closed. The goroutine ends
// with the process or with ctx, and discard waits for it.
func (c *process) listen(ctx context.Context, died func()) <-chan child.Message {
	messages := make(chan child.Message)
	c.reading.Go(func() {
		defer close(messages)
		for {
			var m child.Message
			if c.end = child.ReadFrame(c.out, &m); c.end != nil {
				died()
				return
			}
			select {
			case messages <- m:
			case <-ctx.Done():
				c.end = context.Cause(ctx)
				return
			}
		}
	})
	return messages
}

// Limit is the error of a script that reached a limit.
type Limit struct {
	Name  string
	Value int
	At    Step // the one that was too many
}

func (l *Limit) Error() string {
	return fmt.Sprintf("the script reached its limit of %d %s", l.Value, l.Name)
}

// done checks and cuts what a child reports at its end.
func (c *process) done(ended Ended, d *child.Done) (Ended, error) {
	if len(d.Value) > maxValueChars*4 {
		return ended, ErrHostile
	}
	ended.Value = d.Value
	left := maxLogChars
	for i, line := range d.Logs {
		if i >= maxLogLines || left <= 0 {
			break
		}
		line = cut(line, left)
		left -= utf8.RuneCountInString(line)
		ended.Logs = append(ended.Logs, line)
	}
	if f := d.Error; f != nil {
		f.Message, f.Limit = cut(f.Message, maxMessage), cut(f.Limit, 40)
		if f.Step < 0 || f.Step > ended.Steps {
			f.Step = 0
		}
		f.Line, f.Column = max(f.Line, 0), max(f.Column, 0)
		ended.Failure = f
	}
	return ended, nil
}

// cut returns at most n characters of s.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
