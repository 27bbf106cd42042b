package session

import "context"

// Answer stores an operator's answer under key, a comparable value, for the life of the
// session. Any goroutine may call it.
func (s *Session) Answer(key any, allow bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers == nil {
		s.answers = map[any]bool{}
	}
	s.answers[key] = allow
}

// Answered returns the answer stored under key. known is false if there is none. Any
// goroutine may call it.
func (s *Session) Answered(key any) (allow, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	allow, known = s.answers[key]
	return allow, known
}

// AtEnd calls f in its own goroutine when the session ends, or at once if it has ended.
// Any goroutine may call it.
func (s *Session) AtEnd(f func()) { context.AfterFunc(s.life, f) }
