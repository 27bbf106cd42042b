package network

import (
	"testing"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// A session without headers, and one whose headers wait for their first origin, has no
// request paused: nothing is written to Chromium, here to a CDP session that is none.
func TestNoHeadersCostNothing(t *testing.T) {
	var r Routes
	none := []*cdp.Session{nil}
	for _, h := range []*protocol.Headers{nil, {}, {Values: map[string]string{"X-A": "1"}}, {Origins: []string{"https://a.example"}}, nil} {
		if err := r.SetHeaders(t.Context(), h, none); err != nil {
			t.Errorf("%+v: %v", h, err)
		}
		if wait := r.Pause(nil); wait != nil {
			t.Errorf("%+v: requests are paused", h)
		}
	}
}

func TestWhichRequestsGetHeaders(t *testing.T) {
	const own, other = "https://own.example", "https://other.example"
	h := &protocol.Headers{Values: map[string]string{"Authorization": "x"}, Origins: []string{own}}
	for _, test := range []struct {
		what, url string
		by        Initiator
		sent      map[string]string
		want      bool
	}{
		{"a tab goes there", own + "/", Initiator{Top: true}, nil, true},
		{"… by a stranger's link", own + "/", Initiator{Top: true}, map[string]string{"Referer": other + "/"}, true},
		{"… by a stranger's form", own + "/", Initiator{Top: true}, map[string]string{"Origin": other}, false},
		{"… by a form of no origin", own + "/", Initiator{Top: true}, map[string]string{"origin": "null"}, false},
		{"… by its own form", own + "/", Initiator{Top: true}, map[string]string{"Origin": own}, true},
		{"its own document asks", own + "/a", Initiator{Origin: own}, nil, true},
		{"its style sheet in a stranger's document", own + "/a", Initiator{Origin: other}, map[string]string{"Referer": own + "/"}, false},
		{"a stranger's style sheet", own + "/a", Initiator{Origin: own}, map[string]string{"Referer": other + "/"}, false},
		{"a sandboxed document", own + "/a", Initiator{Origin: "://"}, map[string]string{"Referer": own + "/"}, false},
		{"by its own redirect", own + "/a", Initiator{Origin: own, Through: []string{own}}, nil, true},
		{"by a stranger's redirect", own + "/a", Initiator{Origin: own, Through: []string{own, other}}, map[string]string{"Referer": own + "/"}, false},
		{"its frame goes elsewhere, or is sent there", own + "/a", Initiator{Origin: own, Before: own}, nil, true},
		{"a stranger's frame goes elsewhere by itself", own + "/a", Initiator{Origin: own, Before: other}, nil, false},
		{"a stranger's frame is sent elsewhere by its own document", own + "/a", Initiator{Origin: own, Before: other}, map[string]string{"Referer": own + "/"}, true},
		{"a stranger asks", own + "/a", Initiator{Origin: other}, nil, false},
		{"a stranger asks, in a frame that was its own", own + "/a", Initiator{Origin: own}, map[string]string{"referer": other + "/"}, false},
		{"nobody knows who asks", own + "/a", Initiator{}, nil, false},
		{"another origin", other + "/", Initiator{Top: true}, nil, false},
		{"another scheme", "http://own.example/", Initiator{Top: true}, nil, false},
		{"another port", own + ":8443/", Initiator{Top: true}, nil, false},
		{"its own port", own + ":443/", Initiator{Top: true}, nil, true},
		{"a name that begins alike", own + ".evil.test/", Initiator{Top: true}, nil, false},
		{"a user of that name", "https://own.example@evil.test/", Initiator{Top: true}, nil, false},
	} {
		e := PausedRequest{}
		e.Request.URL, e.Request.Headers = test.url, test.sent
		if got := given(h, e, test.by) != nil; got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
}
