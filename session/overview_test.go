package session

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

// An overview has the agent's sessions, or those of all agents, with the command that holds the turn, the
// commands that wait, the tabs, and whether the page is lost.
func TestOverviews(t *testing.T) {
	m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler))
	opened := func(agent string, o Options) *Session {
		t.Helper()
		s, err := m.Open(agent, o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	works := opened("ann", Options{Name: "works"})
	lost := opened("ann", Options{Name: "lost"})
	opened("bob", Options{Name: "works", Source: "http"})
	for range 3 {
		if _, err := works.Take(false); err != nil {
			t.Fatal(err)
		}
	}
	_, end := works.BeginCommand(t.Context(), "click")
	page, err := lost.Ensure(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	page.(*fakePage).url = cart
	killChromium(lost)

	type seen struct {
		Agent, Session, Source, Command string
		Lost                            bool
		Waiting                         int
		Tabs                            []protocol.Tab
	}
	look := func(agent string, everybody bool) (list []seen) {
		for _, s := range m.Overviews(agent, everybody) {
			list = append(list, seen{s.Agent, s.Session, s.Source, s.Command, s.Lost, s.Waiting, s.Tabs})
		}
		return list
	}
	anns := []seen{
		{Agent: "ann", Session: "works", Source: "auto", Command: "click", Waiting: 2},
		{Agent: "ann", Session: "lost", Source: "chromium", Lost: true, Tabs: []protocol.Tab{{URL: cart, Selected: true}}},
	}
	bobs := seen{Agent: "bob", Session: "works", Source: "http"}
	if d := cmp.Diff(anns, look("ann", false)); d != "" {
		t.Errorf("ann sees (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]seen{bobs}, look("bob", false)); d != "" {
		t.Errorf("bob sees (-want +got):\n%s", d)
	}
	if d := cmp.Diff(append(anns, bobs), look("olga", true)); d != "" {
		t.Errorf("an operator sees (-want +got):\n%s", d)
	}
	if got := look("olga", false); got != nil {
		t.Errorf("olga has no session and sees %v", got)
	}
	end()
	if got := look("ann", false)[0]; got.Command != "" || got.Waiting != 3 {
		t.Errorf("between two commands: %+v", got)
	}
}

// A session expires even if its overview is asked for all the time.
func TestOverviewsAreNoUseOfSession(t *testing.T) {
	m := NewManager(Config{Max: 1, MaxPerAgent: 1, Queue: 9, IdleTimeout: 200 * time.Millisecond}, &fakeChromium{}, slog.New(slog.DiscardHandler))
	s, err := m.Open("ann", Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	others.Go(func() { // commands come and go meanwhile, for a while
		for range 50 {
			_, end := s.BeginCommand(ctx, "click")
			end()
		}
	})
	others.Go(func() {
		for ctx.Err() == nil {
			m.Overviews("ann", false)
		}
	})
	defer others.Wait()
	defer stop()
	select {
	case <-s.life.Done():
	case <-time.After(10 * time.Second):
		t.Error("the session is still there")
	}
}

// A command whose turn comes after its session has ended gets a context that has ended.
func TestCommandOfEndedSessionDoesNotBegin(t *testing.T) {
	m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler))
	s, err := m.Open("ann", Options{Name: "ends"})
	if err != nil {
		t.Fatal(err)
	}
	<-m.closeSession(s, reasonStopped)
	for range 100 {
		ctx, end := s.BeginCommand(t.Context(), "click")
		if ctx.Err() == nil {
			t.Error("its context has not ended")
		}
		end()
	}
}
