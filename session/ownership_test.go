package session

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// endsWith notes in which order a page is dropped and closed.
type endsWith struct {
	fakePage
	did []string
}

func (p *endsWith) Drop()                       { p.did = append(p.did, "dropped") }
func (p *endsWith) Close(context.Context) error { p.did = append(p.did, "closed"); return nil }

// Nothing of a session that another daemon took over is kept here; of others all is.
func TestWhatIsTakenIsDropped(t *testing.T) {
	for what, end := range map[string]func(m *Manager, s *Session){
		"dropped closed": func(m *Manager, s *Session) { m.Taken(s.agent, s.name) },
		"closed":         func(m *Manager, s *Session) { m.closeSession(s, reasonIdle) },
	} {
		m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler))
		s, err := m.Open("ann", Options{Name: "s"})
		if err != nil {
			t.Fatal(err)
		}
		page := &endsWith{}
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
