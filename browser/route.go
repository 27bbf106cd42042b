package browser

import (
	"context"
	"net/http"
	"slices"
	"strings"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// resourceKinds are the kinds of requests that a route may name, in small
// letters, and Chromium's own words for them (Network.ResourceType). Requests
// of fetch() are held up as XHR: the browser process does not tell them apart.
var resourceKinds = map[string]network.ResourceType{
	"document": "Document", "stylesheet": "Stylesheet", "image": "Image", "media": "Media", "font": "Font", "script": "Script",
	"xhr": "XHR", "fetch": "XHR", "eventsource": "EventSource", "manifest": "Manifest", "ping": "Ping", "other": "Other",
}

// SetRoutes makes routes what becomes of the requests of the session's pages,
// those that are open and those to come. Requests are held up for it
// (Fetch.enable) only while there are routes, and only those that fit one.
// Errors: invalid_params (a kind that there is not).
func (c *Context) SetRoutes(ctx context.Context, routes []protocol.Route) error {
	for _, r := range routes {
		if _, ok := resourceKinds[r.Kind]; !ok && r.Kind != "" {
			return protocol.Errorf(protocol.InvalidParams, "kind %s: takes document, stylesheet, image, media, font, script, xhr, fetch, eventsource, manifest, ping or other", quote(r.Kind)).
				With("parameter", "kind")
		}
	}
	c.mu.Lock()
	c.routes, c.taken = slices.Clone(routes), make([]int, len(routes))
	for i, r := range routes {
		c.taken[i] = r.Hits
	}
	var sessions []*cdp.Session
	for _, t := range c.tabs {
		sessions = append(sessions, t.cdp)
		for _, child := range t.children {
			sessions = append(sessions, child)
		}
	}
	for _, w := range c.workers {
		sessions = append(sessions, w)
	}
	c.mu.Unlock()
	var pending []*cdp.Pending
	for _, s := range sessions {
		pending = append(pending, holdUp(s, routes))
	}
	for _, p := range pending {
		if err := p.Wait(ctx, nil); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// holdUp has Chromium hold the requests of a session that fit a route.
func holdUp(s *cdp.Session, routes []protocol.Route) *cdp.Pending {
	if len(routes) == 0 {
		return s.Send("Fetch.disable", cdproto.Empty{})
	}
	patterns := make([]map[string]any, 0, len(routes))
	for _, r := range routes {
		// A backslash escapes in Chromium's patterns; here nothing does.
		p := map[string]any{"urlPattern": strings.ReplaceAll(r.Pattern, `\`, `\\`), "requestStage": "Request"}
		if r.Kind != "" {
			p["resourceType"] = resourceKinds[r.Kind]
		}
		patterns = append(patterns, p)
	}
	return s.Send(fetch.Enable.Method, map[string]any{"patterns": patterns})
}

// Routes are the session's routes with what they have taken so far.
func (c *Context) Routes() []protocol.Route {
	c.mu.Lock()
	defer c.mu.Unlock()
	routes := append([]protocol.Route{}, c.routes...)
	for i := range routes {
		routes[i].Hits = c.taken[i]
	}
	return routes
}

// paused answers a request that is held up, by the newest route that fits it.
func (t *tab) paused(s *cdp.Session, e struct {
	RequestID fetch.RequestID `json:"requestId"`
	Type      string          `json:"resourceType"`
	Request   struct {
		URL string `json:"url"`
	} `json:"request"`
}) {
	if t.priming.Load() {
		return
	}
	routes := t.c.routes
	var route *protocol.Route
	n := 0
	for i := range routes {
		r := &routes[i]
		if (r.Kind == "" || string(resourceKinds[r.Kind]) == e.Type) && matchesURL(r.Pattern, e.Request.URL) {
			route, n = r, i
		}
	}
	// Written apart from the reader, which a full pipe must never hold.
	switch {
	case route == nil:
		go s.Send(fetch.ContinueRequest.Method, fetch.ContinueRequestParams{RequestID: e.RequestID})
	case route.Action == "block":
		t.c.taken[n]++
		go s.Send(fetch.FailRequest.Method, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
	default:
		t.c.taken[n]++
		go s.Send(fetch.FulfillRequest.Method, answerOf(*route, e.RequestID))
	}
}

func answerOf(r protocol.Route, id fetch.RequestID) fetch.FulfillRequestParams {
	p := fetch.FulfillRequestParams{RequestID: id, ResponseCode: int64(r.Status), Body: []byte(r.Body)}
	if p.ResponseCode == 0 {
		p.ResponseCode = 200
	}
	// Chromium refuses a status that has no phrase of its own, and the request waits for ever.
	if p.ResponsePhrase = http.StatusText(int(p.ResponseCode)); p.ResponsePhrase == "" {
		p.ResponsePhrase = "Unknown"
	}
	for name, value := range r.Headers {
		p.ResponseHeaders = append(p.ResponseHeaders, &fetch.HeaderEntry{Name: name, Value: value})
	}
	return p
}

// matchesURL says whether an address fits a pattern with * and ?, whole. The
// fragment is not part of what is asked for.
func matchesURL(pattern, address string) bool {
	address, _, _ = strings.Cut(address, "#")
	// The last * and what it has taken so far: when it does not fit, it takes one more.
	p, a, star, taken := 0, 0, -1, 0
	for a < len(address) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, taken = p, a
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == address[a]):
			p, a = p+1, a+1
		case star >= 0:
			taken++
			p, a = star+1, taken
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
