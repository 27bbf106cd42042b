package policy

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/browserd/browserd/protocol"
)

// GateOptions are in what one session's egress differs from the policy.
type GateOptions struct {
	// AllowedDomains are the only hosts that the session may reach, written as in
	// Config.AllowedDomains. Empty means no further restriction.
	AllowedDomains []string
	// Additions are what operators have added to the policy for the session, or for its agent; nil: nothing.
	Additions *Additions
	// Upstream is the proxy that the session's connections go through.
	Upstream Upstream
}

// Gate is one session's egress: the policy with the session's own restrictions, and with
// what operators have added for it alone. All traffic of a session goes through its Gate. A
// Gate holds no resources and need not be closed. Any goroutine may use it.
type Gate struct {
	policy    *Policy
	session   list             // empty: no restriction of the session's own
	additions *Additions       // nil: nothing is added for the session
	upstream  *sessionUpstream // nil: none of the session's own
}

// state returns the policy's state with the additions of the Gate.
func (g *Gate) state() *state {
	s, added := g.policy.state.Load(), g.additions.all()
	if len(added.allow) == 0 && len(added.domains) == 0 {
		return s
	}
	with := *s
	with.add(added)
	return &with
}

// Gate returns a Gate with the options of o. An invalid value in o is an
// InvalidParams error that quotes it.
func (p *Policy) Gate(o GateOptions) (*Gate, error) {
	domains, err := parseAllowedDomains(o.AllowedDomains)
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "allowed_domains: %w", err).With("parameter", "allowed_domains").
			Then("send a list such as [\"example.com\", \"*.example.com\"]")
	}
	upstream, err := o.Upstream.parse()
	if err != nil {
		return nil, err
	}
	return &Gate{policy: p, session: domains, additions: o.Additions, upstream: upstream}, nil
}

// CheckURL checks whether raw may be opened and returns its normalized form. Every source
// gets that form, so that no parser finds another host in it than the one that was
// checked. Only http, https and about:blank are allowed. A private host or address, or a
// port that is not in Config.Ports, needs an entry in Config.AllowHosts. The daemon's own
// address and the clouds' metadata services are always refused.
//
// raw is read as a browser reads it (WHATWG URL): 2130706433, 0x7f.1,
// 0177.0.0.1 and fullwidth digits are all 127.0.0.1. Unlike a browser,
// CheckURL refuses user info, control characters other than tabs, and URLs
// without a scheme; the error's next step then names the URL that was probably meant
// (see Complete).
//
// CheckURL does not look names up: it allows a public name whose address is private, and
// Dial refuses it. Redirects are checked hop by hop, each with CheckURL of what Join
// makes of its Location.
//
// The error is a *protocol.Error: InvalidParams if raw is no URL, PolicyDenied otherwise.
// details.reason is a Reason, details.host the host as it was parsed, details.address the
// address if that decided, and details.config what an operator would have to add, if that
// would help. CheckURL does not block.
func (g *Gate) CheckURL(ctx context.Context, raw string) (canonical string, err error) {
	if err := ctx.Err(); err != nil {
		return "", protocol.Errorf(protocol.Cancelled, "checking a URL: %w", err)
	}
	u, err := parseURL(raw)
	if err != nil {
		return "", err
	}
	if u.blank {
		return "about:blank", nil
	}
	if err := g.checkTarget(u); err != nil {
		return "", err
	}
	return u.String(), nil
}

// Transport returns an HTTP transport whose every connection is made by Dial:
// no proxy from the environment, no decompression, at most 64 KiB of headers.
// It follows no redirect: an http.Client above it must check each hop. The
// caller owns it, and calls CloseIdleConnections when done.
func (g *Gate) Transport() *http.Transport {
	t := &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return g.Dial(ctx, network, address)
		},
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           32,
		MaxIdleConnsPerHost:    4,
	}
	if trust := g.policy.trust; trust != nil {
		t.TLSClientConfig = trust.config("", nil)
		if len(trust.insecure) > 0 {
			t.DialTLSContext = trust.dialTLS(g, t.TLSHandshakeTimeout)
		}
	}
	return t
}
