package live

import (
	"context"
	"time"

	"github.com/browserd/browserd/session"
)

// hiddenEvery is how often it is looked whether a page that shows a secret still does.
const hiddenEvery = time.Second

const hiddenText = "The page shows a secret that the agent may use and not see: there is no picture of it by the agent's link. browserd view opens one that shows it."

// Secrets tells what of the agents' secrets pages show.
type Secrets struct {
	// Gave reports whether the agent was given any.
	Gave func(agent string) bool
	// Shown reports whether a picture of the session's page would show one. The caller has the session's turn.
	Shown func(ctx context.Context, agent string, of *session.Session) (bool, error)
}

// mayShow reports whether the picture that a stream has now may be sent, after a while where it may not. Who
// asked for the link may be the agent, who is shown no picture of a page that shows a secret. As with a
// screenshot the page is asked after the picture was taken.
func (s *socket) mayShow(ctx context.Context, st *stream) bool {
	if s.host.Secrets == nil || !s.host.Secrets.Gave(st.agent) {
		return true
	}
	shown, known := s.shown(ctx, st)
	if known && !shown {
		st.hidden = false
		return true
	}
	again := stateEvery
	if known {
		again = hiddenEvery
		if !st.hidden {
			st.hidden = true
			s.send(map[string]any{"t": "error", "id": st.id, "text": hiddenText})
		}
	}
	select {
	case <-time.After(again):
	case <-ctx.Done():
	}
	return false
}

// shown asks the page, if it can be asked now.
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
	shown, err := s.host.Secrets.Shown(ctx, st.agent, st.of)
	return shown, err == nil
}
