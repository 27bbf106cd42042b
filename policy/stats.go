package policy

import (
	"maps"

	"github.com/browserd/browserd/protocol"
)

// EgressStats counts the traffic of all session proxies, closed ones included, since the
// proxy was made.
type EgressStats struct {
	Sessions int              // sessions that are open now
	Open     int64            // connections that are open now
	Requests int64            // plain requests and tunnels that were allowed
	Bytes    int64            // both directions together
	Refused  map[Reason]int64 // refused ones, by reason
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

// addClosed adds the counts of a session proxy that closes.
func (s *EgressStats) addClosed(n SessionProxyStats) {
	s.Requests += n.Requests
	s.Bytes += n.Bytes
}

// refusedFor counts a refusal by its reason, which is always one of this package's
// constants.
func (e *Egress) refusedFor(err *protocol.Error) {
	reason, _ := err.Details["reason"].(string)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.total.Refused == nil {
		e.total.Refused = map[Reason]int64{}
	}
	e.total.Refused[Reason(reason)]++
}
