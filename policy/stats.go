package policy

import (
	"maps"

	"github.com/browserd/browserd/protocol"
)

// EgressStats counts what went through the proxy since it was made, in all
// session proxies, the closed ones too.
type EgressStats struct {
	Sessions int              // of sessions that are open now
	Open     int64            // connections, now
	Requests int64            // plain requests and tunnels that were let through
	Bytes    int64            // both directions together
	Refused  map[Reason]int64 // those that were not, by their reason
}

// Stats returns the proxy's counts.
func (e *Egress) Stats() EgressStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.total
	s.Refused = maps.Clone(e.total.Refused)
	for _, l := range e.byUser {
		if l.owner.Load() != nil {
			s.Sessions++
		}
		n := l.Stats()
		s.Open += n.Open
		s.Requests += n.Requests
		s.Bytes += n.Bytes
	}
	return s
}

// gone keeps what a session proxy that closes has counted.
func (s *EgressStats) gone(n SessionProxyStats) {
	s.Requests += n.Requests
	s.Bytes += n.Bytes
}

// refusedFor counts a refusal under its reason, which is always one of the
// policy's own words.
func (e *Egress) refusedFor(err *protocol.Error) {
	reason, _ := err.Details["reason"].(string)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.total.Refused == nil {
		e.total.Refused = map[Reason]int64{}
	}
	e.total.Refused[Reason(reason)]++
}
