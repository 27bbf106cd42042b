package policy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/browserd/browserd/protocol"
)

// lookupTimeout is the time limit of one DNS lookup.
const lookupTimeout = 10 * time.Second

// resolver finds the addresses of a name without a trailing dot. It returns no addresses
// and no error if the name exists and has none.
type resolver interface {
	LookupNetIP(ctx context.Context, name string) ([]netip.Addr, error)
}

func newResolver(address string) (resolver, error) {
	if address == "" {
		return system{}, nil
	}
	return parseDNSServer(address)
}

// system resolves names as other programs on the machine do: with /etc/hosts, the
// configured name servers, and whatever else the C library uses.
type system struct{}

func (system) LookupNetIP(ctx context.Context, name string) ([]netip.Addr, error) {
	if reason, _, _ := classifyName(name); reason == "" {
		// The trailing dot switches the search list off, which would turn a name that
		// does not exist into another one.
		name += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

// lookup returns the addresses of u's name, at least one, in the order in which to try
// them. It never sends a query for the names of this machine itself (RFC 6761 section
// 6.3). The error is a *protocol.Error.
func (p *Policy) lookup(ctx context.Context, u target) ([]netip.Addr, error) {
	if reason, _, _ := classifyName(u.name); reason == ReasonNameLocal {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	within, cancel := context.WithTimeout(ctx, lookupTimeout)
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
