package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// kept is what commands have set for all pages of the session: it is set again
// where another page takes the place of one that was lost. Only the holder of
// the turn touches it.
type kept struct {
	emulation protocol.Emulation
	emulated  bool
	routes    []protocol.Route
}

// Emulated remembers what a page was made to emulate. Only for the holder of
// the turn.
func (s *Session) Emulated(e protocol.Emulation) {
	s.kept.emulation, s.kept.emulated = e.Over(s.kept.emulation), true
}

// Routed remembers the page's routes. Only for the holder of the turn.
func (s *Session) Routed(routes []protocol.Route) { s.kept.routes = routes }

// again sets on a new page what was kept of the one before.
func (k *kept) again(ctx context.Context, page Page) error {
	live, ok := page.(Device)
	if !ok {
		return nil
	}
	if k.emulated {
		if err := live.Emulate(ctx, k.emulation); err != nil {
			return err
		}
	}
	if len(k.routes) > 0 {
		return live.SetRoutes(ctx, k.routes)
	}
	return nil
}
