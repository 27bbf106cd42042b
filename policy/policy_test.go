package policy

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/protocol"
)

// Which hosts and ports the lists allow and deny. Nothing here is looked up.
func TestLists(t *testing.T) {
	lists := func(allow, only, deny []string, ports ...int) Config {
		return Config{AllowHosts: allow, AllowedDomains: only, DeniedDomains: deny, Ports: ports}
	}
	none := []string(nil)
	for _, c := range []struct {
		cfg  Config
		raw  string
		want string
	}{
		// Ports.
		{lists(none, none, none), "http://a.com:8080/", "ok"},
		{lists(none, none, none), "https://a.com:8443/", "ok"},
		{lists(none, none, none), "http://a.com:81/", "port"},
		{lists(none, none, none), "http://a.com:8000/", "port"},
		{lists(none, none, none, 8000), "http://a.com:8000/", "ok"},
		{lists(none, none, none, 8000), "http://a.com/", "port"},
		{lists([]string{"a.com:8000"}, none, none), "http://a.com:8000/", "ok"},
		{lists([]string{"a.com:8000"}, none, none), "http://a.com:8001/", "port"},
		{lists([]string{"a.com:8000"}, none, none), "http://a.com/", "ok"},
		{lists([]string{"a.com:8000"}, none, none), "http://b.com:8000/", "port"},
		{lists([]string{"a.com"}, none, none), "http://a.com:8000/", "ok"},
		{lists([]string{"a.com"}, none, none), "http://a.com:22/", "port"},
		{lists([]string{"a.com:22"}, none, none), "http://a.com:22/", "ok"},
		{lists([]string{"*.a.com"}, none, none), "http://b.a.com:8000/", "ok"},
		{lists([]string{"10.0.0.0/8"}, none, none), "http://10.0.0.1:5000/", "ok"},
		{lists([]string{"10.0.0.0/8"}, none, none), "http://10.0.0.1:25/", "port"},
		{lists([]string{"10.0.0.0/8", "10.0.0.1:25"}, none, none), "http://10.0.0.1:25/", "ok"},
		{lists([]string{"10.0.0.0/8:5000"}, none, none, 80, 5000), "http://10.0.0.1/", "ip_private"},

		// allowed_domains narrow, exactly.
		{lists(none, []string{"a.com"}, none), "http://a.com/", "ok"},
		{lists(none, []string{"a.com"}, none), "http://A.com./", "ok"},
		{lists(none, []string{"a.com"}, none), "http://b.a.com/", "not_allowlisted"},
		{lists(none, []string{"a.com"}, none), "http://aa.com/", "not_allowlisted"},
		{lists(none, []string{"a.com"}, none), "http://a.com.evil.com/", "not_allowlisted"},
		{lists(none, []string{"*.a.com"}, none), "http://a.com/", "not_allowlisted"},
		{lists(none, []string{"*.a.com"}, none), "http://c.b.a.com/", "ok"},
		{lists(none, []string{"bücher.com"}, none), "http://xn--bcher-kva.com/", "ok"},
		{lists(none, []string{"a.com"}, none), "http://8.8.8.8/", "not_allowlisted"},
		{lists(none, []string{"8.8.8.0/24"}, none), "http://8.8.8.8/", "ok"},
		{lists(none, []string{"a.com:443"}, none), "https://a.com/", "ok"},
		{lists(none, []string{"a.com:443"}, none), "http://a.com/", "not_allowlisted"},
		{lists(none, []string{"*"}, none), "http://a.com/", "ok"},
		{lists(none, []string{"*"}, none), "http://10.0.0.1/", "ip_private"},
		{lists(none, []string{"10.0.0.1"}, none), "http://10.0.0.1/", "ip_private"},
		{lists(none, []string{"a.com"}, none), "http://a.com:8000/", "port"},
		{lists([]string{"10.0.0.1"}, []string{"a.com"}, none), "http://10.0.0.1/", "not_allowlisted"},
		{lists([]string{"10.0.0.1"}, []string{"10.0.0.1"}, none), "http://10.0.0.1/", "ok"},
		{lists(none, []string{"a.com"}, none), "about:blank", "ok"},

		// denied_domains win.
		{lists(none, none, []string{"a.com"}), "http://a.com/", "host_denied"},
		{lists(none, none, []string{"a.com"}), "http://www.a.com/", "host_denied"},
		{lists(none, none, []string{"a.com"}), "http://aa.com/", "ok"},
		{lists(none, none, []string{"*.a.com"}), "http://a.com/", "ok"},
		{lists(none, none, []string{"*.com"}), "http://a.com/", "host_denied"},
		{lists(none, none, []string{"8.8.8.0/24"}), "http://8.8.8.8/", "host_denied"},
		{lists(none, none, []string{"8.8.8.0/24"}), "http://8.8.9.8/", "ok"},
		{lists([]string{"a.com", "10.0.0.0/8"}, []string{"*"}, []string{"a.com", "10.0.0.1"}), "http://a.com/", "host_denied"},
		{lists([]string{"a.com", "10.0.0.0/8"}, []string{"*"}, []string{"a.com", "10.0.0.1"}), "http://10.0.0.1/", "host_denied"},
		{lists([]string{"a.com", "10.0.0.0/8"}, []string{"*"}, []string{"a.com", "10.0.0.1"}), "http://10.0.0.2/", "ok"},
	} {
		p, err := New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.CheckURL(t.Context(), c.raw)
		if got := word(t, err); got != c.want {
			t.Errorf("%+v: %s: got %s, want %s", c.cfg, c.raw, got, c.want)
		}
	}
}

