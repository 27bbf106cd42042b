package ledger

import (
	"maps"

	"github.com/browserd/browserd/protocol"
)

// Metrics are totals since the ledger was opened. They name no agent.
type Metrics struct {
	Charged  map[string]int        // calls that were charged, by command
	Refunded map[string]int        // calls that were refunded in full, by command
	Credits  map[string]int        // what the charged ones cost, by command
	Refused  map[protocol.Code]int // calls that were not allowed to begin, by error code
}

// Metrics returns a copy.
func (l *Ledger) Metrics() Metrics {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.metrics
	return Metrics{maps.Clone(f.Charged), maps.Clone(f.Refunded), maps.Clone(f.Credits), maps.Clone(f.Refused)}
}

func newMetrics() Metrics {
	return Metrics{map[string]int{}, map[string]int{}, map[string]int{}, map[protocol.Code]int{}}
}

// countRefusal counts a call that was not allowed to begin, and returns its error.
func (l *Ledger) countRefusal(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.metrics.Refused[protocol.CodeOf(err)]++
	return err
}

// countSettled counts a call that has ended.
func (l *Ledger) countSettled(command string, cost int, how Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if how == Refused {
		l.metrics.Refunded[command]++
		return
	}
	l.metrics.Charged[command]++
	l.metrics.Credits[command] += cost
}
