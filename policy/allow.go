package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// entry is one line of a list of hosts: exactly one of all, name, subdomainsOf
// and prefix.
type entry struct {
	all bool // every host

	name         string       // this host
	subdomainsOf string       // every subdomain of this domain, not the domain itself
	prefix       netip.Prefix // every address in it
	port         uint16       // 0: any
}

func (e entry) matches(u target) bool {
	if e.port != 0 && e.port != u.port {
		return false
	}
	switch {
	case e.all:
		return true
	case e.prefix.IsValid():
		return u.addr.IsValid() && e.prefix.Contains(u.addr.Unmap())
	case e.subdomainsOf != "":
		return strings.HasSuffix(u.name, "."+e.subdomainsOf)
	}
	return u.name != "" && u.name == e.name
}

// list is the entries of one key.
type list []entry

func (l list) matches(u target) bool {
	return slices.ContainsFunc(l, func(e entry) bool { return e.matches(u) })
}

// parseList reads the lines of AllowHosts.
func parseList(lines []string) (list, error) {
	var l list
	for _, s := range lines {
		e, err := parseAllowEntry(s)
		if err != nil {
			return nil, err
		}
		l = append(l, e)
	}
	return l, nil
}

// parseAllowEntry is parseEntry for an entry that allows hosts. It refuses a public suffix
// such as *.co.uk, under which anybody may register a name.
func parseAllowEntry(s string) (entry, error) {
	e, err := parseEntry(s)
	if err != nil || e.subdomainsOf == "" {
		return e, err
	}
	if suffix, icann := publicsuffix.PublicSuffix(e.subdomainsOf); icann && suffix == e.subdomainsOf {
		return entry{}, fmt.Errorf("%q: anybody may register a name below %s; name the domain that is meant", s, e.subdomainsOf)
	}
	return e, nil
}

// parseAllowedDomains reads the lines of AllowedDomains: those of AllowHosts, and *
// for every host.
func parseAllowedDomains(lines []string) (list, error) {
	var l list
	for _, s := range lines {
		if strings.TrimSpace(s) == "*" {
			l = append(l, entry{all: true})
			continue
		}
		e, err := parseAllowEntry(s)
		if err != nil {
			return nil, err
		}
		l = append(l, e)
	}
	return l, nil
}

// parseDenied reads the lines of DeniedDomains. A host there includes its subdomains.
func parseDenied(lines []string) (list, error) {
	var l list
	for _, s := range lines {
		e, err := parseEntry(s)
		if err != nil {
			return nil, err
		}
		l = append(l, e)
		if e.name != "" {
			l = append(l, entry{subdomainsOf: e.name, port: e.port})
		}
	}
	return l, nil
}

// parseEntry reads host, *.domain, ADDRESS or CIDR, each with an optional
// :PORT. An IPv6 address with a port is in brackets.
func parseEntry(s string) (entry, error) {
	wrong := func(why string) (entry, error) {
		return entry{}, fmt.Errorf("%q: accepts a host, *.domain, address or CIDR with an optional port: %s", s, why)
	}
	if strings.TrimSpace(s) == "" {
		return wrong("it is empty")
	}
	if strings.Contains(s, "://") {
		return wrong("write the host alone, without a scheme")
	}
	host, port, err := cutPort(s)
	if err != nil {
		return wrong(err.Error())
	}
	e := entry{port: port}

	if pre, err := netip.ParsePrefix(host); err == nil {
		if pre.Masked() != pre {
			return wrong(fmt.Sprintf("%s has bits set beyond its length; %s is the network", pre, pre.Masked()))
		}
		e.prefix = pre
		return e, nil
	}
	if strings.Contains(host, "/") {
		return wrong("a CIDR looks like 10.0.0.0/8, and a path cannot be given")
	}
	if strings.Contains(host, ":") {
		a, err := parseIPv6(host)
		if err != nil {
			return wrong(err.Error())
		}
		a = a.Unmap()
		e.prefix = netip.PrefixFrom(a, a.BitLen())
		return e, nil
	}
	name, wildcard := strings.CutPrefix(host, "*.")
	if strings.Contains(name, "*") {
		return wrong("a star stands only in front, as *.domain")
	}
	name, addr, err := parseHost(name)
	switch {
	case err != nil:
		return wrong(err.Error())
	case addr.IsValid() && wildcard:
		return wrong("a range of addresses is written as a CIDR")
	case addr.IsValid():
		e.prefix = netip.PrefixFrom(addr, addr.BitLen())
	case wildcard:
		e.subdomainsOf = name
	default:
		e.name = name
	}
	return e, nil
}

// cutPort cuts :PORT off the end. A colon of an IPv6 address or CIDR without brackets
// does not begin a port.
func cutPort(s string) (host string, port uint16, err error) {
	host, digits, found := s, "", false
	if rest, ok := strings.CutPrefix(s, "["); ok {
		var tail string
		host, tail, ok = strings.Cut(rest, "]")
		if !ok {
			return "", 0, fmt.Errorf("the bracket is not closed")
		}
		if !strings.Contains(host, ":") {
			return "", 0, fmt.Errorf("brackets are for IPv6")
		}
		if tail == "" {
			return host, 0, nil
		}
		if digits, found = strings.CutPrefix(tail, ":"); !found {
			return "", 0, fmt.Errorf("%q follows the bracket", tail)
		}
	} else if strings.Count(s, ":") == 1 {
		host, digits, found = strings.Cut(s, ":")
	}
	if !found {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q is no port between 1 and 65535", digits)
	}
	return host, uint16(n), nil
}
