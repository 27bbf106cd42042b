package network

import (
	"strings"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	cdpnetwork "github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Frame is what Chromium has reported of the document in a frame.
type Frame struct {
	Loader cdproto.LoaderID // empty: the document that a frame begins with
	// Origin is the one of the document's world, as Chromium serializes it: not that of its
	// URL where it is sandboxed. Empty: not reported yet.
	Origin string
}

// Initiator is who asks for what a request loads.
type Initiator struct {
	// Origin of the document or worker that asks: the one in the request's frame or, where
	// the request is for a document of a frame, the one in the frame above.
	Origin string
	// Before is the origin of the document that a frame has, where the request is for its
	// next one, which it may have asked for itself.
	Before string
	// Through are the origins that have redirected the request.
	Through []string
	// Top: a tab itself goes to another document.
	Top bool
}

// Initiator returns who asks for what a paused request loads, from what Network.requestWillBeSent
// has said of it, and reports whether all of it is known yet. own is the request's frame and
// parent the one above it; nil: there is none. The event names the document, so that neither
// a document that the frame has left nor the one that it gets next is taken for another.
func (r *Requests) Initiator(e PausedRequest, own, parent *Frame) (by Initiator, known bool) {
	if own != nil && parent == nil && e.Type == "Document" {
		return Initiator{Top: true}, true
	}
	r.mu.Lock()
	sent, ok := r.sent[cdpnetwork.RequestID(e.NetworkID)]
	r.mu.Unlock()
	if !ok || sent.URL != protocol.Cut(e.Request.URL, maxSentURL) {
		return by, e.NetworkID == "" // which Chromium reports nothing of, as while a page ends
	}
	by.Through = sent.through
	switch {
	case sent.loader == "": // a worker, or its script, which has the worker's origin
		by.Origin = policy.Origin(strings.TrimPrefix(sent.document, "blob:"))
		return by, true
	case own == nil:
		return by, false
	case e.Type == "Document":
		by.Origin, by.Before = parent.Origin, own.Origin
		return by, parent.Origin != "" && (own.Loader == "" || own.Origin != "")
	case own.Loader != "" && own.Loader != sent.loader: // by a document that the frame has left
		return by, true
	}
	by.Origin = own.Origin
	return by, own.Origin != ""
}

// given returns the headers that a paused request gets: those of the session, if it goes
// to one of their origins, and a document of one of them asks for it. Without the second
// a stranger's page could use them: it would read what an API shows to all origins.
// Only where a tab goes, nobody needs to have asked; what posts says so in Origin.
//
// Referer, which a page can leave out and not forge, names the style sheet where one asks.
// It also tells who has a frame go elsewhere: without it, that may be the frame's document.
func given(h *protocol.Headers, e PausedRequest, by Initiator) map[string]string {
	if h == nil || len(h.Values) == 0 || !h.Names(policy.Origin(e.Request.URL)) {
		return nil
	}
	before := by.Before
	for name, value := range e.Request.Headers {
		switch {
		case strings.EqualFold(name, "Origin"):
			if !h.Names(value) {
				return nil
			}
		case strings.EqualFold(name, "Referer") && !by.Top:
			if !h.Names(policy.Origin(value)) {
				return nil
			}
			before = ""
		}
	}
	if by.Top {
		return h.Values
	}
	for _, origin := range by.Through {
		if !h.Names(origin) {
			return nil
		}
	}
	if !h.Names(by.Origin) || before != "" && !h.Names(before) {
		return nil
	}
	return h.Values
}

// heldRequest is a paused request of which it is not known yet who asks.
type heldRequest struct {
	cdp *cdp.Session
	e   PausedRequest
	by  func() (Initiator, bool)
}

// maxHeld is how long a request waits until Chromium has said who asks for it: some
// milliseconds as a rule, since it comes from the page's process, and the request from the
// browser's. Then it goes on without headers.
const maxHeld = 2 * time.Second

// goOnOrHold lets a request go on with its headers, if any, as soon as it is known who asks.
func (r *Routes) goOnOrHold(s *cdp.Session, e PausedRequest, by func() (Initiator, bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.headers
	if h == nil || !h.Names(policy.Origin(e.Request.URL)) {
		go s.Send(fetch.ContinueRequest.Method, goOn(e, nil))
		return
	}
	if initiator, known := by(); known {
		go s.Send(fetch.ContinueRequest.Method, goOn(e, given(h, e, initiator)))
		return
	}
	if r.held == nil {
		r.held = map[fetch.RequestID]heldRequest{}
	}
	r.held[e.RequestID] = heldRequest{s, e, by}
	time.AfterFunc(maxHeld, func() {
		r.mu.Lock()
		_, held := r.held[e.RequestID]
		delete(r.held, e.RequestID)
		r.mu.Unlock()
		if held {
			s.Send(fetch.ContinueRequest.Method, goOn(e, nil))
		}
	})
}

// Retry lets the held requests go on of which it is known by now who asks. The reader
// goroutine may call it.
func (r *Routes) Retry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, q := range r.held {
		if initiator, known := q.by(); known {
			delete(r.held, id)
			go q.cdp.Send(fetch.ContinueRequest.Method, goOn(q.e, given(r.headers, q.e, initiator)))
		}
	}
}
