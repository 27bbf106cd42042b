package session

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// endsWith notes in which order a page is dropped and closed.
type endsWith struct {
	fakePage
	did []string
}

func (p *endsWith) Drop()                       { p.did = append(p.did, "dropped") }
func (p *endsWith) Close(context.Context) error { p.did = append(p.did, "closed"); return nil }

// A session that goes on here has no page before what its agent was given can be hidden.
func TestNoPageBeforeItsSecretsAreHidden(t *testing.T) {
	m := NewManager(Config{Max: 9, MaxPerAgent: 9, Queue: 9, IdleTimeout: time.Hour}, &fakeChromium{}, slog.New(slog.DiscardHandler))
	no := protocol.Errorf(protocol.SecretDenied, "no value")
	m.Stores.Given = func(agent string, names []string) error {
		if agent != "ann" || !slices.Equal(names, []string{"shop"}) {
			t.Errorf("%s %v", agent, names)
		}
		if no == nil {
			return nil
		}
		return no
	}
	content, err := json.Marshal(checkpoint{Secrets: secretUse{Given: []string{"shop"}}})
	if err != nil {
		t.Fatal(err)
	}
	if busy, err := m.Recover("ann", "s", func() (*TakenOver, error) { return &TakenOver{Content: content}, nil }); busy || err != nil {
		t.Fatal(busy, err)
	}
	s, err := m.Get("ann", "s")
	if err != nil {
		t.Fatal(err)
	}
	for _, fresh := range []bool{false, true} {
		if page, err := s.Ensure(t.Context(), fresh); protocol.CodeOf(err) != protocol.SecretDenied {
			t.Errorf("fresh %v: %v, %v", fresh, page, err)
		}
	}
	no = nil
	for range 2 {
		if _, err := s.Ensure(t.Context(), true); err != nil {
			t.Error(err)
		}
	}
}

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
