package policy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/internal/fakeweb"
	"github.com/browserd/browserd/protocol"
)

// outside is a fake internet for one test: a DNS server on loopback, and one
// web server for every address that is dialled. No packet leaves loopback.
type outside struct {
	t   testing.TB
	DNS *fakedns.Server
	// Serve answers every request; nil is an empty 200.
	Serve http.Handler

	web string

	mu      sync.Mutex
	dialled []string
}

func newOutside(t testing.TB) *outside {
	t.Helper()
	o := &outside{t: t, DNS: fakedns.Start(t)}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o.Serve != nil {
			o.Serve.ServeHTTP(w, r)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fakeweb.Serve(t, h, l)
	o.web = l.Addr().String()
	return o
}

// dial is Config.DialContext: it records the address and connects to the fake.
func (o *outside) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if _, err := netip.ParseAddrPort(address); err != nil || network != "tcp" {
		o.t.Errorf("dialled %s %s, want tcp IP:PORT", network, address)
		return nil, errors.New("no such address")
	}
	o.mu.Lock()
	o.dialled = append(o.dialled, address)
	o.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, o.web)
}

// hosts lists the addresses that were dialled since the last call, once each.
func (o *outside) hosts() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, a := range o.dialled {
		if h, _, _ := net.SplitHostPort(a); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	o.dialled = nil
	return out
}

// ownPublic is the public address of the tests' machine.
const ownPublic = "198.41.0.4"

// policy returns cfg's policy with the fake internet.
func (o *outside) policy(cfg Config, self ...netip.AddrPort) *Policy {
	o.t.Helper()
	cfg.Resolver = o.DNS.Addr.String()
	if cfg.DialContext == nil {
		cfg.DialContext = o.dial
	}
	cfg.Interfaces = func() ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr(ownPublic)}, nil
	}
	p, err := New(cfg, self...)
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

func (o *outside) gate(cfg Config) *Gate {
	o.t.Helper()
	g, err := o.policy(cfg).Gate(GateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	return g
}

// transport returns g's transport, which accepts the fake's certificate.
func (o *outside) transport(g *Gate) *http.Transport {
	tr := g.Transport()
	tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	o.t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// word is the reason of err as the cases write it: ok for none.
func word(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return "ok"
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *protocol.Error", err)
	}
	r, ok := e.Details["reason"].(string)
	if !ok {
		t.Fatalf("no details.reason in %s, %v", e, e.Details)
	}
	want := protocol.PolicyDenied
	switch Reason(r) {
	case ReasonBadURL:
		want = protocol.InvalidParams
	case ReasonDNS, ReasonConnect, ReasonUpstream:
		want = protocol.NavigationFailed
	}
	if e.Code != want {
		t.Errorf("%s has the code %s, want %s", r, e.Code, want)
	}
	return r
}
