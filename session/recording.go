package session

import (
	"context"
	"time"

	"github.com/browserd/browserd/recording"
)

// recordings says where sessions are recorded, and how.
type recordings struct {
	store   *recording.Store // nil: sessions cannot be recorded
	version string
	redact  func(agent string) recording.Redact
}

// EnableRecordings lets sessions be recorded into store. redact returns the func that removes an agent's
// secrets from its recordings. Call it once, before the first session is opened.
func (m *Manager) EnableRecordings(store *recording.Store, version string, redact func(agent string) recording.Redact) {
	m.recordings = recordings{store, version, redact}
}

// Recordings returns the store of all recordings, including those of sessions that have ended; nil: sessions
// cannot be recorded.
func (m *Manager) Recordings() *recording.Store { return m.recordings.store }

// Recorder returns the recorder of a session; nil if sessions cannot be recorded.
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

// recordingCloseTimeout is how long closing a recording may take when its session ends.
const recordingCloseTimeout = 5 * time.Second

// endRecording closes the recording of a session that ends, if it is being recorded.
func (m *Manager) endRecording(s *Session) {
	r := recorderOf(s)
	if !r.On() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordingCloseTimeout)
	defer cancel()
	s.turns.drain(ctx)
	if err := r.Close(ctx); err != nil {
		m.log.Warn("ending a recording", "session", s.name, "error", err)
	}
}

// recorderOf returns the session's recorder; nil: Recorder was not called yet.
func recorderOf(s *Session) *recording.Recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recorder
}
