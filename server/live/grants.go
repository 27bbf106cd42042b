package live

import (
	"context"
	_ "embed"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

//go:embed grants.js
var grantsJS string

// OwnUser reports whether the viewer is the daemon's own user, and so the person whose browser browser.attach
// uses: the link came by their socket. No link that a token asks for lets anybody see or grant tabs of theirs.
func (v *View) OwnUser() bool { return v.Operator && v.Token == 0 }

// GrantsOf returns what lists and grants the tabs of the viewer's own.
func GrantsOf(v *View, of *session.Session) (session.Granter, error) {
	if !v.OwnUser() {
		return nil, protocol.Errorf(protocol.PolicyDenied, "only the person whose browser it is grants tabs of theirs: browserd view opens their view")
	}
	page := of.Page()
	grants, ok := page.(session.Granter)
	if !ok || !page.State().Attached {
		return nil, protocol.Errorf(protocol.Unsupported, "the session has no page in your own browser")
	}
	return grants, nil
}

// personTabs sends the list of the person's own tabs, once for each time that it is asked for.
func (s *socket) personTabs(m *sent) error {
	of, err := s.host.Find(m.Agent, m.Session)
	if err != nil {
		return err
	}
	grants, err := GrantsOf(s.view, of)
	if err != nil {
		return err
	}
	select {
	case s.doing <- struct{}{}:
	default:
		return protocol.Errorf(protocol.RateLimited, "the page has not done what you asked for before")
	}
	s.work.Go(func() {
		defer func() { <-s.doing }()
		ctx, cancel := context.WithTimeout(s.ctx, snapshotWait)
		defer cancel()
		tabs, err := grants.PersonTabs(ctx)
		if err != nil {
			s.send(map[string]any{"t": "error", "text": s.message(err)})
			return
		}
		for i := range tabs {
			tabs[i].Title = protocol.Cut(tabs[i].Title, maxTitle)
		}
		s.send(map[string]any{"t": "person_tabs", "agent": m.Agent, "session": m.Session, "tabs": tabs})
	})
	return nil
}
