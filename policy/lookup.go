package policy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/browserd/browserd/protocol"
)

// lookupWithin is how long a name's servers may take to answer.
const lookupWithin = 10 * time.Second

// resolver finds the addresses of a name that ends in no dot. No address and no
// error is a name without any.
type resolver interface {
	LookupNetIP(ctx context.Context, name string) ([]netip.Addr, error)
}

func newResolver(address string) (resolver, error) {
	if address == "" {
		return system{}, nil
	}
	return parseDNSServer(address)
}

// system asks as the machine's other programs do: /etc/hosts, the configured
// name servers, and what else the C library knows.
type system struct{}

func (system) LookupNetIP(ctx context.Context, name string) ([]netip.Addr, error) {
	if reason, _, _ := classifyName(name); reason == "" {
		// The final dot keeps the search list out: of a public name that does
		// not exist it would make another one.
		name += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// lookup returns the addresses of u's name, in the order in which they are to
// be tried, at least one. The names of this machine itself are never asked for
// (RFC 6761 6.3). The error is a *protocol.Error.
func (p *Policy) lookup(ctx context.Context, u target) ([]netip.Addr, error) {
	if reason, _, _ := classifyName(u.name); reason == ReasonNameLocal {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	within, cancel := context.WithTimeout(ctx, lookupWithin)
	defer cancel()
	found, err := p.resolver.LookupNetIP(within, u.name)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no address", Name: u.name, IsNotFound: true}
	}
	if err != nil {
		return nil, lookupError(ctx, u, err)
	}
	seen := map[netip.Addr]bool{}
	var addrs []netip.Addr
	for _, a := range found {
		if a = a.Unmap().WithZone(""); !seen[a] {
			seen[a] = true
			addrs = append(addrs, a)
		}
	}
	return addrs, nil
}

func lookupError(ctx context.Context, u target, err error) error {
	if cerr := ctx.Err(); errors.Is(cerr, context.Canceled) {
		return protocol.Errorf(protocol.Cancelled, "looking up %s: %w", u.name, cerr)
	}
	fail := func(format string, args ...any) *protocol.Error {
		e := protocol.Errorf(protocol.NavigationFailed, format, args...).
			With("reason", string(ReasonDNS)).With("host", u.name)
		e.Cause = err
		return e
	}
	var d *net.DNSError
	switch {
	case errors.As(err, &d) && d.IsNotFound:
		return fail("%s has no address", u.name).Then("check the name")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &d) && d.IsTimeout:
		return fail("the name servers of %s did not answer in time", u.name).Then("try again, or check the name")
	}
	return fail("the name servers could not answer for %s", u.name).Then("try again, or check the name")
}
