package ledger

import (
	"maps"

	"github.com/browserd/browserd/protocol"
)

// Figures are sums since the ledger was opened, without a word of who it was.
type Figures struct {
	Charged  map[string]int        // calls that were charged, by command
	Refunded map[string]int        // calls that got everything back, by command
	Credits  map[string]int        // what the charged ones cost, by command
	Refused  map[protocol.Code]int // calls that might not begin, by the error's code
}

// Figures returns a copy.
func (l *Ledger) Figures() Figures {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.figures
	return Figures{maps.Clone(f.Charged), maps.Clone(f.Refunded), maps.Clone(f.Credits), maps.Clone(f.Refused)}
}

func newFigures() Figures {
	return Figures{map[string]int{}, map[string]int{}, map[string]int{}, map[protocol.Code]int{}}
}

// countRefusal counts a call that might not begin, and returns why.
func (l *Ledger) countRefusal(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.figures.Refused[protocol.CodeOf(err)]++
	return err
}

// countSettled counts a call that has ended.
func (l *Ledger) countSettled(command string, cost int, how Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if how == Refused {
		l.figures.Refunded[command]++
		return
	}
	l.figures.Charged[command]++
	l.figures.Credits[command] += cost
}
