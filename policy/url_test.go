package policy

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/browserd/browserd/protocol"
)

func mustNew(t testing.TB, allow ...string) *Policy {
	t.Helper()
	p, err := New(Config{AllowHosts: allow}, netip.MustParseAddrPort("127.0.0.1:9333"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// verdict is the canonical URL, or "!" and the reason.
func verdict(t testing.TB, p *Policy, raw string) string {
	t.Helper()
	got, err := p.CheckURL(context.Background(), raw)
	if err == nil {
		return got
	}
	var e *protocol.Error
	if !errors.As(err, &e) {
		t.Fatalf("CheckURL(%q): %v is no *protocol.Error", raw, err)
	}
	reason := e.Details["reason"].(string)
	if want := map[bool]protocol.Code{true: protocol.InvalidParams, false: protocol.PolicyDenied}[reason == "bad_url"]; e.Code != want {
		t.Errorf("CheckURL(%q): code %s, want %s", raw, e.Code, want)
	}
	if e.Next == "" || e.Message == "" {
		t.Errorf("CheckURL(%q): no sentence or no next step: %+v", raw, e)
	}
	return "!" + reason
}

// A refusal names the host if the URL has one.
func TestRefusedSchemeNamesTheHost(t *testing.T) {
	p := mustNew(t)
	for raw, want := range map[string]any{"ftp://files.example.com:21/x": "files.example.com", "gopher://[::1]/": "::1", "file:///etc/passwd": nil, "javascript:alert(1)": nil} {
		_, err := p.CheckURL(context.Background(), raw)
		var e *protocol.Error
		if !errors.As(err, &e) || e.Details["host"] != want {
			t.Errorf("%s: %v, want the host %v", raw, err, want)
		}
	}
}

func TestCheckURL(t *testing.T) {
	p := mustNew(t)
	for _, c := range []struct{ raw, want string }{
		{"https://example.com", "https://example.com/"},
		{"https://example.com:443/a?b#c", "https://example.com/a?b#c"},
		{"http://example.com:443/", "http://example.com:443/"},
		{"HtTpS://EXAMPLE.com./", "https://example.com/"},
		{"  https://example.com/ \n", "https://example.com/"},
		{`http:\\example.com\a\b?c\d`, `http://example.com/a/b?c\d`},
		{"http://example.com?q=日 本'", "http://example.com/?q=%E6%97%A5%20%E6%9C%AC%27"},
		{"http://bücher.example.com/ü", "http://xn--bcher-kva.example.com/%C3%BC"},
		{"about:blank", "about:blank"},
		{"ABOUT:Blank", "about:blank"},

		{"about:version", "!scheme"},
		{"about:blank#x", "!scheme"},
		{"file:///etc/passwd", "!scheme"},
		{"view-source:http://example.com/", "!scheme"},
		{"chrome://settings", "!scheme"},
		{"javascript:alert(1)", "!scheme"},
		{"java\tscript:alert(1)", "!scheme"},
		{"data:text/html,x", "!scheme"},
		{"blob:https://example.com/x", "!scheme"},
		{"ws://example.com/", "!scheme"},

		{"http://user@example.com/", "!userinfo"},
		{"http://:@example.com/", "!userinfo"},
		{"http://@example.com/", "!userinfo"},
		{"http://example.com/@", "http://example.com/@"},
		{"http://example.com:0/", "!port"},
		{"http://127.0.0.1:9333/", "!ip_self"},
		{"http://localhost:9333/", "!ip_self"},
		{"http://0.0.0.0:9333/", "!ip_self"},

		{"", "!bad_url"},
		{"example.com", "!bad_url"},
		{"localhost:3000", "!bad_url"},
		{"/etc/passwd", "!bad_url"},
		{"http://", "!bad_url"},
		{"https:?x", "!bad_url"},
		{"http://a b/", "!bad_url"},
		{"http://a%00b/", "!bad_url"},
		{"http://a%2fb/", "!bad_url"},
		{"http://a%zzb/", "!bad_url"},
		{"http://a`b.com/", "!bad_url"},
		{"http://{a}.com/", "!bad_url"},
		{"http://a!$&'()*+,;=_b.com/", "http://a!$&'()*+,;=_b.com/"},
		{"http://example.com:x/", "!bad_url"},
		{"http://example.com:65536/", "!bad_url"},
		{"http://exa\nmple.com/", "!bad_url"},
		{"http://example.com/\x7f", "!bad_url"},
		{"http://example.com/\xff", "!bad_url"},
		{"http://[::1", "!bad_url"},
		{"http://[::1]x/", "!bad_url"},
		{"http://[fe80::1%25eth0]/", "!bad_url"},
		{"http://1.2.3.4.5/", "!bad_url"},
		{"http://1.2.3.256/", "!bad_url"},
		{"http://example.1/", "!bad_url"},
		{"http://4294967296/", "!bad_url"},

		// Every spelling of 127.0.0.1, and the near misses.
		{"http://127.0.0.1/", "!ip_loopback"},
		{"http://2130706433/", "!ip_loopback"},
		{"http://0x7f.1/", "!ip_loopback"},
		{"http://0X7F000001/", "!ip_loopback"},
		{"http://0177.0.0.1/", "!ip_loopback"},
		{"http://127.1/", "!ip_loopback"},
		{"http://127.0.0.1./", "!ip_loopback"},
		{"http://%31%32%37.0.0.1/", "!ip_loopback"},
		{"http://１２７。０．０｡１/", "!ip_loopback"},
		{"http://[::ffff:127.0.0.1]/", "!ip_loopback"},
		{"http:127.0.0.1", "!ip_loopback"},
		{"http://126.255.255.255/", "http://126.255.255.255/"},
		{"http://128.0.0.0/", "http://128.0.0.0/"},
		{"http://2147483648/", "http://128.0.0.0/"},
		{"http://0127.0.0.1/", "http://87.0.0.1/"},

		{"http://0/", "!ip_unspecified"},
		{"http://0x/", "!ip_unspecified"},
		{"http://1.0.0.0/", "http://1.0.0.0/"},
		{"http://9.255.255.255/", "http://9.255.255.255/"},
		{"http://10.0.0.0/", "!ip_private"},
		{"http://11.0.0.0/", "http://11.0.0.0/"},
		{"http://100.63.255.255/", "http://100.63.255.255/"},
		{"http://100.64.0.0/", "!ip_cgnat"},
		{"http://100.127.255.255/", "!ip_cgnat"},
		{"http://100.128.0.0/", "http://100.128.0.0/"},
		{"http://169.253.255.255/", "http://169.253.255.255/"},
		{"http://169.254.0.0/", "!ip_link_local"},
		{"http://169.255.0.0/", "http://169.255.0.0/"},
		{"http://172.15.255.255/", "http://172.15.255.255/"},
		{"http://172.16.0.0/", "!ip_private"},
		{"http://172.32.0.0/", "http://172.32.0.0/"},
		{"http://192.168.255.255/", "!ip_private"},
		{"http://192.169.0.0/", "http://192.169.0.0/"},
		{"http://223.255.255.255/", "http://223.255.255.255/"},
		{"http://224.0.0.1/", "!ip_multicast"},
		{"http://240.0.0.1/", "!ip_special"},
		{"http://255.255.255.255/", "!ip_special"},
		{"http://168.63.129.16/", "!ip_metadata"},
		{"http://168.63.129.15/", "http://168.63.129.15/"},

		{"http://[::]/", "!ip_unspecified"},
		{"http://[::1]/", "!ip_loopback"},
		{"http://[::2]/", "!ip_special"},
		{"http://[fbff::1]/", "!ip_special"},
		{"http://[fc00::1]/", "!ip_private"},
		{"http://[fdff::1]/", "!ip_private"},
		{"http://[fe80::1]/", "!ip_link_local"},
		{"http://[fec0::1]/", "!ip_special"},
		{"http://[ff02::1]/", "!ip_multicast"},
		{"http://[64:ff9b::8.8.8.8]/", "!ip_special"},
		{"http://[::ffff:8.8.8.8]/", "!ip_special"},
		{"http://[2001:200::1]/", "http://[2001:200::1]/"},
		{"http://[2001:1ff::1]/", "!ip_special"},
		{"http://[2002:808:808::1]/", "!ip_special"},
		{"http://[3ffe::1]/", "http://[3ffe::1]/"},
		{"http://[3fff:fff::1]/", "!ip_special"},
		{"http://[3fff:1000::1]/", "http://[3fff:1000::1]/"},
		{"http://[1fff::1]/", "!ip_special"},
		{"http://[4000::1]/", "!ip_special"},

		{"http://localhost/", "!name_local"},
		{"http://a.LOCALHOST./", "!name_local"},
		{"http://lo\u00adcalho\u017ft/", "!name_local"},
		{"http://notlocalhost.com/", "http://notlocalhost.com/"},
		{"http://localhost.com/", "http://localhost.com/"},
		{"http://intranet/", "!name_internal"},
		{"http://nas.local/", "!name_internal"},
		{"http://router.home.arpa/", "!name_internal"},
		{"http://x.svc/", "!name_internal"},
		{"http://api.default.svc.cluster.local/", "!name_internal"},
		{"http://host.docker.internal/", "!name_internal"},
		{"http://metadata.google.internal/", "!name_internal"},
		{"http://a.onion/", "!name_internal"},
		{"http://mylan.com/", "http://mylan.com/"},
		{"http://internal.example.com/", "http://internal.example.com/"},
		{"http://my_host.example.com/", "http://my_host.example.com/"},
	} {
		if got := verdict(t, p, c.raw); got != c.want {
			t.Errorf("CheckURL(%q): got %s, want %s", c.raw, got, c.want)
		}
	}
}

func TestAllowHosts(t *testing.T) {
	for _, c := range []struct {
		allow []string
		raw   string
		want  string
	}{
		{[]string{"127.0.0.1"}, "http://127.0.0.1:8000/", "http://127.0.0.1:8000/"},
		{[]string{"127.0.0.1"}, "http://0x7f.1:8000/", "http://127.0.0.1:8000/"},
		{[]string{"127.0.0.1"}, "http://127.0.0.2/", "!ip_loopback"},
		{[]string{"127.0.0.1"}, "http://localhost/", "!name_local"},
		{[]string{"127.0.0.1"}, "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"},
		{[]string{"127.0.0.1:8000"}, "http://127.0.0.1:8000/", "http://127.0.0.1:8000/"},
		{[]string{"127.0.0.1:8000"}, "http://127.0.0.1:8001/", "!ip_loopback"},
		{[]string{"127.0.0.1:80"}, "http://127.0.0.1/", "http://127.0.0.1/"},
		{[]string{"127.0.0.1:80"}, "https://127.0.0.1/", "!ip_loopback"},
		{[]string{"LocalHost."}, "http://localhost:3000/", "http://localhost:3000/"},
		{[]string{"localhost"}, "http://a.localhost/", "!name_local"},
		{[]string{"*.localhost"}, "http://a.b.localhost/", "http://a.b.localhost/"},
		{[]string{"*.localhost"}, "http://localhost/", "!name_local"},
		{[]string{"*.corp:8080"}, "http://wiki.corp:8080/", "http://wiki.corp:8080/"},
		{[]string{"*.corp:8080"}, "http://wiki.corp/", "!name_internal"},
		{[]string{"10.1.0.0/16"}, "http://10.1.255.255/", "http://10.1.255.255/"},
		{[]string{"10.1.0.0/16"}, "http://10.2.0.0/", "!ip_private"},
		{[]string{"10.1.0.0/16:8443"}, "https://10.1.0.1:8443/", "https://10.1.0.1:8443/"},
		{[]string{"10.1.0.0/16:8443"}, "https://10.1.0.1/", "!ip_private"},
		{[]string{"::1"}, "http://[::1]:5000/", "http://[::1]:5000/"},
		{[]string{"[::1]:5000"}, "http://[::1]:5000/", "http://[::1]:5000/"},
		{[]string{"[::1]:5000"}, "http://[::1]:5001/", "!ip_loopback"},
		{[]string{"fd00::/8"}, "http://[fd12::1]/", "http://[fd12::1]/"},
		{[]string{"[fd00::/8]:80"}, "http://[fd12::1]/", "http://[fd12::1]/"},

		// What no setting allows.
		{[]string{"0.0.0.0/0", "::/0"}, "http://169.254.169.254/", "!ip_link_local"},
		{[]string{"169.254.169.254"}, "http://169.254.169.254/", "!ip_link_local"},
		{[]string{"0.0.0.0/0", "::/0"}, "http://[fd00:ec2::254]/", "!ip_private"},
		{[]string{"0.0.0.0/0"}, "http://168.63.129.16/", "!ip_metadata"},
		{[]string{"*.internal"}, "http://metadata.google.internal/", "!name_internal"},
		{[]string{"127.0.0.1:9333", "localhost"}, "http://127.0.0.1:9333/", "!ip_self"},
		{[]string{"127.0.0.1:9333", "localhost"}, "http://localhost:9333/", "!ip_self"},
		{[]string{"127.0.0.1"}, "file:///etc/passwd", "!scheme"},
		{[]string{"127.0.0.1"}, "http://x@127.0.0.1/", "!userinfo"},
	} {
		if got := verdict(t, mustNew(t, c.allow...), c.raw); got != c.want {
			t.Errorf("allow %q, CheckURL(%q): got %s, want %s", c.allow, c.raw, got, c.want)
		}
	}
}

// A refusal names the host and the setting, so that an agent can ask for it.
func TestRefusalSaysWhatWouldAllowIt(t *testing.T) {
	_, err := mustNew(t).CheckURL(context.Background(), "http://2130706433:8000/x")
	var e *protocol.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	got := protocol.ErrorData{Code: e.Code, Message: e.Message, Next: e.Next, Details: e.Details}
	want := protocol.ErrorData{
		Code:    "policy_denied",
		Message: "127.0.0.1 is a loopback address, and policy.allow_hosts does not name it",
		Next:    `open a public address, or ask the operator for: browserd allow 127.0.0.1:8000`,
		Details: map[string]any{
			"reason":  "ip_loopback",
			"address": "127.0.0.1",
			"host":    "127.0.0.1",
			"config":  map[string]any{"key": "policy.allow_hosts", "add": []string{"127.0.0.1:8000"}},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if got := verdict(t, mustNew(t, "127.0.0.1:8000"), "http://2130706433:8000/x"); strings.HasPrefix(got, "!") {
		t.Errorf("what details.config names does not open it: %s", got)
	}
}

func TestBadEntry(t *testing.T) {
	for _, c := range []struct{ entry, want string }{
		{"", `policy.allow_hosts: "": accepts a host, *.domain, address or CIDR with an optional port: it is empty`},
		{"http://localhost", `policy.allow_hosts: "http://localhost": accepts a host, *.domain, address or CIDR with an optional port: write the host alone, without a scheme`},
		{"*", `policy.allow_hosts: "*": accepts a host, *.domain, address or CIDR with an optional port: a star stands only in front, as *.domain`},
		{"a.*.com", `policy.allow_hosts: "a.*.com": accepts a host, *.domain, address or CIDR with an optional port: a star stands only in front, as *.domain`},
		{"*.10.0.0.1", `policy.allow_hosts: "*.10.0.0.1": accepts a host, *.domain, address or CIDR with an optional port: a range of addresses is written as a CIDR`},
		{"10.0.0.1/8", `policy.allow_hosts: "10.0.0.1/8": accepts a host, *.domain, address or CIDR with an optional port: 10.0.0.1/8 has bits set beyond its length; 10.0.0.0/8 is the network`},
		{"localhost/x", `policy.allow_hosts: "localhost/x": accepts a host, *.domain, address or CIDR with an optional port: a CIDR looks like 10.0.0.0/8, and a path cannot be given`},
		{"localhost:http", `policy.allow_hosts: "localhost:http": accepts a host, *.domain, address or CIDR with an optional port: "http" is no port between 1 and 65535`},
		{"localhost:0", `policy.allow_hosts: "localhost:0": accepts a host, *.domain, address or CIDR with an optional port: "0" is no port between 1 and 65535`},
		{"[::1", `policy.allow_hosts: "[::1": accepts a host, *.domain, address or CIDR with an optional port: the bracket is not closed`},
		{"[localhost]", `policy.allow_hosts: "[localhost]": accepts a host, *.domain, address or CIDR with an optional port: brackets are for IPv6`},
		{"fe80::1%eth0", `policy.allow_hosts: "fe80::1%eth0": accepts a host, *.domain, address or CIDR with an optional port: [fe80::1%eth0] is no IPv6 address`},
		{"a b", `policy.allow_hosts: "a b": accepts a host, *.domain, address or CIDR with an optional port: "a b" is no host`},
	} {
		_, err := New(Config{AllowHosts: []string{"ok.example.com", c.entry}})
		if err == nil {
			t.Errorf("%q is accepted", c.entry)
		} else if err.Error() != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.entry, err, c.want)
		}
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"example.com", "https://example.com"},
		{" example.com/a?b \n", "https://example.com/a?b"},
		{"example.com:443", "https://example.com:443"},
		{"example.com:8443/x", "https://example.com:8443/x"},
		{"example.com:8080", "http://example.com:8080"},
		{"localhost", "http://localhost"},
		{"localhost:3000", "http://localhost:3000"},
		{"127.0.0.1:8000/a", "http://127.0.0.1:8000/a"},
		{"[::1]:8000", "http://[::1]:8000"},
		{"nas.local", "http://nas.local"},
		{"https://example.com", "https://example.com"},
		{"javascript:1", "javascript:1"},
		{"file:///etc/passwd", "file:///etc/passwd"},
		{"about:blank", "about:blank"},
		{"user@example.com", "user@example.com"},
		{"intranet", "intranet"},
		{"/etc/passwd", "/etc/passwd"},
		{"hello world.", "hello world."},
		{"", ""},
		{"..", ".."},
	} {
		if got := Complete(c.raw); got != c.want {
			t.Errorf("Complete(%q): got %q, want %q", c.raw, got, c.want)
		}
	}
	_, err := mustNew(t).CheckURL(context.Background(), "localhost:3000")
	var e *protocol.Error
	if !errors.As(err, &e) || e.Next != `send url "http://localhost:3000", if that is what is meant` {
		t.Errorf("the next step of a URL without a scheme: %v, %q", err, e.Next)
	}
}

// For any input: an allowed URL has a public host that Go's parser reads as the same
// host, and checking the result again does not change it.
func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{
		"https://example.com/a?b#c", "http://0x7f.1/", "http:\\\\127.1\\", "http://１２７.0.0.1", "http://[::ffff:7f00:1]:80/",
		"http://a@b/", "localhost:3000", "http://ex%61mple.com:8080//x", "about:blank", "http://xn--bcher-kva.example/", "http://a.b\t.c/", "http:0.`", "../%2e/x", "//a.com\\b",
	} {
		f.Add(s)
	}
	p, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got := verdict(t, p, raw)
		Complete(raw)
		if strings.HasPrefix(got, "!") || got == "about:blank" {
			return
		}
		if again := verdict(t, p, got); again != got {
			t.Fatalf("%q: %q, and checked again %q", raw, got, again)
		}
		// Go refuses a % that begins no escape; the host is what counts.
		parts := strings.SplitN(got, "/", 4)
		u, err := url.Parse(parts[0] + "//" + parts[2])
		if err != nil || u.User != nil {
			t.Fatalf("%q: %q: %v", raw, got, err)
		}
		if a, err := netip.ParseAddr(u.Hostname()); err == nil {
			if reason, _, _ := classifyAddr(a); reason != "" {
				t.Fatalf("%q: %q is %s", raw, got, reason)
			}
		} else if reason, _, _ := classifyName(u.Hostname()); reason != "" {
			t.Fatalf("%q: %q is %s", raw, got, reason)
		}
	})
}
