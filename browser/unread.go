package browser

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
)

// unreadFor is how long nothing may come of a body before it is taken to be one that
// the page does not read.
const unreadFor = 250 * time.Millisecond

// body is what comes of the answer to a fetch whose end Chromium tells only when the
// page has read it; many a page looks at the status, or at nothing. Guarded by the
// context's mu.
type body struct {
	tab      *tab
	cdp      *cdp.Session
	request  network.RequestID
	length   float64 // as its header says; -1: it does not
	received float64
	bytes    float64 // with the headers
	at       float64 // monotonic seconds, when the last of it came
	read     bool    // by the page, so that its end will be told
	idle     *time.Timer
}

// endsWhenRead says whether an answer is one whose body Chromium does not read by
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

// reading is the request with the body of its answer to come.
func (r request) reading(t *tab, s *cdp.Session, id network.RequestID, headers map[string]string, at, bytes float64) request {
	b := &body{tab: t, cdp: s, request: id, length: -1, bytes: bytes, at: at}
	if n, err := strconv.ParseFloat(header(headers, "Content-Length"), 64); err == nil {
		b.length = n
	}
	b.idle = time.AfterFunc(unreadFor, func() {
		t.c.mu.Lock()
		defer t.c.mu.Unlock()
		if !b.read {
			b.over()
		}
	})
	r.body = b
	return r
}

// comes takes it that some of the body has come. All of it is the end: nobody needs
// to wait for the page to read it. Of a body that is not read Chromium tells no part,
// so one that comes in parts is read, and its end will be told.
func (b *body) comes(at, bytes float64) {
	first := b.received == 0
	b.at, b.received, b.bytes = at, b.received+bytes, b.bytes+bytes
	switch {
	case b.length >= 0 && b.received >= b.length:
		b.over()
	case b.length >= 0 || !first:
		b.read = true
		b.idle.Stop()
	default:
		b.idle.Reset(unreadFor)
	}
}

// over ends the request, for who waits and for who asks what the page has asked for.
func (b *body) over() {
	b.idle.Stop()
	if !b.tab.ended(b.request) {
		return
	}
	params, _ := json.Marshal(map[string]any{"requestId": b.request, "timestamp": b.at, "encodedDataLength": b.bytes})
	b.tab.c.log.Record(b.tab.name, b.cdp, "Network.loadingFinished", params)
	b.tab.wake()
}
