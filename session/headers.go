package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// SetHeaders gives headers to the requests of the session's pages, in place of those
// before, and keeps them for a page that takes the place of this one. Only for the holder
// of the turn.
func (s *Session) SetHeaders(ctx context.Context, h *protocol.Headers) error {
	if page := s.Page(); page != nil && !gone(page) {
		if headed, ok := page.(Headed); ok {
			if err := headed.SetHeaders(ctx, h); err != nil {
				return err
			}
		}
	}
	s.options.Headers = h
	return nil
}

// Opening is told that the client is about to open an address of that origin, before it is
// opened: headers that wait for the session's first origin are that one's from now on,
// wherever it redirects. Only for the holder of the turn.
func (s *Session) Opening(ctx context.Context, origin string) error {
	if h := s.options.Headers; origin != "" && h.Waits() {
		return s.SetHeaders(ctx, &protocol.Headers{Values: h.Values, Origins: []string{origin}})
	}
	return nil
}
