package network

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	cdpnetwork "github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// resourceKinds are the kinds of requests that a route may name, in lower
// case, and Chromium's names for them (Network.ResourceType). The Fetch domain
// calls requests of fetch() XHR: the browser process does not tell them apart.
var resourceKinds = map[string]cdpnetwork.ResourceType{
	"document": "Document", "stylesheet": "Stylesheet", "image": "Image", "media": "Media", "font": "Font", "script": "Script",
	"xhr": "XHR", "fetch": "XHR", "eventsource": "EventSource", "manifest": "Manifest", "ping": "Ping", "other": "Other",
}

// Routes are what blocks or answers requests of a browser context, or gives them
// headers. The zero value has none. Any goroutine may call its methods.
type Routes struct {
	// Workers hold the scripts of shared workers back while there are any; set before the first use, nil in tests.
	Workers *WorkerScripts
	ended   bool // guarded by Workers.holding

	mu      sync.Mutex
	routes  []protocol.Route // never written to: replaced as a whole
	matched []int            // requests that each has matched
	headers *protocol.Headers
	held    map[fetch.RequestID]heldRequest // until it is known who asks
	// documents reports whether responses of documents are paused too (PauseDocuments).
	documents bool
}

// PausedRequest is what browserd needs of Fetch.requestPaused.
type PausedRequest struct {
	RequestID fetch.RequestID `json:"requestId"`
	FrameID   cdproto.FrameID `json:"frameId"`
	Type      string          `json:"resourceType"`
	Request   struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	} `json:"request"`
	// Of a request that is paused at its response:
	NetworkID cdproto.LoaderID    `json:"networkId"` // a document's request has its loader's id
	Status    int                 `json:"responseStatusCode"`
	Headers   []fetch.HeaderEntry `json:"responseHeaders"`
	Error     string              `json:"responseErrorReason"`
}

// Set makes routes the ones that hold from now on for requests of these cdp
// sessions, and waits for them. Sessions that attach later need Pause. Errors:
// invalid_params (an unknown kind).
func (r *Routes) Set(ctx context.Context, routes []protocol.Route, sessions []*cdp.Session) error {
	for _, route := range routes {
		if _, ok := resourceKinds[route.Kind]; !ok && route.Kind != "" {
			return protocol.Errorf(protocol.InvalidParams, "kind %s: accepts document, stylesheet, image, media, font, script, xhr, fetch, eventsource, manifest, ping or other", quote(route.Kind)).
				With("parameter", "kind")
		}
	}
	r.mu.Lock()
	r.routes, r.matched = slices.Clone(routes), make([]int, len(routes))
	for i, route := range routes {
		r.matched[i] = route.Hits
	}
	patterns := r.patterns()
	r.mu.Unlock()
	return r.pauseAll(ctx, sessions, patterns)
}

func (r *Routes) pauseAll(ctx context.Context, sessions []*cdp.Session, patterns []map[string]any) error {
	var pending []*cdp.Pending
	requests := slices.ContainsFunc(patterns, func(p map[string]any) bool { return p["requestStage"] == "Request" })
	if r.Workers != nil {
		if p := r.Workers.hold(r, requests); p != nil {
			pending = append(pending, p)
		}
	}
	for _, s := range sessions {
		pending = append(pending, pause(s, patterns))
	}
	for _, p := range pending {
		if err := p.Wait(ctx, nil); err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// Pause has Chromium pause the requests of a CDP session that match a route or go to an
// origin that gets headers (Fetch.enable), and returns what to wait for: nothing where
// there are neither.
func (r *Routes) Pause(s *cdp.Session) []*cdp.Pending {
	r.mu.Lock()
	patterns := r.patterns()
	r.mu.Unlock()
	if len(patterns) == 0 {
		return nil
	}
	return []*cdp.Pending{pause(s, patterns)}
}

// pause has Chromium pause the requests of a session that match one of these
// patterns alone.
func pause(s *cdp.Session, patterns []map[string]any) *cdp.Pending {
	if len(patterns) == 0 {
		return s.Send("Fetch.disable", cdproto.Empty{})
	}
	return s.Send(fetch.Enable.Method, map[string]any{"patterns": patterns})
}

// patterns returns what is paused: Fetch.RequestPattern. The caller holds mu.
func (r *Routes) patterns() []map[string]any {
	var patterns []map[string]any
	for _, r := range r.routes {
		// A backslash escapes in Chromium's patterns; in browserd's nothing does.
		p := map[string]any{"urlPattern": strings.ReplaceAll(r.Pattern, `\`, `\\`), "requestStage": "Request"}
		if r.Kind != "" {
			p["resourceType"] = resourceKinds[r.Kind]
		}
		patterns = append(patterns, p)
	}
	if r.headers != nil && len(r.headers.Values) > 0 {
		for _, origin := range r.headers.Origins {
			patterns = append(patterns, map[string]any{"urlPattern": origin + "/*", "requestStage": "Request"})
		}
	}
	if r.documents {
		patterns = append(patterns, map[string]any{"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"})
	}
	return patterns
}

// List returns the routes with the number of requests that each has matched.
func (r *Routes) List() []protocol.Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	routes := append([]protocol.Route{}, r.routes...)
	for i := range routes {
		routes[i].Hits = r.matched[i]
	}
	return routes
}

// Paused answers a paused request by the newest route that matches it, and lets it go
// on where none does, with its headers. The reader goroutine may call it: it writes on
// another one, since a full pipe must never hold the reader.
func (r *Routes) Paused(s *cdp.Session, e PausedRequest, by func() (Initiator, bool)) {
	route := r.match(e)
	switch {
	case route == nil:
		r.goOnOrHold(s, e, by)
	case route.Action == "block":
		go s.Send(fetch.FailRequest.Method, fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: cdpnetwork.ErrorReasonBlockedByClient})
	default:
		go s.Send(fetch.FulfillRequest.Method, answerOf(*route, e.RequestID))
	}
}

// match counts a request for the newest route that matches it, and returns the
// route; nil if none does.
func (r *Routes) match(e PausedRequest) *protocol.Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.routes) - 1; i >= 0; i-- {
		route := &r.routes[i]
		if (route.Kind == "" || string(resourceKinds[route.Kind]) == e.Type) && matchesURL(route.Pattern, e.Request.URL) {
			r.matched[i]++
			return route
		}
	}
	return nil
}

// phrase returns the phrase of a status.
func phrase(status int) string { return cmp.Or(http.StatusText(status), "Unknown") }

func answerOf(r protocol.Route, id fetch.RequestID) fetch.FulfillRequestParams {
	p := fetch.FulfillRequestParams{RequestID: id, ResponseCode: int64(r.Status), Body: []byte(r.Body)}
	if p.ResponseCode == 0 {
		p.ResponseCode = 200
	}
	// Chromium refuses a status that has no phrase of its own, and the request
	// would wait forever.
	p.ResponsePhrase = phrase(int(p.ResponseCode))
	for name, value := range r.Headers {
		p.ResponseHeaders = append(p.ResponseHeaders, &fetch.HeaderEntry{Name: name, Value: value})
	}
	return p
}

// matchesURL reports whether the whole of an address matches a pattern with * and ?.
// The fragment is not part of a request.
func matchesURL(pattern, address string) bool {
	address, _, _ = strings.Cut(address, "#")
	// The last * and what it has matched so far: on a mismatch it matches one more.
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
