package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Ended says how a session ended, for the first command after it.
type Ended struct {
	Session string    `json:"session"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"` // as in the event session_closing
}

// String is the sentence for an error: "session \"work\" ended at 10:02:03 UTC, since it
// was idle for session.idle_timeout".
func (e Ended) String() string {
	why := "since session_close closed it"
	if e.Reason == reasonIdle {
		why = "since it was idle for session.idle_timeout"
	}
	return fmt.Sprintf("session %q ended at %s, %s", e.Session, e.At.UTC().Format("15:04:05 UTC"), why)
}

// Reasons of the event session_closing.
const (
	reasonIdle     = "idle_timeout"
	reasonClosed   = "closed"
	reasonShutdown = "shutdown"
)

// maxEnded is how many ended sessions are remembered of an agent, the last ones.
const maxEnded = 50

// remember notes that the agent's session has ended. The caller holds mu.
func (m *Manager) remember(s *Session, reason string) {
	list := append(m.ended[s.agent], Ended{Session: s.name, At: time.Now(), Reason: reason})
	m.ended[s.agent] = list[max(0, len(list)-maxEnded):]
}

// Ended is how the agent's session of that name ended last, nil where it is open or
// nothing is known of it.
func (m *Manager) Ended(agent, name string) *Ended {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[owned{agent, name}] != nil {
		return nil
	}
	for _, e := range slices.Backward(m.ended[agent]) {
		if e.Session == name {
			return &e
		}
	}
	return nil
}

// notFound is the error of a name that is no session's.
func notFound(name string, ended *Ended) error {
	if ended == nil {
		return protocol.Errorf(protocol.SessionNotFound, "there is no session %q", short(name)).With("session", short(name))
	}
	return protocol.Errorf(protocol.SessionNotFound, "%v", *ended).
		With("session", ended.Session).With("ended_at", ended.At).With("reason", ended.Reason).
		Then("open the page again: open begins a new session, session_open one of that name")
}
