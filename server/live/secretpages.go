package live

import (
	"context"
	"time"

	"github.com/browserd/browserd/session"
)

// secretCheckInterval is how often a page that shows a secret is checked again.
const secretCheckInterval = time.Second

const secretNotice = "The page shows a secret that the agent may use and not see: there is no picture of it by the agent's link. browserd view opens one that shows it."

// Secrets tells whether pages show secrets of the agents.
type Secrets struct {
	// HasGiven reports whether the agent was given any secret.
	HasGiven func(agent string) bool
	// PageShows reports whether a picture of the session's tab of that name would show a secret of the agent. The
	// caller holds the session's turn.
	PageShows func(ctx context.Context, agent string, of *session.Session, tab string) (bool, error)
}

// mayShow reports whether the stream's current picture may be sent. If not, there is another one for the stream,
// sooner or later. The agent may have opened the view, and must not see a picture of a page that shows a secret.
// As with a screenshot, the page is checked after the picture was taken. The picture may be older than what the
// page shows: the first one after a page that showed a secret is taken after it was found to show none.
func (s *socket) mayShow(ctx context.Context, st *stream) bool {
	if s.host.Secrets == nil || !s.host.Secrets.HasGiven(st.agent) {
		return true
	}
	shown, known := s.shown(ctx, st)
	if known && !shown {
		st.hidden = false
		if !st.checked {
			st.checked = true
			st.viewer.Renew()
			return false
		}
		return true
	}
	defer st.viewer.Again()
	st.checked = false
	again := stateInterval
	if known {
		again = secretCheckInterval
		if !st.hidden {
			st.hidden = true
			s.send(map[string]any{"t": "error", "id": st.id, "text": secretNotice})
		}
	}
	select {
	case <-time.After(again):
	case <-ctx.Done():
	}
	return false
}

// shown asks the page whether it shows a secret. known is false if the page cannot be asked now.
func (s *socket) shown(ctx context.Context, st *stream) (shown, known bool) {
	ctx, cancel := context.WithTimeout(ctx, snapshotWait)
	defer cancel()
	if inside, leave, ok := session.Control(st.of).Enter(ctx, s.view.Person(), true); ok {
		defer leave()
		ctx = inside
	} else {
		turn := st.of.TakeIdle()
		if turn == nil {
			return false, false
		}
		defer turn.End()
	}
	shown, err := s.host.Secrets.PageShows(ctx, st.agent, st.of, st.name)
	return shown, err == nil
}
