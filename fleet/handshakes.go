package fleet

import (
	"net"
	"net/netip"
	"slices"
	"sync"
)

// maxHandshakes is how many connections at fleet.listen may be in the handshake. Beyond, the oldest one of the address
// with the most of them is closed, so that silent strangers neither use up the daemon's file descriptors nor keep other
// nodes out.
const maxHandshakes = 256

// handshakes are the connections that have not proved yet that they are another node's, oldest first.
type handshakes struct {
	mu  sync.Mutex
	all []handshake
}

type handshake struct {
	conn net.Conn
	from netip.Prefix // an IPv4 address, or an IPv6 /64
}

// begin adds a connection, and closes another one if there are too many.
func (h *handshakes) begin(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	added := handshake{conn, networkOf(conn.RemoteAddr())}
	if h.all = append(h.all, added); len(h.all) <= maxHandshakes {
		return
	}
	count, most := map[netip.Prefix]int{}, added.from
	for _, one := range h.all {
		if count[one.from]++; count[one.from] > count[most] {
			most = one.from
		}
	}
	oldest := slices.IndexFunc(h.all, func(one handshake) bool { return one.from == most })
	h.all[oldest].conn.Close() // which ends its handshake
	h.all = slices.Delete(h.all, oldest, oldest+1)
}

// end removes a connection whose handshake has ended.
func (h *handshakes) end(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = slices.DeleteFunc(h.all, func(one handshake) bool { return one.conn == conn })
}

// networkOf returns the network that an address counts for: whoever has an IPv6 address has its /64.
func networkOf(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	addr := at.Addr().Unmap().WithZone("")
	if addr.Is4() {
		return netip.PrefixFrom(addr, 32)
	}
	network, _ := addr.Prefix(64)
	return network
}
