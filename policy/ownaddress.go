package policy

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// ownAddressesTTL is how long the list of the machine's own addresses is cached. The list
// changes when a link comes up or a lease is renewed.
const ownAddressesTTL = 5 * time.Second

// ownAddresses caches the machine's own addresses. A local service that listens on all
// interfaces can be reached from here at the machine's public address, behind any firewall
// in front of the machine, so these addresses are refused.
type ownAddresses struct {
	read func() ([]netip.Addr, error)
	now  func() time.Time

	mu    sync.Mutex
	at    time.Time
	known map[netip.Addr]bool
}

func newOwnAddresses(read func() ([]netip.Addr, error)) *ownAddresses {
	if read == nil {
		read = interfaceAddrs
	}
	return &ownAddresses{read: read, now: time.Now}
}

// has reports whether a is one of them. If the list cannot be refreshed, it uses the last
// one; it returns an error if there is none.
func (o *ownAddresses) has(a netip.Addr) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil || o.now().Sub(o.at) > ownAddressesTTL {
		addrs, err := o.read()
		if err != nil && o.known == nil {
			return false, fmt.Errorf("reading the interfaces' addresses: %w", err)
		}
		if err == nil {
			o.known = make(map[netip.Addr]bool, len(addrs))
			for _, a := range addrs {
				o.known[a.Unmap().WithZone("")] = true
			}
		}
		o.at = o.now()
	}
	return o.known[a.Unmap().WithZone("")], nil
}

func interfaceAddrs() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr())
		}
	}
	return out, nil
}
