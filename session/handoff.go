package session

import (
	"context"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/handoff"
)

// Control returns who drives a session. Any goroutine may call its methods; TakeOver is for
// a person who takes over.
func Control(s *Session) *handoff.Control { return &s.control }

// takeOverWait is how long what runs in a session may take to end when a person takes over.
const takeOverWait = 10 * time.Second

// TakeOver makes the person the driver of the session. Its running command ends with
// handed_off, and so does what comes while the person drives. When it returns nil the person
// has the session's turn, until they drive no longer and nothing that they began runs. Errors: handed_off (somebody else drives), session_not_found,
// timeout.
func (m *Manager) TakeOver(ctx context.Context, s *Session, p handoff.Person) error {
	if s.control.Drives(p) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, takeOverWait,
		protocol.Errorf(protocol.Timeout, "what runs in the session did not end within %v", takeOverWait))
	defer cancel()
	turn, err := s.turns.takeAnyway()
	if err != nil {
		return err
	}
	if err := s.control.Take(p); err != nil {
		turn.End()
		return err
	}
	if err := turn.Wait(ctx); err != nil {
		turn.End()
		s.control.HandBack(p)
		return err
	}
	page, ok := s.Page().(Viewable)
	if !ok {
		turn.End()
		s.control.HandBack(p)
		return protocol.Errorf(protocol.Unsupported, "the session has no page in Chromium")
	}
	m.mu.Lock()
	closing := m.closing
	if !closing {
		m.work.Add(1)
	}
	m.mu.Unlock()
	if closing {
		turn.End()
		s.control.HandBack(p)
		return errClosed()
	}
	if err := page.PersonDrives(ctx, true); err != nil {
		m.log.Warn("a page did not confirm the hand-off: what the person types there may not be masked", "session", s.name, "error", err)
	}
	_, end := s.BeginCommand(context.Background(), CommandPerson)
	recorder := recorderOf(s)
	if recorder != nil {
		recorder.Pause()
	}
	s.control.Begin(p, func() { // the agent goes on when the page has hidden what was typed
		defer m.work.Done()
		page.PersonDrives(context.Background(), false)
		if recorder != nil {
			recorder.Resume()
		}
		end()
		turn.End()
	})
	return nil
}

// CommandPerson stands for the command of a session that a person drives (Overview.Command).
const CommandPerson = "a person"

// Stop closes the session since a person wants it closed: its agent is told so.
func (m *Manager) Stop(ctx context.Context, s *Session) {
	select {
	case <-m.closeSession(s, reasonStopped):
	case <-ctx.Done():
	}
}

// handedOff tells the agent, and the operators, of a hand-off.
func (m *Manager) handedOff(s *Session, now handoff.Status) {
	fields := map[string]any{"agent": s.agent, "state": string(now.State), "asked": now.Asked, "since": now.Since.UTC(), "until": now.Until.UTC()}
	for key, value := range map[string]string{"reason": now.Reason, "driver": now.Driver, "note": now.Note, "url": now.URL} {
		if value != "" {
			fields[key] = value
		}
	}
	m.emit(s, protocol.EventHandoff, fields)
}
