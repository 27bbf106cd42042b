package command_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// placed is a page at an address, which the session's checkpoint reads too.
type placed struct {
	session.Page
	url atomic.Pointer[string]
}

func (p *placed) goTo(url string)           { p.url.Store(&url) }
func (p *placed) State() protocol.Page      { return protocol.Page{URL: *p.url.Load(), Tab: "t1"} }
func (p *placed) Done() <-chan struct{}     { return nil }
func (p *placed) Restore() protocol.Restore { return protocol.Restore{URL: *p.url.Load()} }

func (p *placed) NewPage(context.Context, session.Options, func(string, map[string]any)) (session.Page, error) {
	return p, nil
}

// lease is a Fleet whose lease a test ends.
type lease struct {
	session.Fleet
	over    error
	checked func() // nil: nothing happens
}

func (l *lease) CheckLease() error {
	if l.checked != nil {
		l.checked()
	}
	return l.over
}

func (l *lease) CheckAgent(string) error { return l.CheckLease() }

func (l *lease) Checkpoint(context.Context, string, string, int64, []byte, []byte) error { return nil }

// noParams are those of the tests' commands.
type noParams struct{}

// A page state counts as reported only if the client was sent the answer that has it: not if the command failed
// or was cancelled after the answer was made, and not if it is part of another answer.
func TestReportedStateIsWhatWasSent(t *testing.T) {
	page, fleet := &placed{}, &lease{}
	page.goTo("http://a/")
	log := slog.New(slog.DiscardHandler)
	m := session.NewManager(session.Config{IdleTimeout: time.Hour, Max: 9, MaxPerAgent: 9, Queue: 9}, page, log)
	var meanwhile func(c *command.Call) error // when the answer is made
	look := command.Define(command.Row{Name: "look", Summary: "Looks.", Flags: command.Inspects}, func(ctx context.Context, c *command.Call, _ *noParams) (command.Result, error) {
		r := c.Result(page)
		return r, meanwhile(c)
	})
	group := command.Define(command.Row{Name: "group", Summary: "Looks."}, func(ctx context.Context, c *command.Call, _ *noParams) (struct{}, error) {
		_, err := c.Inner(ctx, "look", nil)
		return struct{}{}, err
	})
	r := &command.Runtime{Commands: command.Repertoire{group, look}, Sessions: m, Log: log}
	s, err := m.Open("ann", session.Options{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ensure(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	m.Fleet = fleet
	ctx, cancel := context.WithCancel(t.Context())
	send := func(ctx context.Context, method string, answering func(c *command.Call) error) (any, error) {
		t.Helper()
		meanwhile = answering
		job, err := r.Prepare(&command.Caller{Agent: "ann", Token: 1, Shared: true, Stateless: true}, nil, method, json.RawMessage(`{"session":"s"}`))
		if err != nil {
			t.Fatal(err)
		}
		return job.Run(ctx)
	}
	nothing := func(*command.Call) error { return nil }
	told := func() bool {
		t.Helper()
		result, err := send(t.Context(), "look", nothing)
		if err != nil {
			t.Fatal(err)
		}
		return result.(command.Result).Page.Told
	}
	told()
	if !told() {
		t.Fatal("the same place was told last")
	}
	for what, lose := range map[string]func(){
		"the lease ends": func() {
			_, err := send(t.Context(), "look", func(*command.Call) error {
				fleet.over = protocol.Errorf(protocol.FleetUnavailable, "the lease is over")
				return nil
			})
			if fleet.over = nil; protocol.CodeOf(err) != protocol.FleetUnavailable {
				t.Errorf("without a lease: %v", err)
			}
		},
		"it fails": func() {
			send(t.Context(), "look", func(*command.Call) error { return protocol.Errorf(protocol.InvalidParams, "no") })
		},
		"it is cancelled": func() {
			send(ctx, "look", func(*command.Call) error { cancel(); return nil })
		},
	} {
		page.goTo("http://a/")
		told()
		page.goTo("http://b/" + what)
		lose()
		if told() {
			t.Errorf("%s: the place counts as told", what)
		}
		if !told() {
			t.Errorf("%s: the place does not count as told when it is sent again", what)
		}
	}
	page.goTo("http://a/")
	told()
	page.goTo("http://b/")
	if _, err := send(t.Context(), "group", nothing); err != nil {
		t.Fatal(err)
	}
	if page.goTo("http://a/"); told() {
		t.Error("the place counts as told last, and a group told another one")
	}
}
