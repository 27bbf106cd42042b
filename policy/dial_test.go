package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/protocol"
)

// dialWord dials through g and returns the verdict's word.
func dialWord(t *testing.T, g *Gate, address string) string {
	t.Helper()
	c, err := g.Dial(t.Context(), "tcp", address)
	if err == nil {
		c.Close()
	}
	return word(t, err)
}

// A name is refused if one of the addresses that it resolves to is.
func TestAnswers(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	g := o.gate(Config{AllowHosts: []string{"10.1.0.0/16", "nas.example.com", "printer.example.com:8000"}, DeniedDomains: []string{"93.184.216.0/24"}})
	many := fakedns.Answer{}
	for i := range 200 { // 3,200 bytes of records: over TCP
		many.A = append(many.A, fmt.Sprintf("8.8.%d.8", i))
	}
	last := many
	last.A = append(slices.Clone(many.A), "127.0.0.1")
	for _, c := range []struct {
		name   string
		answer fakedns.Answer
		port   string
		want   string
	}{
		{"public.test.com", fakedns.Answer{A: []string{"8.8.8.8"}, AAAA: []string{"2606:4700::1"}}, "80", "ok"},
		{"one.test.com", fakedns.Answer{A: []string{"8.8.8.8", "8.8.4.4", "192.168.0.1"}}, "80", "ip_private"},
		{"six.test.com", fakedns.Answer{A: []string{"8.8.8.8"}, AAAA: []string{"fe80::1"}}, "80", "ip_link_local"},
		{"nat64.test.com", fakedns.Answer{AAAA: []string{"64:ff9b::7f00:1"}}, "80", "ip_special"},
		{"mapped.test.com", fakedns.Answer{AAAA: []string{"::ffff:10.0.0.1"}}, "80", "ip_private"},
		{"chain.test.com", fakedns.Answer{CNAME: "deep.test.com", A: []string{"127.0.0.1"}}, "80", "ip_loopback"},
		{"many.test.com", many, "80", "ok"},
		{"manybad.test.com", last, "80", "ip_loopback"},
		{"own.test.com", fakedns.Answer{A: []string{ownPublic}}, "80", "ip_self"},
		{"denied.test.com", fakedns.Answer{A: []string{"93.184.216.34"}}, "80", "host_denied"},
		{"nx.test.com", fakedns.Answer{RCode: "NXDOMAIN"}, "80", "dns_error"},
		{"refused.test.com", fakedns.Answer{RCode: "REFUSED"}, "80", "dns_error"},
		{"empty.test.com", fakedns.Answer{}, "80", "dns_error"},
		{"dangling.test.com", fakedns.Answer{CNAME: "nowhere.test.com"}, "80", "dns_error"},

		// An entry for the range, or for the host, allows what the name resolves to.
		{"inrange.test.com", fakedns.Answer{A: []string{"10.1.2.3"}}, "80", "ok"},
		{"outofrange.test.com", fakedns.Answer{A: []string{"10.1.2.3", "10.2.0.0"}}, "80", "ip_private"},
		{"nas.example.com", fakedns.Answer{A: []string{"192.168.7.7"}}, "5000", "ok"},
		{"x.nas.example.com", fakedns.Answer{A: []string{"192.168.7.7"}}, "80", "ip_private"},
		{"printer.example.com", fakedns.Answer{A: []string{"192.168.7.7"}}, "8000", "ok"},
		{"printer.example.com", fakedns.Answer{A: []string{"192.168.7.7"}}, "80", "ip_private"},
		// But no entry allows a metadata service.
		{"nas.example.com", fakedns.Answer{A: []string{"169.254.169.254"}}, "80", "ip_link_local"},
	} {
		o.DNS.Set(c.name, c.answer)
		if got := dialWord(t, g, c.name+":"+c.port); got != c.want {
			t.Errorf("%s:%s with %+v: got %s, want %s", c.name, c.port, c.answer, got, c.want)
		}
		if n := o.DNS.Lookups(c.name); n > 2 || n == 2 && o.DNS.OverTCP() == 0 {
			t.Errorf("%s was looked up %d times", c.name, n)
		}
		dialled := o.hosts()
		for _, h := range dialled {
			if c.want != "ok" || !slices.Contains(append(c.answer.A, c.answer.AAAA...), h) {
				t.Errorf("%s: %s was dialled", c.name, h)
			}
		}
		if c.want == "ok" && len(dialled) == 0 {
			t.Errorf("%s: nothing was dialled", c.name)
		}
	}
	if o.DNS.OverTCP() == 0 {
		t.Error("the long answers did not come over TCP")
	}
}

