package live

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/browser/person"
	"github.com/browserd/browserd/fleet"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// Times of cards of sessions at other daemons of the fleet.
const (
	cardInterval      = 200 * time.Millisecond // between two pictures of a card, at least
	cardCheckInterval = 300 * time.Millisecond // between two checks whether the card may still be shown, at most
	cardRetryDelay    = time.Second            // before a card without a picture is asked for again
)

// StreamCard sends pictures of a tab of a session to a view of all sessions at another daemon of the fleet. An empty tab
// is the selected one. show sends a picture and returns when the viewer has drawn it. StreamCard returns when ctx ends,
// show fails, the tab is gone, or the card may not be shown: a *protocol.Error says why. Only operators have a view of all
// sessions, so nothing that is hidden from an agent is hidden from them.
func StreamCard(ctx context.Context, of *session.Session, tab string, show func(*person.Frame) error) error {
	if err := checkCard(of); err != nil {
		return err
	}
	page, ok := of.Page().(session.Viewable)
	if !ok {
		return protocol.Errorf(protocol.Unsupported, "no picture: it has no page in Chromium")
	}
	surface, err := page.Surface(tab)
	if err != nil {
		return protocol.Errorf(protocol.Unsupported, "no picture: the tab is gone")
	}
	viewer := surface.Watch(person.Card)
	defer viewer.Close()
	for {
		wait, cancel := context.WithTimeout(ctx, cardCheckInterval)
		f, err := viewer.Next(wait)
		over := err != nil && wait.Err() == nil // the tab was closed
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if f != nil {
			f = person.Carded(f)
		}
		if err := checkCard(of); err != nil { // after the picture was taken
			return err
		}
		if over {
			return protocol.Errorf(protocol.Unsupported, "no picture: the tab is gone")
		}
		if f == nil {
			continue
		}
		next := time.After(cardInterval)
		if err := show(f); err != nil {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// checkCard returns nil if a view at another daemon may show the session now. It may not while a person drives.
func checkCard(of *session.Session) error {
	said := (*protocol.Error)(nil)
	switch err := of.CheckLease(); {
	case errors.Is(err, session.ErrMoved):
		return protocol.Errorf(protocol.SessionNotFound, "the session has moved")
	case errors.As(err, &said) && said.Details["reason"] == fleet.ReasonUnreadable:
		return protocol.Errorf(protocol.FleetUnavailable, "its node cannot read all that the agent was given of its secrets")
	case err != nil:
		return protocol.Errorf(protocol.FleetUnavailable, "its node has no lease")
	}
	c := session.Control(of)
	if c.Status().Driver != "" || c.DroveAt(time.Now().Add(-redactionDelay)) {
		return protocol.Errorf(protocol.HandedOff, "a person drives")
	}
	select {
	case <-of.Done():
		return protocol.Errorf(protocol.SessionNotFound, "the session has ended")
	default:
		return nil
	}
}

// card is a tab of a session at another daemon of the fleet, as a view here shows it.
type card struct {
	id   uint32
	of   fleet.Card
	stop context.CancelFunc
	acks chan struct{} // 1: the page acknowledges a picture while nobody receives
}

// watchCard starts to show a tab of a session at another daemon.
func (s *socket) watchCard(m *clientMessage) error {
	if m.Whole {
		return protocol.Errorf(protocol.Unsupported, "the session is at another node: press Look there")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if room, err := s.checkCapacity(m.ID); !room {
		return err
	}
	ctx, stop := context.WithCancel(s.ctx)
	c := &card{id: m.ID, of: fleet.Card{Agent: m.Agent, Session: m.Session, Tab: m.Tab}, stop: stop, acks: make(chan struct{}, 1)}
	s.cards[m.ID] = c
	s.work.Go(func() { s.runCard(ctx, c) })
	return nil
}

// handleCardMessage handles a message of the page about a card.
func (s *socket) handleCardMessage(c *card, what string) error {
	switch what {
	case "ack":
		select {
		case c.acks <- struct{}{}:
		default:
		}
	case "unwatch":
		s.mu.Lock()
		delete(s.cards, c.id)
		s.mu.Unlock()
		c.stop()
	default:
		return protocol.Errorf(protocol.Unsupported, "the session is at another node: press Look there")
	}
	return nil
}

// runCard shows a card until ctx ends. It asks for the card again each time the stream ends, and tells the page why there
// is no picture.
func (s *socket) runCard(ctx context.Context, c *card) {
	said := ""
	for {
		shown, err := s.streamCard(ctx, c)
		if ctx.Err() != nil {
			return
		}
		if shown {
			said = ""
		}
		if e := (*protocol.Error)(nil); errors.As(err, &e) && e.Message != said {
			said = e.Message
			s.send(map[string]any{"t": "dark", "id": c.id, "text": protocol.Cut(said, 300)})
		}
		select {
		case <-time.After(cardRetryDelay):
		case <-ctx.Done():
			return
		}
	}
}

// streamCard shows a card until its stream ends. shown: there was a picture. The error says why there is none now; nil: the
// page need not be told.
func (s *socket) streamCard(ctx context.Context, c *card) (shown bool, err error) {
	at := s.host.nodeOf(c.of.Agent, c.of.Session)
	switch {
	case at == nil:
		return false, protocol.Errorf(protocol.SessionNotFound, "no node has the session now")
	case at.Silent:
		return false, protocol.Errorf(protocol.FleetUnavailable, "no word of node %s", at.Node)
	}
	unreached := protocol.Errorf(protocol.FleetUnavailable, "node %s is not reached", at.Node)
	w, err := s.host.Watch(ctx, at.ID, c.of)
	if err != nil {
		return false, unreached
	}
	defer w.Close()
	for {
		p, err := w.Next(ctx)
		switch {
		case errors.Is(err, fleet.ErrLost):
			return shown, unreached
		case err != nil || p == nil:
			return shown, err
		}
		if !s.sendFrame(c.id, p.Width, p.Height, p.JPEG) {
			return shown, nil
		}
		shown = true
		select {
		case <-c.acks:
		case <-ctx.Done():
			return shown, nil
		}
		w.Ack()
	}
}
