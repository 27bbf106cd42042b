package policy

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"code.dny.dev/ssrf"
)

// The table agrees with code.dny.dev/ssrf, which is generated from IANA's
// registries: at the edges of every range of either, and at random. It refuses
// two things more, which are named here.
func TestTableAgainstPublicOne(t *testing.T) {
	guard := ssrf.New(ssrf.WithAnyPort())
	ours := map[netip.Addr]bool{netip.MustParseAddr("168.63.129.16"): true} // Azure's, in public space
	check := func(a netip.Addr) {
		t.Helper()
		network := "tcp6"
		if a.Is4() {
			network = "tcp4"
		}
		theirs := guard.Safe(network, netip.AddrPortFrom(a, 80).String(), nil) != nil
		reason, _, _ := classifyAddr(a)
		if refused := reason != ""; refused != theirs && !ours[a] {
			t.Errorf("%s: refused %v (%s), theirs %v", a, refused, reason, theirs)
		}
	}
	var prefixes []netip.Prefix
	prefixes = append(prefixes, ssrf.IPv4DeniedPrefixes...)
	prefixes = append(prefixes, ssrf.IPv6DeniedPrefixes...)
	prefixes = append(prefixes, ssrf.IPv6GlobalUnicast, ssrf.IPv6NAT64Prefix)
	for _, r := range ranges {
		prefixes = append(prefixes, r.prefix)
	}
	for _, p := range prefixes {
		first, last := p.Masked().Addr(), lastOf(p)
		for _, a := range []netip.Addr{first.Prev(), first, first.Next(), last.Prev(), last, last.Next()} {
			if a.IsValid() {
				check(a)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 40_000 {
		var four [4]byte
		binary.BigEndian.PutUint32(four[:], rng.Uint32())
		check(netip.AddrFrom4(four))
		var six [16]byte
		binary.BigEndian.PutUint64(six[:], rng.Uint64())
		binary.BigEndian.PutUint64(six[8:], rng.Uint64())
		check(netip.AddrFrom16(six))
		six[0] = 0x20 | six[0]&0x1f // where the public ones are
		check(netip.AddrFrom16(six))
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// Every address that holds an IPv4 address is refused or checked by it.
func TestEmbeddedIPv4(t *testing.T) {
	for _, s := range []string{
		"::ffff:127.0.0.1", "::ffff:8.8.8.8", // mapped, RFC 4291 2.5.5.2
		"::127.0.0.1", "::8.8.8.8", // compatible, RFC 4291 2.5.5.1
		"::ffff:0:127.0.0.1",                     // translated, RFC 2765
		"64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", // NAT64, RFC 6052
		"64:ff9b:1::10.0.0.1",               // NAT64 local use, RFC 8215
		"2002:7f00:1::1", "2002:808:808::1", // 6to4, RFC 3056
		"2001:0:7f00:1::", "2001:0:4136:e378::80ff", // Teredo, RFC 4380
		"fe80::5efe:127.0.0.1", // ISATAP, RFC 5214, link-local
	} {
		if reason, _, _ := classifyAddr(netip.MustParseAddr(s)); reason == "" {
			t.Errorf("%s passes", s)
		}
	}
}

// Metadata addresses are refused, whatever the configuration allows.
func TestMetadataIsRefused(t *testing.T) {
	addresses := []string{"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"}
	names := []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal", "rancher-metadata", "metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com"}
	if len(metadata) != len(addresses) || len(metadataNames) != len(names) {
		t.Errorf("%d addresses and %d names are refused, and this test knows %d and %d", len(metadata), len(metadataNames), len(addresses), len(names))
	}
	p := mustNew(t, append([]string{"0.0.0.0/0", "::/0", "*.internal", "*.tencentyun.com"}, names...)...)
	for _, s := range addresses {
		a := netip.MustParseAddr(s)
		u := target{scheme: "http", addr: a, port: 80}
		if got := verdict(t, p, u.String()); got[0] != '!' {
			t.Errorf("%s passes", u)
		}
		if a.Is4() {
			mapped := target{scheme: "http", addr: netip.AddrFrom16(a.As16()), port: 80}
			if got := verdict(t, p, mapped.String()); got[0] != '!' {
				t.Errorf("%s passes", mapped)
			}
		}
	}
	for _, name := range names {
		if got := verdict(t, p, "http://"+name+"/"); got != "!name_internal" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