// A name that the rules refuse is not looked up: the DNS query itself could
// carry data of a page.
func TestRefusedNamesAreNotLookedUp(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	g := o.gate(Config{AllowedDomains: []string{"*.example.com", "intranet"}, DeniedDomains: []string{"evil.example.com"}})
	for address, want := range map[string]string{
		"secret.attacker.com:80":    "not_allowlisted",
		"example.com:80":            "not_allowlisted",
		"evil.example.com:80":       "host_denied",
		"www.evil.example.com:80":   "host_denied",
		"notevil.example.com:25":    "port",
		"intranet:80":               "name_internal",
		"metadata.google.internal:": "bad_url",
		"localhost:80":              "name_local",
		"a..b:80":                   "bad_url",
		"[fe80::1%eth0]:80":         "bad_url",
		"notevil.example.com":       "bad_url",
		"notevil.example.com:http":  "bad_url",
	} {
		if got := dialWord(t, g, address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
	if _, err := g.Dial(t.Context(), "udp", "a.example.com:80"); word(t, err) != "bad_url" {
		t.Errorf("UDP: %v", err)
	}
	if names := o.DNS.Names(); len(names) > 0 {
		t.Errorf("%v were looked up", names)
	}
	if got := o.hosts(); len(got) > 0 {
		t.Errorf("%v were dialled", got)
	}
}

// Loopback's own names are never sent to a DNS server.
func TestLocalNamesAreNotLookedUp(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.DNS.Set("localhost", fakedns.Answer{A: []string{"8.8.8.8"}})
	if got := dialWord(t, o.gate(Config{AllowHosts: []string{"localhost"}}), "localhost:3000"); got != "ok" {
		t.Fatalf("localhost: %s", got)
	}
	if got := o.hosts(); !slices.Equal(got, []string{"127.0.0.1"}) {
		t.Errorf("dialled %v", got)
	}
	if names := o.DNS.Names(); len(names) > 0 {
		t.Errorf("%v were looked up", names)
	}
}

// The details of a refusal name the entry to add. Adding it at run time affects gates
// that exist already.
func TestAllowAtRunTime(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.DNS.Set("nas.example.com", fakedns.Answer{A: []string{"192.168.1.101"}})
	o.DNS.Set("www.example.org", fakedns.Answer{A: []string{"8.8.8.8"}})
	p := o.policy(Config{AllowedDomains: []string{"nas.example.com", "192.168.0.0/16", "8.8.8.8"}, DeniedDomains: []string{"denied.com"}})
	g, err := p.Gate(GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := p.Gate(GateOptions{AllowedDomains: []string{"other.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		address string
		want    map[string]any
	}{
		{"192.168.1.100:80", map[string]any{"reason": "ip_private", "host": "192.168.1.100", "address": "192.168.1.100",
			"config": map[string]any{"key": "policy.allow_hosts", "add": []string{"192.168.1.100"}}}},
		{"192.168.1.7:9000", map[string]any{"reason": "ip_private", "host": "192.168.1.7", "address": "192.168.1.7",
			"config": map[string]any{"key": "policy.allow_hosts", "add": []string{"192.168.1.7:9000"}}}},
		{"nas.example.com:443", map[string]any{"reason": "ip_private", "host": "nas.example.com", "address": "192.168.1.101",
			"config": map[string]any{"key": "policy.allow_hosts", "add": []string{"nas.example.com"}}}},
		{"www.example.org:443", map[string]any{"reason": "not_allowlisted", "host": "www.example.org",
			"config": map[string]any{"key": "policy.allowed_domains", "add": []string{"www.example.org"}}}},
		{"www.example.org:9000", map[string]any{"reason": "port", "host": "www.example.org",
			"config": map[string]any{"key": "policy.allow_hosts", "add": []string{"www.example.org:9000"}}}},
		{"8.8.8.8:22", map[string]any{"reason": "port", "host": "8.8.8.8", "address": "8.8.8.8",
			"config": map[string]any{"key": "policy.allow_hosts", "add": []string{"8.8.8.8:22"}}}},
	} {
		_, err := g.Dial(t.Context(), "tcp", c.address)
		var e *protocol.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", c.address, err)
		}
		if d := cmp.Diff(c.want, e.Details); d != "" {
			t.Errorf("%s: -want +got\n%s", c.address, d)
		}
		setting := e.Details["config"].(map[string]any)
		add := setting["add"].([]string)[0]
		if !strings.Contains(e.Next, add) {
			t.Errorf("%s: the next step does not name it: %s", c.address, e.Next)
		}
		if err := open(p, setting["key"].(string), add); err != nil {
			t.Fatal(err)
		}
		if got := dialWord(t, g, c.address); got != "ok" {
			t.Errorf("%s: after adding %q: %s", c.address, add, got)
		}
		if got := dialWord(t, narrow, c.address); got != "not_allowlisted" {
			t.Errorf("%s: a session that narrowed itself: %s", c.address, got)
		}
	}
	for _, entry := range []string{"denied.com", "169.254.169.254"} {
		if err := open(p, KeyAllowHosts, entry); err != nil {
			t.Fatal(err)
		}
	}
	if got := dialWord(t, g, "denied.com:80") + " " + dialWord(t, g, "169.254.169.254:80"); got != "host_denied ip_link_local" {
		t.Errorf("what nothing opens: %s", got)
	}
	for _, entry := range []string{"", "*.com", "*", "http://a"} {
		if open(p, KeyAllowHosts, entry) == nil || open(p, KeyAllowedDomains, entry) == nil {
			t.Errorf("%q is accepted", entry)
		}
	}
	// An entry of allowed_domains does not allow a private address.
	o.DNS.Set("rebind.example.org", fakedns.Answer{A: []string{"10.0.0.1"}})
	if err := open(p, KeyAllowedDomains, "*.example.org"); err != nil {
		t.Fatal(err)
	}
	if got := dialWord(t, g, "rebind.example.org:80"); got != "ip_private" {
		t.Errorf("an allowed domain opens a private address: %s", got)
	}
}

// open adds one entry to one of the policy's lists.
func open(p *Policy, key, entry string) error {
	_, err := p.AddUntil(Setting{key, []string{entry}})
	return err
}

// An address of the daemon is refused whatever is allowed, from the moment on that it
// is added, under every name of this machine.
func TestSelf(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.DNS.Set("me.example.com", fakedns.Answer{A: []string{"127.0.0.1"}})
	o.DNS.Set("public.example.com", fakedns.Answer{A: []string{ownPublic}})
	p := o.policy(Config{AllowHosts: []string{"0.0.0.0/0", "::/0", "*.localhost", "localhost", "me.example.com", "public.example.com"}})
	g, err := p.Gate(GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	addresses := []string{"127.0.0.1:8080", "127.9.9.9:8080", "[::1]:8080", "0.0.0.0:8080", "[::ffff:127.0.0.1]:8080", "localhost:8080", "a.localhost:8080",
		"me.example.com:8080", ownPublic + ":8080", "public.example.com:8080"}
	for _, a := range addresses {
		if got := dialWord(t, g, a); got != "ok" {
			t.Errorf("%s before: %s", a, got)
		}
	}
	p.AddSelf(netip.MustParseAddrPort("127.3.2.1:8080"))
	for _, a := range addresses {
		if got := dialWord(t, g, a); got != "ip_self" {
			t.Errorf("%s: %s", a, got)
		}
	}
	if got := dialWord(t, g, "127.0.0.1:8443"); got != "ok" {
		t.Errorf("another port: %s", got)
	}
	if got := dialWord(t, g, "8.8.8.8:8080"); got != "ok" {
		t.Errorf("the same port of another machine: %s", got)
	}
}

// The machine's own addresses are read again, and where that fails the last
// list counts; without any, an address that cannot be checked is refused.
func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	var list []netip.Addr
	var fail error
	now := time.Now()
	own := newOwnAddresses(func() ([]netip.Addr, error) { return list, fail })
	own.now = func() time.Time { return now }
	a := netip.MustParseAddr("8.8.8.8")
	check := func(when string, want bool) {
		t.Helper()
		if got, err := own.has(a); got != want || err != nil {
			t.Errorf("%s: %v %v, want %v", when, got, err, want)
		}
	}
	fail = errors.New("no netlink")
	if _, err := own.has(a); !errors.Is(err, fail) {
		t.Errorf("without a list: %v", err)
	}
	fail = nil
	check("no address", false)
	list = []netip.Addr{netip.MustParseAddr("::ffff:8.8.8.8")}
	check("still fresh", false)
	now = now.Add(ownAddressesTTL + 1)
	check("read anew", true)
	fail, list, now = errors.New("no netlink"), nil, now.Add(ownAddressesTTL+1)
	check("the last list", true)

	p, err := New(Config{Interfaces: func() ([]netip.Addr, error) { return nil, errors.New("no netlink") }})
	if err != nil {
		t.Fatal(err)
	}
	if got := verdict(t, p, "http://8.8.8.8/"); got != "!ip_self" {
		t.Errorf("a policy that knows no list: %s", got)
	}
	real, err := interfaceAddrs()
	if err != nil || !slices.Contains(real, netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("the real list: %v %v", real, err)
	}
}

// What reaches the socket is checked once more. Real sockets, on loopback.
func TestControl(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := New(Config{AllowHosts: []string{l.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Gate(GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := dialWord(t, g, l.Addr().String()); got != "ok" {
		t.Fatalf("what is allowed: %s", got)
	}
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	for _, u := range []target{{name: "public.example.com", port: port}, {addr: netip.MustParseAddr("8.8.8.8"), port: port + 1}} {
		// As if the earlier checks had allowed it.
		other, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		blind := &Gate{policy: other}
		c, err := blind.connect(t.Context(), u, netip.MustParseAddr("127.0.0.1"))
		if err == nil {
			c.Close()
			t.Fatalf("%v was connected", u)
		}
		if err = dialError(t.Context(), u, err); protocol.CodeOf(err) != protocol.PolicyDenied {
			t.Errorf("%v: %v", u, err)
		}
	}
}

// The addresses are tried in turn, the next one before the first gives up.
func TestRace(t *testing.T) {
	t.Parallel()
	addrs := func(list ...string) (out []netip.Addr) {
		for _, s := range list {
			out = append(out, netip.MustParseAddr(s))
		}
		return out
	}
	if d := cmp.Diff("[2606::1 1.1.1.1 2606::2 1.1.1.2 1.1.1.3]", fmt.Sprint(alternate(addrs("2606::1", "2606::2", "1.1.1.1", "1.1.1.2", "1.1.1.3")))); d != "" {
		t.Error(d)
	}
	here, there := net.Pipe()
	defer here.Close()
	var mu sync.Mutex
	var ended []string
	c, err := race(t.Context(), addrs("2606::1", "1.1.1.1", "1.1.1.2"), func(ctx context.Context, a netip.Addr) (net.Conn, error) {
		switch a.String() {
		case "2606::1": // a black hole: it ends when another has won
			<-ctx.Done()
			mu.Lock()
			ended = append(ended, a.String())
			mu.Unlock()
			return nil, ctx.Err()
		case "1.1.1.1":
			return nil, syscall.ECONNREFUSED
		}
		return there, nil
	})
	if err != nil || c != there || !slices.Equal(ended, []string{"2606::1"}) {
		t.Errorf("got %v, %v; ended %v", c, err, ended)
	}

	late := &closing{closed: make(chan bool, 1)}
	first, second := make(chan bool), make(chan bool)
	c, err = race(t.Context(), addrs("1.1.1.1", "1.1.1.2"), func(_ context.Context, a netip.Addr) (net.Conn, error) {
		if a.String() == "1.1.1.1" {
			<-first // both accept
			close(second)
			return there, nil
		}
		close(first)
		<-second
		return late, nil
	})
	if err != nil || c == nil {
		t.Fatalf("two that accept: %v", err)
	}
	if c != late {
		if !<-late.closed {
			t.Error("the connection that came late is left open")
		}
	}
}

type closing struct {
	net.Conn
	closed chan bool
}

func (c *closing) Close() error {
	c.closed <- true
	return nil
}

// A failure that is no refusal has an error that names it, and is never policy_denied.
func TestDialFailures(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	o.DNS.Set("down.test.com", fakedns.Answer{A: []string{"8.8.8.8", "8.8.4.4"}})
	o.DNS.Set("mute.test.com", fakedns.Answer{Timeout: true})
	for _, c := range []struct {
		err  error
		want string
	}{
		{syscall.ECONNREFUSED, "navigation_failed: connecting to down.test.com:80: connection refused"},
		{syscall.EHOSTUNREACH, "navigation_failed: connecting to down.test.com:80: there is no route to it"},
		{context.DeadlineExceeded, "navigation_failed: connecting to down.test.com:80: it did not answer in time"},
		{syscall.EMFILE, "navigation_failed: connecting to down.test.com:80: the daemon may open no further file (ulimit -n)"},
		{io.EOF, "navigation_failed: connecting to down.test.com:80: it does not accept connections"},
	} {
		g := o.gate(Config{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, c.err }})
		_, err := g.Dial(t.Context(), "tcp", "down.test.com:80")
		if err == nil || err.Error() != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v:\n got %v\nwant %s", c.err, err, c.want)
		}
	}
	g := o.gate(Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := g.Dial(ctx, "tcp", "mute.test.com:80"); word(t, err) != "dns_error" || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("a server that is silent: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, address := range []string{"mute.test.com:80", "8.8.8.8:80"} {
		if _, err := g.Dial(gone, "tcp", address); protocol.CodeOf(err) != protocol.Cancelled {
			t.Errorf("%s, cancelled: %v", address, err)
		}
	}
	if _, err := g.Dial(t.Context(), "tcp4", "[2606:4700::1]:80"); word(t, err) != "dns_error" {
		t.Errorf("tcp4 to an IPv6 address: %v", err)
	}
}
