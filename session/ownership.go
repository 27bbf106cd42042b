package session

import (
	"context"
	"encoding/json"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Fleet records which of several daemons owns each session. Its errors are *protocol.Error. Any goroutine may
// call its methods.
type Fleet interface {
	// Claim makes this daemon the owner of a new session. An agent may have at most limit sessions at all
	// daemons together. checkpoint is the session's first checkpoint.
	Claim(ctx context.Context, agent, name string, limit int, checkpoint []byte) (epoch int64, err error)
	// Checkpoint stores a checkpoint, from which another daemon can continue the session of that epoch. storage
	// is the storage of its origins; nil: unchanged since the last call.
	Checkpoint(ctx context.Context, agent, name string, epoch int64, content, storage []byte) error
	// HandOver stores the last checkpoint and lets any daemon take the session over. After the error
	// outcome_unknown a daemon may take it over; after other errors none may.
	HandOver(ctx context.Context, agent, name string, epoch int64, content []byte) error
	// ResolveHandOver waits until it is known whether a HandOver that returned outcome_unknown was
	// done. It returns the session's new epoch, or 0 if the session was handed over. Its only error
	// is ctx's cause.
	ResolveHandOver(ctx context.Context, agent, name string, epoch int64) (now int64, err error)
	// KeepAnswers stores all answers of operators that hold for the life of the session of that epoch, unless
	// answers with a higher number are stored. Once it has returned nil, a daemon that continues the session
	// gets them. Error: fleet_unavailable; the answers may be stored nevertheless.
	KeepAnswers(ctx context.Context, agent, name string, epoch, number int64, content []byte) error
	// Release removes the session of that epoch, which has ended.
	Release(ctx context.Context, agent, name string, epoch int64)
	// CheckLease returns nil while this daemon may act, else fleet_unavailable. It does not block.
	CheckLease() error
	// CheckAgent is CheckLease for one agent. It also returns an error if this daemon cannot read all secrets
	// that the agent was given, since it could not redact them.
	CheckAgent(agent string) error
}

// CheckLease returns nil while the daemon may act for its sessions, else fleet_unavailable.
func (m *Manager) CheckLease() error {
	if m.Fleet == nil {
		return nil
	}
	return m.Fleet.CheckLease()
}

// CheckAgent is CheckLease for what is done for one agent.
func (m *Manager) CheckAgent(agent string) error {
	if m.Fleet == nil {
		return nil
	}
	return m.Fleet.CheckAgent(agent)
}

// hidesPages reports whether the session's agent may see nothing of its pages now. Without its lease the daemon
// does not know which secrets other daemons have given the agent since, and could not redact them. Call it
// after reading the page, not before.
func hidesPages(s *Session) bool { return s.manager.CheckAgent(s.agent) != nil }

// CheckLease returns nil while the daemon may act for the session. Otherwise it returns fleet_unavailable, or
// ErrMoved if another daemon owns the session by now or may take it over.
func (s *Session) CheckLease() error {
	s.mu.Lock()
	moved := s.moved
	s.mu.Unlock()
	if moved {
		return ErrMoved
	}
	return s.manager.CheckAgent(s.agent)
}

// epochOf returns the epoch of this daemon's ownership of the session; 0: the daemon is not part of a fleet.
func epochOf(s *Session) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// CloseTakenOver closes a session that another daemon has taken over. Clients get the event session_closing,
// and nothing of the session is saved. It does not block.
func (m *Manager) CloseTakenOver(agent, name string) {
	s, err := m.Get(agent, name)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.moved = true
	s.mu.Unlock()
	m.closeSession(s, reasonTaken)
}

// claim makes this daemon the owner of a session that is about to be opened.
func (m *Manager) claim(agent, name string, o Options) (epoch int64, err error) {
	if m.Fleet == nil {
		return 0, nil
	}
	o.Name, o.Follows = name, nil
	first, err := json.Marshal(checkpoint{Options: o, Created: time.Now()})
	if err != nil {
		return 0, err
	}
	return m.Fleet.Claim(context.Background(), agent, name, m.cfg.MaxPerAgent, first)
}

// release removes an ended session from the fleet's database. It does nothing if the session ends with the
// daemon or belongs to another daemon by now.
func (m *Manager) release(s *Session, reason string) {
	if m.Fleet != nil && reason != reasonShutdown && reason != reasonTaken && reason != reasonMoved {
		m.Fleet.Release(context.Background(), s.agent, s.name, epochOf(s))
	}
}

// QuotaOfDaemon is details.quota of the error session_limit if this daemon is full or drains. Another daemon
// may still open the session.
const QuotaOfDaemon = "session.max"

// reserve reserves a name for a session that is about to be opened, and checks the limits. Errors: those of
// Open.
func (m *Manager) reserve(agent, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return protocol.Errorf(protocol.ShuttingDown, "the daemon is shutting down")
	}
	if m.draining {
		return protocol.Errorf(protocol.SessionLimit, "the daemon is draining, and opens no session any more").With("quota", QuotaOfDaemon)
	}
	own := 0
	for k := range m.sessions {
		if k.agent == agent {
			own++
		}
	}
	for k := range m.opening {
		if k.agent == agent {
			own++
		}
	}
	open := len(m.sessions) + len(m.opening)
	if open >= m.cfg.Max {
		return protocol.Errorf(protocol.SessionLimit, "the daemon holds %d sessions, as many as session.max allows", open).
			With("quota", QuotaOfDaemon).With("limit", m.cfg.Max).With("open", open)
	}
	if own >= m.cfg.MaxPerAgent {
		return protocol.Errorf(protocol.SessionLimit, "this agent holds %d sessions, as many as session.max_per_agent allows", own).
			With("quota", "session.max_per_agent").With("limit", m.cfg.MaxPerAgent).With("open", own)
	}
	if k := (sessionKey{agent, name}); m.sessions[k] != nil || m.opening[k] {
		return protocol.Errorf(protocol.InvalidParams, "name %q: you have a session of that name", name).
			With("parameter", "name").Then("choose another name, or close that session")
	}
	m.opening[sessionKey{agent, name}] = true
	return nil
}
