package session

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// closeRecorder records the calls of StopSaving and Close.
type closeRecorder struct {
	fakePage
	did []string
}

func (p *closeRecorder) StopSaving()                 { p.did = append(p.did, "dropped") }
func (p *closeRecorder) Close(context.Context) error { p.did = append(p.did, "closed"); return nil }

// A session that another daemon took over saves nothing here; other sessions do.
func TestTakenOverSessionSavesNothing(t *testing.T) {
	for what, end := range map[string]func(m *Manager, s *Session){
		"dropped closed": func(m *Manager, s *Session) { m.CloseTakenOver(s.agent, s.name) },
		"closed":         func(m *Manager, s *Session) { m.closeSession(s, reasonIdle) },
	} {
		m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler))
		s, err := m.Open("ann", Options{Name: "s"})
		if err != nil {
			t.Fatal(err)
		}
		page := &closeRecorder{}
		s.mu.Lock()
		s.page = page
		s.mu.Unlock()
		end(m, s)
		if err := m.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(page.did, " "); got != what {
			t.Errorf("%q, want %q", got, what)
		}
	}
}

// leaseFleet is a Fleet whose lease a test ends.
type leaseFleet struct {
	Fleet
	over atomic.Bool
}

func (l *leaseFleet) CheckLease() error {
	if l.over.Load() {
		return protocol.Errorf(protocol.FleetUnavailable, "the lease is over")
	}
	return nil
}

func (l *leaseFleet) CheckAgent(string) error { return l.CheckLease() }

// Without a lease the daemon does not know which secrets other daemons give an agent. So the agent gets no
// events of pages and no pages in lists. Operators do, and the agent still gets the session's own events.
func TestPagesAreHiddenWithoutLease(t *testing.T) {
	m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler))
	s, err := m.Open("ann", Options{Name: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ensure(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	fleet := &leaseFleet{}
	m.Fleet = fleet
	var told []string
	always := func(_, _ string) bool { return true }
	for _, agent := range []string{"ann", ""} {
		m.Listen(agent, always, func(e protocol.Event) { told = append(told, agent+" "+e.Type) })
		m.Relay(agent, always, func(e protocol.Event) { told = append(told, agent+" "+e.Type+" elsewhere") })
	}
	look := func() string {
		told = nil
		s.handleEvent(protocol.EventConsoleError, map[string]any{"text": "hunter2"})
		s.Emit(protocol.EventCommand, nil)
		m.emit(s, protocol.EventHandoff, nil)
		slices.Sort(told)
		var lists []string
		for what, page := range map[string]bool{
			"list": m.List("ann")[0].Page != nil, "overview": m.Overviews("ann", false)[0].Page != nil, "tabs": m.Overviews("ann", false)[0].Tabs != nil,
			"all": m.All()[0].Page != nil, "operator's": m.Overviews("", true)[0].Tabs != nil,
		} {
			if page {
				lists = append(lists, what)
			}
		}
		slices.Sort(lists)
		return strings.Join(append(told, lists...), ", ")
	}
	all := " command,  command elsewhere,  console_error,  console_error elsewhere,  handoff,  handoff elsewhere"
	anns := "ann command, ann command elsewhere, ann console_error, ann console_error elsewhere, ann handoff, ann handoff elsewhere"
	if want := all + ", " + anns + ", all, list, operator's, overview, tabs"; look() != want {
		t.Errorf("with a lease: %s, want %s", look(), want)
	}
	fleet.over.Store(true)
	if want := all + ", ann handoff, ann handoff elsewhere, all, operator's"; look() != want {
		t.Errorf("without: %s, want %s", look(), want)
	}
}

// silent is a Fleet that does not answer. At the second pass of a drain, its daemon's lease is over.
type silent struct {
	leaseFleet
	asked atomic.Int32
}

func (f *silent) HandOver(context.Context, string, string, int64, []byte) error {
	f.over.Store(f.asked.Add(1) > 2)
	return protocol.Errorf(protocol.FleetUnavailable, "the fleet's database does not answer")
}

// A drain does not wait for a database that is silent when the daemon's lease is over: other daemons may have its sessions
// then. The log says of each session once that it was not handed over, however often that was tried.
func TestADrainEndsWithTheLease(t *testing.T) {
	var log strings.Builder
	m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.NewTextHandler(&log, nil)))
	for _, name := range []string{"one", "two"} {
		if _, err := m.Open("ann", Options{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	m.Fleet = &silent{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	moved, stay, err := HandOverAll(ctx, m)
	if moved != 0 || stay != 2 || ctx.Err() != nil || protocol.CodeOf(err) != protocol.FleetUnavailable {
		t.Errorf("%d moved, %d stay, and the drain ended with %v, %v", moved, stay, err, ctx.Err())
	}
	if n := strings.Count(log.String(), "a session was not handed over"); n != 2 {
		t.Errorf("%d lines of two sessions:\n%s", n, log.String())
	}
	m.Fleet = nil
	if err := m.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
