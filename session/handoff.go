package session

import (
	"context"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session/handoff"
)

// Control returns the control of a session, which says who drives it: its agent or a person. Any goroutine may
// call its methods. To make a person the driver, call Manager.TakeOver.
func Control(s *Session) *handoff.Control { return &s.control }

// takeOverWait is how long a running command may take to end when a person takes over.
const takeOverWait = 10 * time.Second

// TakeOver makes the person the driver of the session. The running command ends with handed_off, and so do
// commands that come while the person drives. When TakeOver returns nil, the person has the session's turn,
// until they stop driving and everything that they began has ended. Errors: handed_off (somebody else drives),
// session_not_found, timeout, unsupported.
func (m *Manager) TakeOver(ctx context.Context, s *Session, p handoff.Person) error {
	if s.control.Drives(p) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, takeOverWait,
		protocol.Errorf(protocol.Timeout, "what runs in the session did not end within %v", takeOverWait))
	defer cancel()
	turn, err := s.turns.takeUnlimited()
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
	s.control.Begin(p, func() { // the agent gets the turn again when the page has masked what was typed
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

// CommandPerson is what Overview.Command and Info.Command show while a person drives the session.
const CommandPerson = "a person"

// Stop closes the session for a person in the live view. Its agent is told that a person stopped it.
func (m *Manager) Stop(ctx context.Context, s *Session) {
	select {
	case <-m.closeSession(s, reasonStopped):
	case <-ctx.Done():
	}
}

// handedOff emits the event of a hand-off to the agent and to operators.
func (m *Manager) handedOff(s *Session, now handoff.Status) {
	fields := map[string]any{"agent": s.agent, "state": string(now.State), "asked": now.Asked, "since": now.Since.UTC(), "until": now.Until.UTC()}
	for key, value := range map[string]string{"reason": now.Reason, "driver": now.Driver, "note": now.Note, "url": now.URL} {
		if value != "" {
			fields[key] = value
		}
	}
	m.emit(s, protocol.EventHandoff, fields)
}
