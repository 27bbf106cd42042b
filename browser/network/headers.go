package network

import (
	"context"
	"net/http"

	"github.com/chromedp/cdproto/fetch"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// SetHeaders makes h the headers that the requests of these CDP sessions get from now on,
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
	return r.pauseAll(ctx, sessions, after)
}

// goOn lets a request go on with more headers. They are of this request alone: where it is
// redirected, Chromium drops them, and pauses what follows as a request of its own. Referer
// is left out: Chromium would send it whole to wherever the request is redirected, and
// sends the page's own without it.
func goOn(e PausedRequest, more map[string]string) fetch.ContinueRequestParams {
	p := fetch.ContinueRequestParams{RequestID: e.RequestID}
	if len(more) == 0 {
		return p
	}
	own := map[string]bool{"Referer": true}
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
