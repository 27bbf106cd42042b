package browser

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"time"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// Egress is the per-session egress proxy of a context (policy.SessionProxy). Its
// methods may be called by any goroutine and do not wait.
type Egress interface {
	// ProxyServer is the address that Chromium is given for the context.
	ProxyServer() string
	// Credentials answer the proxy's challenge.
	Credentials() (user, secret string)
	// Failure says why the last connection to host:port since then came to
	// nothing; nil if none failed.
	Failure(hostPort string, since time.Time) error
	// Refused counts the connections that were not made.
	Refused() int
	// Bind makes it a session's: until then it lets only the challenge pass.
	Bind(gate policy.Dialer, name string, onRefused func(policy.Refusal))
	Close()
}

// authenticateProxy makes Chromium authenticate at the context's egress proxy. It is done before
// a session gets the page.
func (t *tab) authenticateProxy(ctx context.Context, e Egress) error {
	t.answeringChallenge.Store(true)
	defer t.answeringChallenge.Store(false)
	user, secret := e.Credentials()
	return network.AnswerChallenge(ctx, t.cdp, policy.ChallengeURL, user, secret)
}

// navigationError returns the error of a navigation that failed with Chromium's reason
// (net::ERR_…). If the egress proxy refused the connection or could not make it, that is
// the proxy's own, more exact error.
func (n *navigation) navigationError(reason string, since time.Time) *protocol.Error {
	c := n.t.c
	c.mu.Lock()
	going := n.requestURL
	c.mu.Unlock()
	u, err := url.Parse(going)
	if c.egress == nil || err != nil {
		return failure.Navigation(reason)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	var refused *protocol.Error
	if errors.As(c.egress.Failure(net.JoinHostPort(u.Hostname(), port), since), &refused) {
		e := *refused
		e.Details = maps.Clone(refused.Details) // the proxy keeps its own
		return &e
	}
	return failure.Navigation(reason)
}
