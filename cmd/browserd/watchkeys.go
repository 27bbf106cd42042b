package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/browserd/browserd/actions"
	socket "github.com/browserd/browserd/clients/go"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// keys gives what is typed at a terminal, each key at once and without an echo; nil where r is none.
// restore gives the terminal its own ways back.
func keys(r io.Reader) (typed <-chan byte, restore func()) {
	file, ok := r.(interface{ Fd() uintptr })
	if !ok || !isTerminal(r) {
		return nil, func() {}
	}
	was, err := term.MakeRaw(int(file.Fd()))
	if err != nil {
		return nil, func() {}
	}
	out := make(chan byte)
	go func() { // it ends with the program at the latest
		defer close(out)
		var b [1]byte
		for {
			if _, err := r.Read(b[:]); err != nil {
				return
			}
			out <- b[0]
		}
	}()
	return out, func() { term.Restore(int(file.Fd()), was) }
}

// Keys of watch.
const (
	keyInterrupt = 3 // Ctrl-C, which is no signal while keys are read
	keyQuit      = 'q'
	keyUp        = 'k'
	keyDown      = 'j'
)

// answerKeys are the keys that answer the chosen question.
var answerKeys = map[byte]struct {
	allow    bool
	remember string
	said     string
}{
	'a': {true, policy.RememberNo, "allowed once"},
	's': {true, policy.RememberSession, "allowed for the session"},
	'g': {true, policy.RememberAlways, "allowed for good"},
	'd': {false, policy.RememberNo, "denied"},
}

// keysHelp says what they are.
const keysHelp = "a allow once, s for the session, g for good, d deny; j and k choose, q ends"

// question is a confirmation that waits for an operator.
type question struct {
	id, session, line string
	details           []string
	expires           time.Time
}

// choice is the questions that wait, and which of them keys answer.
type choice struct {
	questions []question
	id        string    // of the chosen one; empty: none
	moved     time.Time // when it became the chosen one without a key
	note      string    // what came of the last key
}

// unread is how long a question is to be on the screen before a key answers it: nobody means one that
// has taken another's place under the finger.
const unread = 500 * time.Millisecond

// ask notes a question.
func (c *choice) ask(e protocol.Event, now time.Time) {
	f := e.Fields
	q := question{id: fmt.Sprint(f["id"]), session: e.Session}
	if slices.ContainsFunc(c.questions, func(o question) bool { return o.id == q.id }) {
		return
	}
	q.line = fmt.Sprintf("%v: %v", f["agent"], f["command"])
	if f["role"] != nil {
		q.line += fmt.Sprintf(" [%v] %s", f["role"], compact(f["name"]))
	}
	q.line += fmt.Sprintf(" at %v", cmp.Or[any](f["origin"], f["url"], "no page"))
	q.details = []string{fmt.Sprint(f["why"])}
	for _, key := range []string{"params", "url", "tab_origin", "script", "config"} {
		if f[key] != nil {
			q.details = append(q.details, key+": "+compact(f[key]))
		}
	}
	at, _ := f["expires"].(string)
	q.expires, _ = time.Parse(time.RFC3339Nano, at)
	c.questions, c.note = append(c.questions, q), ""
	c.choose(now)
}

// choose has one of them be chosen.
func (c *choice) choose(now time.Time) {
	if c.at() >= 0 {
		return
	}
	if c.id = ""; len(c.questions) > 0 {
		c.id, c.moved = c.questions[0].id, now
	}
}

func (c *choice) at() int {
	return slices.IndexFunc(c.questions, func(q question) bool { return q.id == c.id })
}

// drop removes the questions that nobody can answer any more.
func (c *choice) drop(now time.Time, gone func(q question) bool) {
	c.questions = slices.DeleteFunc(c.questions, func(q question) bool {
		return gone(q) || !q.expires.IsZero() && !now.Before(q.expires)
	})
	c.choose(now)
}

// key does what a key is for; it reports whether watch ends.
func (c *choice) key(ctx context.Context, k byte, events *socket.Client, now time.Time) (end bool) {
	at := c.at()
	switch answer, known := answerKeys[k]; {
	case k == keyInterrupt, k == keyQuit:
		return true
	case at < 0:
	case k == keyUp || k == keyDown:
		step := len(c.questions) - 1
		if k == keyDown {
			step = 1
		}
		c.id, c.moved = c.questions[(at+step)%len(c.questions)].id, time.Time{}
	case !known:
	case now.Sub(c.moved) < unread:
		c.note = "this question has just come: read it, and press the key again"
	default:
		q := c.questions[at]
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := events.Call(ctx, actions.Confirm.Name, actions.ConfirmParams{ID: q.id, Allow: answer.allow, Remember: answer.remember}, nil)
		cancel()
		if c.note = answer.said + ": " + q.line; err != nil {
			c.note = "not answered: " + err.Error()
		}
		if err == nil || protocol.CodeOf(err) == protocol.InvalidParams { // it waits no longer
			c.drop(now, func(o question) bool { return o.id == q.id })
		}
	}
	return false
}

// lines are what the table shows of them, at most so many.
func (c *choice) lines(most int, typed bool) []string {
	if len(c.questions) == 0 && c.note == "" {
		return nil
	}
	list := []string{""}
	if n := len(c.questions); n > 0 {
		help := "answer with browserd confirm ID"
		if typed {
			help = keysHelp
		}
		list = append(list, fmt.Sprintf("%d WAIT FOR AN ANSWER (%s)", n, help))
	}
	at := max(c.at(), 0)
	for i, q := range c.questions[min(at, len(c.questions)):] {
		mark := "  "
		if i == 0 {
			mark = "> "
		}
		list = append(list, mark+q.id+" "+q.session+" "+q.line)
		if i == 0 {
			for _, d := range q.details {
				list = append(list, "    "+d)
			}
		}
	}
	if c.note != "" {
		list = append(list, c.note)
	}
	return list[:min(len(list), max(most, 2))]
}
