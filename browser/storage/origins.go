package storage

import (
	"slices"
	"sync"
)

// MaxOrigins is how many origins a browser context keeps, and a state may hold.
const MaxOrigins = 100

// Origins are the origins that the tabs of one browser context showed: the first
// MaxOrigins of them. Any goroutine may call its methods; the zero value has none.
type Origins struct {
	mu   sync.Mutex // guards list; nothing is called while it is held
	list []string
}

// Add notes the origin of a URL. A URL that is not of http or https has none.
func (o *Origins) Add(address string) {
	origin := originOf(address)
	if origin == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.list) < MaxOrigins && !slices.Contains(o.list, origin) {
		o.list = append(o.list, origin)
	}
}

// List returns the origins, in the order in which they were first shown.
func (o *Origins) List() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.list)
}
