package session

import (
	"context"

	"github.com/browserd/browserd/policy"
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

// OriginOfPage returns the origin of the page that is open, empty for none, which the client has
// been told of. invalid_params: the page has gone to another since the last answer.
func (s *Session) OriginOfPage(page Page) (string, error) {
	at := policy.Origin(page.State().URL)
	s.mu.Lock()
	told := s.told
	s.mu.Unlock()
	if at != told && told != "" {
		return "", protocol.Errorf(protocol.InvalidParams, "header_origins: left out, and the page has gone from %s to %s since the last answer", told, at).
			With("parameter", "header_origins").Then("name the origin that is to get the headers in header_origins")
	}
	return at, nil
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
