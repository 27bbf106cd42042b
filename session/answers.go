package session

import "context"

// Answer keeps an operator's answer to key, a comparable value, for as long as
// the session lives. Any goroutine may call it.
func (s *Session) Answer(key any, allow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[any]bool{}
	}
	s.answers[key] = allow
}

// Answered returns the answer to key that is kept; known is false where there
// is none. Any goroutine may call it.
func (s *Session) Answered(key any) (allow, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	allow, known = s.answers[key]
	return allow, known
}

// AtEnd calls f, in a goroutine of its own, when the session has ended; at once
// where it has. Any goroutine may call it.
func (s *Session) AtEnd(f func()) { context.AfterFunc(s.life, f) }
