package network

import (
	"testing"

	"github.com/chromedp/cdproto/network"

	"github.com/browserd/browserd/browser/cdp"
)

// An answer that comes in parts is read, and is waited for until its end is reported.
func TestRequestWhoseAnswerComesInParts(t *testing.T) {
	for _, c := range []struct {
		name    string
		headers map[string]string
		parts   int
	}{
		{"of a length", map[string]string{"content-length": "20"}, 1},
		{"of no length", nil, 2},
	} {
		r := NewRequests(&Log{}, func() {})
		id, s := network.RequestID("parts"), &cdp.Session{}
		r.Sent(s, RequestSent{RequestID: id, Type: "Fetch"})
		answer := ResponseReceived{RequestID: id, Timestamp: 1}
		answer.Response.Headers = map[string]string{"Cache-Control": "no-store"}
		for k, v := range c.headers {
			answer.Response.Headers[k] = v
		}
		answer.Response.EncodedDataLength = 100
		if r.Received("t1", s, answer) {
			t.Errorf("%s: it is over when it begins", c.name)
		}
		for range c.parts {
			r.Data(DataReceived{RequestID: id, Timestamp: 2, EncodedDataLength: 5})
		}
		r.mu.Lock()
		if of, ok := r.inFlight[id]; !ok || !of.body.read {
			t.Errorf("%s: it is not waited for", c.name)
		}
		r.mu.Unlock()
	}
}
