package session

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// SetHeaders sets the extra headers of the session's requests, replacing earlier ones. A
// later page of the session gets them too. Only for the holder of the turn.
func (s *Session) SetHeaders(ctx context.Context, h *protocol.Headers) error {
	if page := s.Page(); page != nil && !gone(page) {
		if headed, ok := page.(HeaderSetter); ok {
			if err := headed.SetHeaders(ctx, h); err != nil {
				return err
			}
		}
	}
	s.options.Headers = h
	return nil
}

// Opening is called before the client opens a URL of that origin. Headers without origins
// are bound to the first origin that is opened, even if it redirects elsewhere. Only for
// the holder of the turn.
func (s *Session) Opening(ctx context.Context, origin string) error {
	if h := s.options.Headers; origin != "" && h.Waits() {
		return s.SetHeaders(ctx, &protocol.Headers{Values: h.Values, Origins: []string{origin}})
	}
	return nil
}
