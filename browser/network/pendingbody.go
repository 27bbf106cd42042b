package network

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
)

// pendingFor is how long nothing may come of a body before it is taken to be one that
// the page does not read.
const pendingFor = 250 * time.Millisecond

// pendingBody is the body of the answer to a fetch whose end Chromium reports only when
// the page has read it; many a page looks at the status alone. Guarded by
// the mutex of its Requests.
type pendingBody struct {
	cdp      *cdp.Session
	tab      string
	request  network.RequestID
	length   float64 // as its header says; -1: it does not
	received float64
	bytes    float64 // with the headers
	at       float64 // monotonic seconds, when the last of it came
	read     bool    // by the page, so that its end will be reported
	idle     *time.Timer
}

// endsWhenRead reports whether an answer is one whose body Chromium does not read by
// itself, because it may not be stored (FetchManager, BufferingBytesConsumer).
func endsWhenRead(headers map[string]string) bool {
	return strings.Contains(strings.ToLower(header(headers, "Cache-Control")), "no-store")
}

func header(headers map[string]string, name string) string {
	for n, v := range headers {
		if strings.EqualFold(n, name) {
			return v
		}
	}
	return ""
}

// pending returns the body to come of an answer. The caller holds mu.
func (r *Requests) pending(tab string, s *cdp.Session, e ResponseReceived) *pendingBody {
	b := &pendingBody{tab: tab, cdp: s, request: e.RequestID, length: -1, bytes: e.Response.EncodedDataLength, at: e.Timestamp}
	if n, err := strconv.ParseFloat(header(e.Response.Headers, "Content-Length"), 64); err == nil {
		b.length = n
	}
	b.idle = time.AfterFunc(pendingFor, func() {
		r.mu.Lock()
		over := !b.read && r.over(b)
		r.mu.Unlock()
		if over {
			r.changed()
		}
	})
	return b
}

// received takes it that some of the body has come, and reports whether the request is over
// by that. All of the body is the end: nobody needs to wait for the page to read it. Of a
// body that is not read Chromium reports no part, so one that comes in parts is read, and
// its end will be reported. The caller holds mu.
func (r *Requests) received(b *pendingBody, at, bytes float64) (over bool) {
	first := b.received == 0
	b.at, b.received, b.bytes = at, b.received+bytes, b.bytes+bytes
	switch {
	case b.length >= 0 && b.received >= b.length:
		return r.over(b)
	case b.length >= 0 || !first:
		b.read = true
		b.idle.Stop()
	default:
		b.idle.Reset(pendingFor)
	}
	return false
}

// over ends the request, here and in the log; false if it has ended. The caller holds mu.
func (r *Requests) over(b *pendingBody) bool {
	b.idle.Stop()
	if _, ok := r.end(b.request); !ok {
		return false
	}
	params, _ := json.Marshal(map[string]any{"requestId": b.request, "timestamp": b.at, "encodedDataLength": b.bytes})
	r.log.Record(b.tab, b.cdp, "Network.loadingFinished", params)
	return true
}
