package policy

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/browserd/browserd/protocol"
)

// GateOptions narrow one session's egress.
type GateOptions struct {
	// AllowedDomains are the only hosts that the session may reach, written as
	// in Config.AllowedDomains; empty narrows nothing.
	AllowedDomains []string
}

// Gate is one session's egress: the policy, narrowed by what the session
// asked for. Everything that leaves the machine for a session passes one.
// A Gate holds nothing open and need not be closed; any goroutine may use it.
type Gate struct {
	policy  *Policy
	session list // empty: not narrowed
}

// Gate returns an egress that o narrows. A value of o that is none is an
// InvalidParams error that quotes it.
func (p *Policy) Gate(o GateOptions) (*Gate, error) {
	domains, err := parseAllowedDomains(o.AllowedDomains)
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "allowed_domains: %w", err).With("parameter", "allowed_domains").
			Then("send a list such as [\"example.com\", \"*.example.com\"]")
	}
	return &Gate{policy: p, session: domains}, nil
}

// CheckURL says whether raw may be opened, and returns it in the one spelling
// that every source is given, so that nobody parses another host out of it
// than the one that was checked. Only http, https and about:blank pass; a
// private host or address, or another port than Config.Ports, needs an entry
// in Config.AllowHosts; the daemon's own address and the clouds' metadata
// services are refused even then.
//
// raw is read as a browser reads it (WHATWG URL): 2130706433, 0x7f.1,
// 0177.0.0.1 and fullwidth digits are all 127.0.0.1. Unlike a browser,
// CheckURL refuses user info, control characters other than tabs, and URLs
// without a scheme; the error's next step then names the URL that was
// probably meant (see Complete).
//
// A name is checked as it is written: it is not looked up here, so a public
// name whose address is private passes, and Dial refuses it. Redirects are
// checked hop by hop, each with a CheckURL of what Join makes of its Location.
//
// The error is a *protocol.Error: InvalidParams where raw is no URL,
// PolicyDenied otherwise; details.reason is a Reason, details.host the host as
// it was understood, details.address its address where that is what counted,
// and details.config what an operator would have to add, where that would help.
// ctx bounds the check; nothing in it waits.
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
