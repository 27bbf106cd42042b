package policy

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/browserd/browserd/protocol"
)

// maxURL is the longest URL that is accepted, in bytes.
const maxURL = 64 << 10

// target is a URL as a browser understands it: about:blank, or a scheme, one
// of name and addr, a port, and the rest.
type target struct {
	blank  bool
	scheme string     // http or https
	name   string     // ASCII, lower case, no trailing dot
	addr   netip.Addr // where the host is an address
	port   uint16     // the effective one
	path   string     // path, query and fragment, from the slash on
}

func (u target) defaultPort() uint16 {
	if u.scheme == "https" {
		return 443
	}
	return 80
}

// host returns the host as the WHATWG serializer writes it (URL 3.6), with brackets.
func (u target) host() string {
	if u.name != "" {
		return u.name
	}
	if u.addr.Is4In6() {
		b := u.addr.As16()
		return fmt.Sprintf("[::ffff:%x:%x]", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15]))
	}
	if u.addr.Is6() {
		return "[" + u.addr.String() + "]"
	}
	return u.addr.String()
}

func (u target) hostPort() string { return u.host() + ":" + strconv.Itoa(int(u.port)) }

// allowEntry returns the narrowest entry of AllowHosts that allows u, without the port if
// it is the scheme's default.
func (u target) allowEntry() string {
	if u.port == u.defaultPort() || u.scheme == "" && u.port == 443 {
		return strings.Trim(u.host(), "[]")
	}
	return u.hostPort()
}

func (u target) String() string {
	if u.port == u.defaultPort() {
		return u.scheme + "://" + u.host() + u.path
	}
	return u.scheme + "://" + u.hostPort() + u.path
}

// parseURL reads raw as the WHATWG URL parser does for the special schemes
// http and https without a base (URL 4.4), with the refusals that CheckURL
// documents.
func parseURL(raw string) (target, error) {
	if len(raw) > maxURL {
		return target{}, badURL(raw, "it is longer than %d bytes", maxURL)
	}
	if !utf8.ValidString(raw) {
		return target{}, badURL(raw, "it is not UTF-8")
	}
	// The parser drops C0 controls and blanks around the URL, and tabs within.
	// It drops line breaks within as well. browserd refuses them: such a URL is an
	// attempt to forge a header.
	s := strings.TrimFunc(raw, func(r rune) bool { return r <= ' ' })
	s = strings.ReplaceAll(s, "\t", "")
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return target{}, badURL(raw, "it holds a control character")
	}

	scheme, after, ok := cutScheme(s)
	if !ok {
		if full := Complete(raw); full != raw {
			return target{}, badURL(raw, "it has no scheme").Then("send url %q, if that is what is meant", full)
		}
		return target{}, badURL(raw, "it has no scheme")
	}
	switch scheme {
	case "http", "https":
	case "about":
		if strings.EqualFold(after, "blank") {
			return target{blank: true}, nil
		}
		fallthrough
	default:
		if full := Complete(raw); full != raw { // localhost:3000
			return target{}, badURL(raw, "it has no scheme").Then("send url %q, if that is what is meant", full)
		}
		e := protocol.Errorf(protocol.PolicyDenied, "%s: URLs are never opened; only http and https are", cut(scheme)).
			With("reason", string(ReasonScheme)).With("scheme", cut(scheme))
		if u, err := url.Parse(s); err == nil && u.Hostname() != "" {
			e.With("host", cut(u.Hostname()))
		}
		return target{}, e.Then("send a URL that begins with http:// or https://")
	}

	u := target{scheme: scheme}
	// Special authority ignore slashes state: any number of either slash.
	after = strings.TrimLeft(after, `/\`)
	end := strings.IndexAny(after, `/\?#`)
	if end < 0 {
		end = len(after)
	}
	authority, rest := after[:end], after[end:]
	if strings.Contains(authority, "@") {
		return target{}, protocol.Errorf(protocol.PolicyDenied, "a URL may not carry a user name or password").
			With("reason", string(ReasonUserinfo)).
			Then("send the URL without what stands before the @")
	}
	host, port, err := splitAuthority(authority)
	if err != nil {
		return target{}, badURL(raw, "%v", err)
	}
	u.port = u.defaultPort()
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return target{}, badURL(raw, "%q is no port", cut(port))
		}
		u.port = uint16(n)
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		u.addr, err = parseIPv6(strings.TrimSuffix(inner, "]"))
	} else {
		u.name, u.addr, err = parseHost(host)
	}
	if err != nil {
		return target{}, badURL(raw, "%v", err)
	}
	u.path = escapePath(rest)
	return u, nil
}

func badURL(raw, format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.InvalidParams, "url %q cannot be opened: %s", cut(raw), fmt.Sprintf(format, args...)).
		With("reason", string(ReasonBadURL)).
		Then("send a whole URL, such as https://example.com/path")
}

// cut shortens a string for a message.
func cut(s string) string { return protocol.Cut(s, 100) }

