package policy

import "net/netip"

// ranges lists the addresses that are not the public internet: IANA's
// special-purpose registries (RFC 6890 and its updates), and the multicast and reserved
// space. The first match counts.
var ranges = []struct {
	prefix netip.Prefix
	reason Reason
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), ReasonUnspecified, "an unspecified address"},    // RFC 791
	{netip.MustParsePrefix("10.0.0.0/8"), ReasonPrivate, "a private address"},            // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), ReasonCGNAT, "a carrier's private address"}, // RFC 6598
	{netip.MustParsePrefix("127.0.0.0/8"), ReasonLoopback, "a loopback address"},         // RFC 1122
	{netip.MustParsePrefix("169.254.0.0/16"), ReasonLinkLocal, "a link-local address"},   // RFC 3927
	{netip.MustParsePrefix("172.16.0.0/12"), ReasonPrivate, "a private address"},         // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), ReasonSpecial, "a special-purpose address"},  // RFC 6890
	{netip.MustParsePrefix("192.0.2.0/24"), ReasonSpecial, "a documentation address"},    // RFC 5737
	{netip.MustParsePrefix("192.31.196.0/24"), ReasonSpecial, "an AS112 address"},        // RFC 7535
	{netip.MustParsePrefix("192.52.193.0/24"), ReasonSpecial, "an AMT address"},          // RFC 7450
	{netip.MustParsePrefix("192.88.99.0/24"), ReasonSpecial, "a 6to4 relay address"},     // RFC 7526
	{netip.MustParsePrefix("192.168.0.0/16"), ReasonPrivate, "a private address"},        // RFC 1918
	{netip.MustParsePrefix("192.175.48.0/24"), ReasonSpecial, "an AS112 address"},        // RFC 7534
	{netip.MustParsePrefix("198.18.0.0/15"), ReasonSpecial, "a benchmarking address"},    // RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), ReasonSpecial, "a documentation address"}, // RFC 5737
	{netip.MustParsePrefix("203.0.113.0/24"), ReasonSpecial, "a documentation address"},  // RFC 5737
	{netip.MustParsePrefix("224.0.0.0/4"), ReasonMulticast, "a multicast address"},       // RFC 5771
	{netip.MustParsePrefix("240.0.0.0/4"), ReasonSpecial, "a reserved address"},          // RFC 1112, RFC 919
	{netip.MustParsePrefix("168.63.129.16/32"), ReasonMetadata, "a cloud's metadata address"},

	{netip.MustParsePrefix("::/128"), ReasonUnspecified, "the unspecified address"},    // RFC 4291
	{netip.MustParsePrefix("::1/128"), ReasonLoopback, "the loopback address"},         // RFC 4291
	{netip.MustParsePrefix("fc00::/7"), ReasonPrivate, "a private address"},            // RFC 4193
	{netip.MustParsePrefix("fe80::/10"), ReasonLinkLocal, "a link-local address"},      // RFC 4291
	{netip.MustParsePrefix("ff00::/8"), ReasonMulticast, "a multicast address"},        // RFC 4291
	{netip.MustParsePrefix("2001::/23"), ReasonSpecial, "a special-purpose address"},   // RFC 2928: Teredo, ORCHID, benchmarking
	{netip.MustParsePrefix("2001:db8::/32"), ReasonSpecial, "a documentation address"}, // RFC 3849
	{netip.MustParsePrefix("2002::/16"), ReasonSpecial, "a 6to4 address"},              // RFC 3056
	{netip.MustParsePrefix("2620:4f:8000::/48"), ReasonSpecial, "an AS112 address"},    // RFC 7534
	{netip.MustParsePrefix("3fff::/20"), ReasonSpecial, "a documentation address"},     // RFC 9637
}

// globalUnicast is the part of IPv6 that is assigned to the public (RFC 4291, IANA's
// registry). Every address outside it is special-purpose, including NAT64's
// 64:ff9b::/96, the discard prefix 100::/64 and SRv6's 5f00::/16.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// metadata are the addresses at which clouds hand out credentials. They are refused
// whatever AllowHosts says, because a CIDR there would open them by accident.
var metadata = map[netip.Addr]bool{
	netip.MustParseAddr("169.254.169.254"): true, // AWS, Google, Azure, OpenStack, DigitalOcean
	netip.MustParseAddr("169.254.170.2"):   true, // AWS ECS tasks
	netip.MustParseAddr("169.254.170.23"):  true, // AWS EKS pod identity
	netip.MustParseAddr("100.100.100.200"): true, // Alibaba
	netip.MustParseAddr("168.63.129.16"):   true, // Azure's wire server
	netip.MustParseAddr("192.0.0.192"):     true, // Oracle
	netip.MustParseAddr("fd00:ec2::254"):   true, // AWS
	netip.MustParseAddr("fd00:ec2::23"):    true, // AWS EKS pod identity
	netip.MustParseAddr("fd20:ce::254"):    true, // Google
}

// classifyAddr returns why a is not a public address: the reason, its description, and
// whether it is refused even if an operator allows it (absolute). The reason is empty for a public
// address.
func classifyAddr(a netip.Addr) (reason Reason, what string, absolute bool) {
	mapped := a.Is4In6()
	// A mapped address reaches the IPv4 address inside it (RFC 4291 2.5.5.2).
	a = a.Unmap()
	absolute = metadata[a]
	for _, r := range ranges {
		if r.prefix.Contains(a) {
			return r.reason, r.what, absolute
		}
	}
	if mapped || a.Is6() && !globalUnicast.Contains(a) {
		return ReasonSpecial, "a special-purpose address", absolute
	}
	return "", "", false
}
