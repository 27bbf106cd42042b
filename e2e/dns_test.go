//go:build linux

package e2e_test

import (
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// The name server stops answering, fails, loses the name, answers more than
// fits, and comes back: each command says in its time that the name could not
// be looked up, for Chromium and for the tools alike, and the next one works.
func TestDNSIsGoneAndBack(t *testing.T) {
	t.Parallel()
	dns := fakedns.Start(t)
	w := newPageServer(t)
	w.Config.SetKeepAlivesEnabled(false) // or the daemon's own connections are counted until they have been idle for long
	w.serve("/next", page("next", "<h1>Next</h1>"), "")
	u, err := url.Parse(w.URL)
	if err != nil {
		t.Fatal(err)
	}
	d := testdaemon.Start(t, testdaemon.Options{Env: steadily(
		"BROWSERD_POLICY__RESOLVER", dns.Addr.String(), "BROWSERD_POLICY__ALLOW_HOSTS", "127.0.0.1,*.faults.test",
	)})
	r := rowTest{newAgent(t, d), w, "dns"}
	r.works()
	before := vitalsOf(t, d)
	good := fakedns.Answer{A: []string{"127.0.0.1"}}
	many := fakedns.Answer{} // more than fits into a datagram: asked again over TCP
	for i := range 100 {
		many.A = append(many.A, fmt.Sprintf("127.0.1.%d", i+1))
	}
	many.A = append([]string{"127.0.0.1"}, many.A...)
	for i, tt := range []struct {
		name   string
		answer fakedns.Answer
		works  bool
	}{
		{"answers", good, true},
		{"says nothing", fakedns.Answer{Timeout: true}, false},
		{"SERVFAIL", fakedns.Answer{RCode: "SERVFAIL"}, false},
		{"NXDOMAIN", fakedns.Answer{RCode: "NXDOMAIN"}, false},
		{"REFUSED", fakedns.Answer{RCode: "REFUSED"}, false},
		{"no address", fakedns.Answer{}, false},
		{"is cut short", many, true},
		{"answers again", good, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := fmt.Sprintf("n%d.faults.test", i) // of its own: nobody has kept an answer
			dns.Set(host, tt.answer)
			at := "http://" + net.JoinHostPort(host, u.Port()) + "/next"
			within := 3 * time.Second
			if tt.answer.Timeout { // each waits for all of it
				within = time.Second
			}
			for _, method := range []string{"open", "http_request", "web_fetch"} {
				began := time.Now()
				_, err := r.try(method, params{"url": at, "timeout_ms": int(within.Milliseconds())})
				if took := time.Since(began); took > within+time.Second {
					t.Errorf("%s took %v", method, took)
				}
				switch code := protocol.CodeOf(err); {
				case tt.works && err != nil:
					t.Errorf("%s: %v", method, err)
				case !tt.works && code != protocol.NavigationFailed && code != protocol.FetchFailed && code != protocol.Timeout:
					t.Errorf("%s: %v, want that it could not be looked up", method, err)
				}
			}
			// The same name, once its server is well.
			dns.Set(host, good)
			r.open(at)
			r.do("http_request", params{"url": at})
		})
	}
	r.works()
	before.goroutines, before.files = before.goroutines+16, before.files+16 // Chromium keeps a connection to its proxy for each name
	asBefore(t, d, before)
}
