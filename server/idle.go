package server

import (
	"context"
	"time"
)

// AwaitIdle returns nil when the daemon has had no session, no command and no WebSocket for
// that long, or ctx's error. It polls, since being idle is the absence of events.
func (s *Server) AwaitIdle(ctx context.Context, long time.Duration) error {
	every := min(max(long/20, 10*time.Millisecond), 30*time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	since, seen := time.Now(), s.dispatch.admittedCount()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		begun := s.dispatch.admittedCount()
		if begun != seen || s.inUse() {
			since, seen = time.Now(), begun
		}
		if time.Since(since) >= long {
			return nil
		}
	}
}

// inUse reports whether the daemon has a session, a command or a WebSocket.
func (s *Server) inUse() bool {
	s.mu.Lock()
	sockets := len(s.sockets)
	s.mu.Unlock()
	return sockets > 0 || s.dispatch.busy() || s.runtime.Sessions.Count() > 0
}
