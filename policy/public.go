package policy

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// Public says whether raw, which CheckURL lets pass, leads to the public
// internet alone, whatever AllowHosts opens: its host and every address that it
// resolves to. It is asked before a URL is told to somebody outside. The error
// is CheckURL's, or PolicyDenied with the reason for which the host is private,
// or NavigationFailed where nobody knows its address.
func (g *Gate) Public(ctx context.Context, raw string) error {
	if _, err := g.CheckURL(ctx, raw); err != nil {
		return err
	}
	u, err := parseURL(raw)
	if err != nil {
		return err
	}
	if u.blank {
		return protocol.Errorf(protocol.InvalidParams, "url: about:blank is no address on the internet").With("parameter", "url").With("reason", string(ReasonScheme))
	}
	private := func(u target) error {
		reason, what, _, err := g.policy.classify(u)
		if err == nil && reason != "" {
			err = denied(reason, u, "%s is %s", u.host(), what)
		}
		return err
	}
	if err := private(u); err != nil || u.name == "" {
		return err
	}
	addrs, err := g.policy.lookup(ctx, u)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if err := private(target{addr: a, port: u.port}); err != nil {
			return err
		}
	}
	return nil
}
