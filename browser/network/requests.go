package network

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"

	browsercdp "github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Requests are the requests of one tab that are under way and that its page may be
// waiting for. The reader goroutine writes them, by the events below, and a timer ends
// those whose body is pending; any goroutine may read them.
type Requests struct {
	log     *Log
	changed func() // called by the timer, without mu, when it has ended a request

	mu       sync.Mutex // guards all below; held briefly
	inFlight map[network.RequestID]request
	answered request                    // the last of them that ended
	sent     map[network.RequestID]Sent // all that run, whoever waits for them; at most maxSent
}

// Sent is what a request asks for.
type Sent struct {
	Method, URL string
	session     target.SessionID
	loader      cdp.LoaderID // of the document that asks, or that is asked for; empty: a worker asks
	document    string       // URL of the document or worker that asks
	through     []string     // origins that have redirected it; empty: one that is no http or https
}

const (
	maxSent    = 1000
	maxSentURL = 2000 // characters that are kept of an address
)

// request is a request that a page may be waiting for.
type request struct {
	asks    Sent
	kind    string           // Network.ResourceType
	session target.SessionID // that reports it
	since   time.Time
	ended   time.Time    // zero while it is under way
	body    *pendingBody // not nil: of an answer whose end is reported only to who reads it
}

// NewRequests returns the requests of a tab: none. changed is called, on a goroutine of
// its own, when a request has ended that no event ended.
func NewRequests(log *Log, changed func()) *Requests {
	return &Requests{log: log, changed: changed, inFlight: map[network.RequestID]request{}, sent: map[network.RequestID]Sent{}}
}

// awaited are the kinds of requests (Network.ResourceType) whose answers
// usually change what the page shows.
var awaited = map[string]bool{"Document": true, "Script": true, "Stylesheet": true, "XHR": true, "Fetch": true}

// RequestSent is the event Network.requestWillBeSent.
type RequestSent struct {
	RequestID network.RequestID `json:"requestId"`
	LoaderID  cdp.LoaderID      `json:"loaderId"`
	FrameID   cdp.FrameID       `json:"frameId"`
	Type      string            `json:"type"`
	Document  string            `json:"documentURL"`
	Request   struct {
		URL    string `json:"url"`
		Method string `json:"method"`
	} `json:"request"`
	Redirect *struct { // not nil: the request goes on from this answer
		URL string `json:"url"`
	} `json:"redirectResponse"`
}

// Sent reports whether the request is one that a page may be waiting for.
func (r *Requests) Sent(s *browsercdp.Session, e RequestSent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sent) >= maxSent {
		clear(r.sent) // their ends have not been reported
	}
	if !strings.HasPrefix(e.Request.URL, policy.ChallengeURL) {
		sent := Sent{Method: e.Request.Method, URL: protocol.Cut(e.Request.URL, maxSentURL), session: s.ID(), loader: e.LoaderID, document: protocol.Cut(e.Document, maxSentURL)}
		if e.Redirect != nil {
			sent.through = append(r.sent[e.RequestID].through, policy.Origin(e.Redirect.URL))
		}
		r.sent[e.RequestID] = sent
	}
	if !awaited[e.Type] {
		return false
	}
	r.inFlight[e.RequestID] = request{kind: e.Type, session: s.ID(), since: time.Now(), asks: r.sent[e.RequestID]}
	return true
}

// ResponseReceived is the event Network.responseReceived.
type ResponseReceived struct {
	RequestID network.RequestID `json:"requestId"`
	LoaderID  cdp.LoaderID      `json:"loaderId"`
	FrameID   cdp.FrameID       `json:"frameId"`
	Timestamp float64           `json:"timestamp"`
	Type      string            `json:"type"`
	Response  struct {
		Status            int               `json:"status"`
		MimeType          string            `json:"mimeType"`
		Headers           map[string]string `json:"headers"`
		EncodedDataLength float64           `json:"encodedDataLength"`
	} `json:"response"`
}

// Received takes the beginning of an answer to a request of the tab, and reports whether
// the request is over by it.
func (r *Requests) Received(tab string, s *browsercdp.Session, e ResponseReceived) (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, ok := r.inFlight[e.RequestID]
	switch {
	case !ok:
	case e.Response.MimeType == "text/event-stream", of.kind == "Fetch" && e.Response.MimeType == "application/x-ndjson":
		// A stream never ends by itself: nobody waits for it.
		r.end(e.RequestID)
		return true
	case of.kind == "Fetch" && endsWhenRead(e.Response.Headers):
		of.body = r.pending(tab, s, e)
		r.inFlight[e.RequestID] = of
	}
	return false
}

// DataReceived is the event Network.dataReceived.
type DataReceived struct {
	RequestID         network.RequestID `json:"requestId"`
	Timestamp         float64           `json:"timestamp"`
	EncodedDataLength float64           `json:"encodedDataLength"`
}

// Data takes a part of a body, and reports whether the request is over by it.
func (r *Requests) Data(e DataReceived) (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, ok := r.inFlight[e.RequestID]
	return ok && of.body != nil && r.received(of.body, e.Timestamp, e.EncodedDataLength)
}

// End takes it that a request has ended, and says of which kind it was, where it was
// under way.
func (r *Requests) End(id network.RequestID) (kind string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end(id)
}

// Fail returns what a request asked for that has failed, or was answered with an error,
// once.
func (r *Requests) Fail(id network.RequestID) (of Sent, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, ok = r.sent[id]
	delete(r.sent, id)
	return of, ok
}

// Pending returns the requests that a page may be waiting for, made after that time, the
// oldest first.
func (r *Requests) Pending(at time.Time) (list []protocol.PendingRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.inFlight {
		if of.since.After(at) {
			list = append(list, protocol.PendingRequest{Method: of.asks.Method, URL: of.asks.URL, MS: time.Since(of.since).Milliseconds()})
		}
	}
	slices.SortFunc(list, func(a, b protocol.PendingRequest) int { return cmp.Compare(b.MS, a.MS) })
	return list
}

func (r *Requests) end(id network.RequestID) (kind string, ok bool) {
	delete(r.sent, id)
	of, ok := r.inFlight[id]
	if ok {
		delete(r.inFlight, id)
		of.ended = time.Now()
		r.answered = of
	}
	return of.kind, ok
}

// Clear forgets all requests: the document that made them was left, or their ends will
// not be reported.
func (r *Requests) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.inFlight)
}

// Forget forgets the requests of a CDP session that has ended, since nobody reports their
// ends, and reports whether there were any.
func (r *Requests) Forget(id target.SessionID) (any bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for request, of := range r.sent {
		if of.session == id {
			delete(r.sent, request)
		}
	}
	for request, of := range r.inFlight {
		if of.session == id {
			delete(r.inFlight, request)
			any = true
		}
	}
	return any
}

// InFlight returns how many requests are under way.
func (r *Requests) InFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.inFlight)
}

// InFlightSince reports whether a request is under way that was made after that time.
func (r *Requests) InFlightSince(at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.inFlight {
		if of.since.After(at) {
			return true
		}
	}
	return false
}

// LastEnded says when the request that ended last was made, and when it ended.
func (r *Requests) LastEnded() (since, ended time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered.since, r.answered.ended
}