// A session's own list restricts what the policy allows, and allows nothing more.
func TestGateNarrows(t *testing.T) {
	p, err := New(Config{AllowedDomains: []string{"*.a.com"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		session   []string
		raw, want string
	}{
		{nil, "http://x.a.com/", "ok"},
		{[]string{"x.a.com"}, "http://x.a.com/", "ok"},
		{[]string{"x.a.com"}, "http://y.a.com/", "not_allowlisted"},
		{[]string{"b.com"}, "http://b.com/", "not_allowlisted"},
		{[]string{"*"}, "http://x.a.com/", "ok"},
	} {
		g, err := p.Gate(GateOptions{AllowedDomains: c.session})
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.CheckURL(t.Context(), c.raw)
		if got := word(t, err); got != c.want {
			t.Errorf("%v: %s: got %s, want %s", c.session, c.raw, got, c.want)
		}
	}
	for _, bad := range []string{"", "*.com", "http://a.com", "*.co.uk"} {
		if _, err := p.Gate(GateOptions{AllowedDomains: []string{bad}}); protocol.CodeOf(err) != protocol.InvalidParams {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestBadConfig(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{AllowedDomains: []string{" "}}, `policy.allowed_domains: " ": accepts a host, *.domain, address or CIDR with an optional port: it is empty`},
		{Config{AllowedDomains: []string{"*.co.uk"}}, `policy.allowed_domains: "*.co.uk": anybody may register a name below co.uk; name the domain that is meant`},
		{Config{AllowHosts: []string{"*.com"}}, `policy.allow_hosts: "*.com": anybody may register a name below com; name the domain that is meant`},
		{Config{DeniedDomains: []string{"*"}}, `policy.denied_domains: "*": accepts a host, *.domain, address or CIDR with an optional port: a star stands only in front, as *.domain`},
		{Config{Ports: []int{80, 0}}, `policy.ports: 0: is no port between 1 and 65535`},
		{Config{Ports: []int{65536}}, `policy.ports: 65536: is no port between 1 and 65535`},
		{Config{Resolver: "dns.google"}, `policy.resolver: "dns.google": accepts the address of a DNS server, such as 1.1.1.1 or [::1]:5353`},
		{Config{Resolver: "1.1.1.1:0"}, `policy.resolver: "1.1.1.1:0": accepts the address of a DNS server, such as 1.1.1.1 or [::1]:5353`},
		{Config{UpstreamProxy: "socks5://user:secret@a:1"}, `policy.upstream_proxy: accepts http://HOST:PORT, with USER:PASSWORD@ before the host if it asks for them`},
		{Config{UpstreamProxy: "http://a:1/path"}, `policy.upstream_proxy: accepts http://HOST:PORT, with USER:PASSWORD@ before the host if it asks for them`},
	} {
		if err := c.cfg.Check(); err == nil || err.Error() != c.want {
			t.Errorf("%+v:\n got %v\nwant %s", c.cfg, err, c.want)
		}
	}
	for _, good := range []Config{{}, {Resolver: "1.1.1.1"}, {Resolver: "[::1]"}, {Resolver: "::1"}, {Resolver: "[::1]:5353"}, {UpstreamProxy: "http://proxy"}} {
		if err := good.Check(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

// Entries are added and removed while others dial, for the race detector.
func TestChangesWhileDialling(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	p := o.policy(Config{})
	g, err := p.Gate(GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var busy sync.WaitGroup
	for i := range 20 {
		busy.Go(func() {
			host := fmt.Sprintf("h%d.example.com", i)
			o.DNS.Set(host, fakedns.Answer{A: []string{fmt.Sprintf("10.0.0.%d", i)}})
			if got := dialWord(t, g, host+":80"); got != "ip_private" {
				t.Errorf("%s before: %s", host, got)
			}
			if err := open(p, KeyAllowHosts, host); err != nil {
				t.Error(err)
			}
			p.AddSelf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(20000+i)))
			if got := dialWord(t, g, host+":80"); got != "ok" {
				t.Errorf("%s after: %s", host, got)
			}
		})
	}
	busy.Wait()
	for i := range 20 {
		if got := dialWord(t, g, fmt.Sprintf("127.0.0.1:%d", 20000+i)); got != "ip_self" {
			t.Errorf("port %d: %s", 20000+i, got)
		}
	}
}

// No entry that an operator may write panics, and each allows the host that it names.
func FuzzEntry(f *testing.F) {
	for _, s := range []string{"a.com", "*.a.com:80", "10.0.0.0/8", "[::1]:80", "[fd00::/8]:443", "0x7f.1", "*", "*.com", "::ffff:1.2.3.4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseEntry(s)
		if err != nil {
			return
		}
		u := target{name: e.name, port: max(e.port, 80)}
		switch {
		case e.subdomainsOf != "":
			u.name = "x." + e.subdomainsOf
		case e.prefix.IsValid():
			u.addr = e.prefix.Addr()
			if u.addr.Is4In6() {
				return // a CIDR of mapped addresses: checked as IPv4, so it matches nothing
			}
		}
		if e.port != 0 {
			u.port = e.port
		}
		if !e.matches(u) {
			t.Errorf("%q is %+v, and does not match %+v", s, e, u)
		}
	})
}
