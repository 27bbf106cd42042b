package live

import (
	"context"
	_ "embed"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

//go:embed grants.js
var grantsJS string

// OwnUser reports whether the viewer is the user who runs the daemon, and so the person whose browser
// browser.attach uses: they asked for the link through the daemon's own socket. A link that was asked for with
// a token never lets anybody see or grant the person's tabs.
func (v *View) OwnUser() bool { return v.Operator && v.Token == 0 }

// GrantsOf returns the page through which the viewer lists and grants tabs of their own browser. Errors:
// policy_denied, unsupported.
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

// personTabs sends the list of the person's own tabs once.
func (s *socket) personTabs(m *clientMessage) error {
	of, err := s.host.Find(m.Agent, m.Session)
	if err != nil {
		return err
	}
	grants, err := GrantsOf(s.view, of)
	if err != nil {
		return err
	}
	select {
	case s.inFlight <- struct{}{}:
	default:
		return protocol.Errorf(protocol.RateLimited, "the page has not done what you asked for before")
	}
	s.work.Go(func() {
		defer func() { <-s.inFlight }()
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
