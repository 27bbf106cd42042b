package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Ended describes how a session ended.
type Ended struct {
	Session string    `json:"session"`
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"` // as in the event session_closing
}

// String returns the sentence for an error: "session \"work\" ended at 10:02:03 UTC, since it
// was idle for session.idle_timeout".
func (e Ended) String() string {
	why := "since session_close closed it"
	switch e.Reason {
	case reasonIdle:
		why = "since it was idle for session.idle_timeout"
	case reasonTaken:
		why = "since another daemon of the fleet took it over"
	}
	if e.Reason == reasonStopped {
		why = "since a person stopped it"
	}
	return fmt.Sprintf("session %q ended at %s, %s", e.Session, e.At.UTC().Format("15:04:05 UTC"), why)
}

// Reasons of the event session_closing.
const (
	reasonIdle     = "idle_timeout"
	reasonClosed   = "closed"
	reasonShutdown = "shutdown"
	reasonTaken    = "taken_over" // by another daemon of the fleet
	reasonStopped  = "stopped"    // by a person, in the live view
	reasonMoved    = "moved"      // handed over to another daemon; clients get session_moved
)

// maxEnded is the number of ended sessions that are remembered for each agent.
const maxEnded = 50

// remember records that the agent's session has ended. The caller holds mu.
func (m *Manager) remember(s *Session, reason string) {
	list := append(m.ended[s.agent], Ended{Session: s.name, At: time.Now(), Reason: reason})
	m.ended[s.agent] = list[max(0, len(list)-maxEnded):]
}

// Remember records how a session of the agent ended at another daemon of the fleet.
func (m *Manager) Remember(agent string, e Ended) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := append(m.ended[agent], e)
	m.ended[agent] = list[max(0, len(list)-maxEnded):]
}

// Ended returns how the agent's last session of that name ended. It returns nil if the
// session is open or unknown.
func (m *Manager) Ended(agent, name string) *Ended {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[sessionKey{agent, name}] != nil {
		return nil
	}
	for _, e := range slices.Backward(m.ended[agent]) {
		if e.Session == name {
			return &e
		}
	}
	return nil
}

// notFound returns the error for a name that belongs to no open session.
func notFound(name string, ended *Ended) error {
	if ended == nil {
		return protocol.Errorf(protocol.SessionNotFound, "there is no session %q", truncateName(name)).With("session", truncateName(name))
	}
	return protocol.Errorf(protocol.SessionNotFound, "%v", *ended).
		With("session", ended.Session).With("ended_at", ended.At).With("reason", ended.Reason).
		Then("open the page again: open begins a new session, session_open one of that name")
}
