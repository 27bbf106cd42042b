package policy

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// Public returns an error unless raw, its host and every address that it resolves to are
// public, whatever AllowHosts allows. It is called before a URL is sent to a third party.
// The error is CheckURL's, or PolicyDenied with the reason why the host is private, or
// NavigationFailed if the name cannot be resolved.
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