// cutScheme cuts "scheme:" off the front and returns the scheme in lower case (URL 4.4,
// scheme start state and scheme state).
func cutScheme(s string) (scheme, after string, ok bool) {
	scheme, after, ok = strings.Cut(s, ":")
	if !ok || scheme == "" {
		return "", s, false
	}
	for i, r := range scheme {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", r)) {
			return "", s, false
		}
	}
	return strings.ToLower(scheme), after, true
}

func splitAuthority(s string) (host, port string, err error) {
	if strings.HasPrefix(s, "[") {
		i := strings.IndexByte(s, ']')
		if i < 0 {
			return "", "", fmt.Errorf("the bracket of its address is not closed")
		}
		host, s = s[:i+1], s[i+1:]
		if s != "" && s[0] != ':' {
			return "", "", fmt.Errorf("%q follows its address", cut(s))
		}
		return host, strings.TrimPrefix(s, ":"), nil
	}
	host, port, _ = strings.Cut(s, ":")
	return host, port, nil
}

// parseIPv6 parses an address without its brackets (URL 3.5, IPv6 parser). Zones
// are refused, as WHATWG does.
func parseIPv6(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("[%s] is no IPv6 address", cut(s))
	}
	return a, nil
}

// toASCII is the domain to ASCII of URL 3.3, beStrict false: UTS 46 without
// transitional processing, hyphen and STD3 checks.
var toASCII = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.CheckJoiners(true),
	idna.CheckHyphens(false), idna.StrictDomainName(false), idna.VerifyDNSLength(false))

// forbidden are the forbidden domain code points of URL 3.2 beyond controls,
// and what net/url accepts in no host although browsers do.
const forbidden = " #/:<>?@[\\]^|%\x7f" + "`{}"

// parseHost reads a host that is not in brackets (URL 3.5, host parser): the
// ASCII name without a trailing dot, or the IPv4 address that it spells.
func parseHost(s string) (name string, addr netip.Addr, err error) {
	if s == "" {
		return "", netip.Addr{}, fmt.Errorf("it has no host")
	}
	decoded, uerr := url.PathUnescape(s)
	if uerr != nil || !utf8.ValidString(decoded) {
		return "", netip.Addr{}, fmt.Errorf("%q is no host", cut(s))
	}
	ascii, ierr := toASCII.ToASCII(decoded)
	if ierr != nil {
		return "", netip.Addr{}, fmt.Errorf("%q is no host: %v", cut(s), ierr)
	}
	ascii = strings.ToLower(ascii)
	if strings.ContainsAny(ascii, forbidden) || strings.ContainsFunc(ascii, func(r rune) bool { return r < ' ' || r >= utf8.RuneSelf }) {
		return "", netip.Addr{}, fmt.Errorf("%q is no host", cut(s))
	}
	ascii = strings.TrimSuffix(ascii, ".")
	labels := strings.Split(ascii, ".")
	if endsInNumber(labels[len(labels)-1]) {
		a, err := parseIPv4(labels)
		if err != nil {
			return "", netip.Addr{}, fmt.Errorf("%q ends in a number and is no IPv4 address", cut(s))
		}
		return "", a, nil
	}
	for _, l := range labels {
		if l == "" || len(l) > 63 { // RFC 1035 2.3.4
			return "", netip.Addr{}, fmt.Errorf("%q is no host: a label is empty or longer than 63", cut(s))
		}
	}
	if len(ascii) > 253 {
		return "", netip.Addr{}, fmt.Errorf("%q is no host: longer than 253", cut(s))
	}
	return ascii, netip.Addr{}, nil
}

// endsInNumber returns the ends-in-a-number checker (URL 3.5) on the last label.
func endsInNumber(last string) bool {
	if last != "" && strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, err := parseIPv4Number(last)
	return err == nil
}

// parseIPv4 returns the IPv4 parser (URL 3.5): one to four numbers in base 8, 10 or
// 16, of which the last fills all bytes that are left.
func parseIPv4(labels []string) (netip.Addr, error) {
	if len(labels) > 4 {
		return netip.Addr{}, strconv.ErrSyntax
	}
	var ip uint64
	for i, l := range labels {
		n, err := parseIPv4Number(l)
		if err != nil {
			return netip.Addr{}, err
		}
		if i < len(labels)-1 {
			if n > 255 {
				return netip.Addr{}, strconv.ErrRange
			}
			ip |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(labels))) {
			return netip.Addr{}, strconv.ErrRange
		}
		ip |= n
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}), nil
}

// parseIPv4Number returns the IPv4 number parser (URL 3.5).
func parseIPv4Number(s string) (uint64, error) {
	base := 10
	switch {
	case s == "":
		return 0, strconv.ErrSyntax
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	if s == "" {
		return 0, nil // "0x" is zero
	}
	if s[0] == '+' || s[0] == '-' || strings.Contains(s, "_") {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(s, base, 64)
	if err != nil && err.(*strconv.NumError).Err == strconv.ErrRange {
		return 1 << 40, nil // a number, but never in range
	}
	return n, err
}
