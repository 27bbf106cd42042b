package network

import (
	"context"
	"net/http"
	"strings"

	"github.com/chromedp/cdproto/fetch"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// SetHeaders makes h the headers that the requests of these cdp sessions get from now on,
// as far as they go to its origins, and waits for that. Only those requests are paused for it.
// Sessions that attach later need Pause.
func (r *Routes) SetHeaders(ctx context.Context, h *protocol.Headers, sessions []*cdp.Session) error {
	r.mu.Lock()
	before := r.patterns()
	r.headers = h
	after, routes := r.patterns(), r.routes
	r.mu.Unlock()
	if len(before) == len(routes) && len(after) == len(routes) {
		return nil // neither had an origin
	}
	return pauseAll(ctx, sessions, after)
}

// Asker is who asks for what a request loads, as far as is known.
type Asker struct {
	// Origin of the document that asks: the one in the request's frame or, where the
	// request is for a document of a frame, the one in the frame above. Empty: unknown.
	Origin string
	// Top: a tab itself goes to another document.
	Top bool
}

// given returns the headers that a paused request gets: those of the session, if it goes
// to one of their origins, and a document of one of them asks for it. Without the second
// a stranger's page could use them: it would read what an API shows to all origins.
// Only where a tab goes, nobody needs to have asked; what posts says so in Origin.
//
// Referer, which a page can leave out and not forge, goes before what was last heard of
// the frames.
func given(h *protocol.Headers, e PausedRequest, by Asker) map[string]string {
	if h == nil || len(h.Values) == 0 || !h.Names(policy.Origin(e.Request.URL)) {
		return nil
	}
	asks := by.Origin
	for name, value := range e.Request.Headers {
		switch {
		case strings.EqualFold(name, "Origin"):
			if !h.Names(value) {
				return nil
			}
		case strings.EqualFold(name, "Referer"):
			asks = policy.Origin(value)
		}
	}
	if !by.Top && !h.Names(asks) {
		return nil
	}
	return h.Values
}

// goOn lets a request go on with more headers. They are of this request alone: where it is
// redirected, Chromium drops them, and pauses what follows as a request of its own.
func goOn(e PausedRequest, more map[string]string) fetch.ContinueRequestParams {
	p := fetch.ContinueRequestParams{RequestID: e.RequestID}
	if len(more) == 0 {
		return p
	}
	own := map[string]bool{}
	for name, value := range more {
		own[http.CanonicalHeaderKey(name)] = true
		p.Headers = append(p.Headers, &fetch.HeaderEntry{Name: name, Value: value})
	}
	for name, value := range e.Request.Headers {
		if !own[http.CanonicalHeaderKey(name)] {
			p.Headers = append(p.Headers, &fetch.HeaderEntry{Name: name, Value: value})
		}
	}
	return p
}
