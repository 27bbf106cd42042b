package session

import (
	"context"
	"time"

	"github.com/browserd/browserd/recording"
)

// recordings are where sessions are recorded.
type recordings struct {
	store   *recording.Store // nil: nowhere
	version string
	redact  func(agent string) recording.Redact
}

// KeepRecordings has sessions recorded into store. redact returns what takes the secrets out that
// an agent was given. Call it once, before the first session is opened.
func (m *Manager) KeepRecordings(store *recording.Store, version string, redact func(agent string) recording.Redact) {
	m.recordings = recordings{store, version, redact}
}

// Recordings returns the recordings of all sessions, also of those that have ended; nil: there
// are none.
func (m *Manager) Recordings() *recording.Store { return m.recordings.store }

// Recorder returns what records a session; nil where recordings are kept nowhere.
func (m *Manager) Recorder(s *Session) *recording.Recorder {
	r := m.recordings
	if r.store == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recorder == nil {
		o := recording.Options{Agent: s.agent, Session: s.name, Version: r.version, Width: 1280, Height: 720, Redact: r.redact(s.agent)}
		if v := s.options.Viewport; v != nil {
			o.Width, o.Height = v.Width, v.Height
		}
		s.recorder = r.store.New(o)
	}
	return s.recorder
}

// recordingEnds is how long the end of a recording may take when its session ends.
const recordingEnds = 5 * time.Second

// endRecording ends what is recorded of a session that ends.
func (m *Manager) endRecording(s *Session) {
	r := recorderOf(s)
	if !r.On() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordingEnds)
	defer cancel()
	s.turns.drain(ctx)
	if err := r.Close(ctx); err != nil {
		m.log.Warn("ending a recording", "session", s.name, "error", err)
	}
}

// recorderOf returns what records the session; nil: nothing has yet.
func recorderOf(s *Session) *recording.Recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recorder
}
