package session

import (
	"context"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// SetHeaders sets the extra headers of the session's requests, replacing earlier ones. A
// later page of the session gets them too. Only for the holder of the turn.
func (s *Session) SetHeaders(ctx context.Context, h *protocol.Headers) error {
	if page := s.Page(); page != nil && !isLost(page) {
		if headed, ok := page.(HeaderSetter); ok {
			if err := headed.SetHeaders(ctx, h); err != nil {
				return err
			}
		}
	}
	s.options.Headers = h
	return nil
}

// OriginOfPage returns the origin of the open page; empty: none. Error: invalid_params if the page has moved to
// another origin than the last answer named.
func (s *Session) OriginOfPage(page Page) (string, error) {
	at := policy.Origin(page.State().URL)
	s.mu.Lock()
	url := s.reportedURL
	s.mu.Unlock()
	reported := policy.Origin(url)
	if at != reported && reported != "" {
		return "", protocol.Errorf(protocol.InvalidParams, "header_origins: left out, and the page has gone from %s to %s since the last answer", reported, at).
			With("parameter", "header_origins").Then("name the origin that is to get the headers in header_origins")
	}
	return at, nil
}

// Opening is called before the client opens a URL of that origin. Headers that were set without origins are
// bound to the first origin that is opened, even if that redirects to another one. Only for the holder of the
// turn.
func (s *Session) Opening(ctx context.Context, origin string) error {
	if h := s.options.Headers; origin != "" && h.Waits() {
		return s.SetHeaders(ctx, &protocol.Headers{Values: h.Values, Origins: []string{origin}})
	}
	return nil
}
