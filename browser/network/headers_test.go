package network

import (
	"testing"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// A session without headers, and one whose headers wait for their first origin, has no
// request paused: nothing is written to Chromium, here to a cdp session that is none.
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
		by        Asker
		sent      map[string]string
		want      bool
	}{
		{"a tab goes there", own + "/", Asker{Top: true}, nil, true},
		{"… by a stranger's link", own + "/", Asker{Top: true}, map[string]string{"Referer": other + "/"}, true},
		{"… by a stranger's form", own + "/", Asker{Top: true}, map[string]string{"Origin": other}, false},
		{"… by a form of no origin", own + "/", Asker{Top: true}, map[string]string{"origin": "null"}, false},
		{"… by its own form", own + "/", Asker{Top: true}, map[string]string{"Origin": own}, true},
		{"its own document asks", own + "/a", Asker{Origin: own}, nil, true},
		{"a document before was another's", own + "/a", Asker{Origin: other}, map[string]string{"Referer": own + "/"}, true},
		{"a stranger asks", own + "/a", Asker{Origin: other}, nil, false},
		{"a stranger asks, in a frame that was its own", own + "/a", Asker{Origin: own}, map[string]string{"referer": other + "/"}, false},
		{"nobody knows who asks", own + "/a", Asker{}, nil, false},
		{"another origin", other + "/", Asker{Top: true}, nil, false},
		{"another scheme", "http://own.example/", Asker{Top: true}, nil, false},
		{"another port", own + ":8443/", Asker{Top: true}, nil, false},
		{"its own port", own + ":443/", Asker{Top: true}, nil, true},
		{"a name that begins alike", own + ".evil.test/", Asker{Top: true}, nil, false},
		{"a user of that name", "https://own.example@evil.test/", Asker{Top: true}, nil, false},
	} {
		e := PausedRequest{}
		e.Request.URL, e.Request.Headers = test.url, test.sent
		if got := given(h, e, test.by) != nil; got != test.want {
			t.Errorf("%s: %v, want %v", test.what, got, test.want)
		}
	}
}
