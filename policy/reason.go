package policy

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// Reason is the stable code in details.reason of a refusal.
type Reason string

// The reasons to refuse a URL or a connection. Append only.
const (
	ReasonBadURL         Reason = "bad_url"         // not a URL that a browser could open
	ReasonScheme         Reason = "scheme"          // not http, https or about:blank
	ReasonUserinfo       Reason = "userinfo"        // user:password@ in the URL
	ReasonPort           Reason = "port"            // a port that is not open, or port 0
	ReasonUnspecified    Reason = "ip_unspecified"  // 0.0.0.0/8 and [::]
	ReasonLoopback       Reason = "ip_loopback"     // 127.0.0.0/8 and [::1]
	ReasonPrivate        Reason = "ip_private"      // RFC 1918 and RFC 4193
	ReasonLinkLocal      Reason = "ip_link_local"   // 169.254.0.0/16 and fe80::/10
	ReasonCGNAT          Reason = "ip_cgnat"        // 100.64.0.0/10, RFC 6598
	ReasonMulticast      Reason = "ip_multicast"    // 224.0.0.0/4 and ff00::/8
	ReasonMetadata       Reason = "ip_metadata"     // a cloud's metadata address outside the ranges above
	ReasonSpecial        Reason = "ip_special"      // everything else that IANA lists as special-purpose
	ReasonSelf           Reason = "ip_self"         // the daemon's own port, or a public address of its machine
	ReasonNameLocal      Reason = "name_local"      // localhost and what is below it
	ReasonNameInternal   Reason = "name_internal"   // a name that only a private network can resolve
	ReasonHostDenied     Reason = "host_denied"     // named by policy.denied_domains
	ReasonNotAllowlisted Reason = "not_allowlisted" // not named by policy.allowed_domains, or the session's own
)

// The reasons why an allowed connection fails: details.reason of a navigation_failed
// error. Append only.
const (
	ReasonDNS      Reason = "dns_error"      // the name has no address, or its DNS servers do not answer
	ReasonConnect  Reason = "connect_failed" // none of the addresses answers
	ReasonProxy    Reason = "proxy"          // the session's proxy does not answer, or refuses
	ReasonUpstream Reason = "upstream_proxy" // policy.upstream_proxy does not answer, or refuses
)

// checkTarget checks u without a DNS lookup. If it returns nil, an address may be dialled
// and a name may be looked up.
func (g *Gate) checkTarget(u target) error {
	p, s := g.policy, g.state()
	if u.port == 0 {
		return denied(ReasonPort, u, "port 0 cannot be opened")
	}
	reason, what, absolute, err := p.classify(u)
	switch {
	case err != nil:
		return err
	case p.isSelf(s, u):
		return denied(ReasonSelf, u, "%s is browserd itself, which is never opened", u.hostPort())
	case absolute:
		return denied(reason, u, "%s is %s, which is never opened", u.host(), what)
	case p.deniedDomains.matches(u):
		return denied(ReasonHostDenied, u, "%s is named by policy.denied_domains", u.host())
	case reason != "" && !s.allow.matches(u):
		return withSetting(denied(reason, u, "%s is %s, and policy.allow_hosts does not name it", u.host(), what),
			"allow_hosts", u.allowEntry())
	case len(p.allowedDomains) > 0 && !p.allowedDomains.matches(u) && !s.domains.matches(u):
		return withSetting(denied(ReasonNotAllowlisted, u, "%s is not among policy.allowed_domains", u.host()),
			"allowed_domains", strings.Trim(u.host(), "[]"))
	case len(g.session) > 0 && !g.session.matches(u):
		return denied(ReasonNotAllowlisted, u, "%s is not among the session's allowed_domains", u.host()).
			Then("open another address, or a session whose allowed_domains name this one")
	case !p.allowsPort(s, u):
		return withSetting(denied(ReasonPort, u, "port %d of %s is not among policy.ports", u.port, u.host()),
			"allow_hosts", u.hostPort())
	}
	return nil
}

// checkAnswer checks one address to which u's name resolves, after checkTarget has allowed
// the name. An AllowHosts entry that names the host allows its addresses too.
func (g *Gate) checkAnswer(u target, addr netip.Addr) error {
	p, s := g.policy, g.state()
	at := target{addr: addr, port: u.port}
	reason, what, absolute, err := p.classify(at)
	switch {
	case err != nil:
		return err
	case p.isSelf(s, at):
		return denied(ReasonSelf, u, "%s resolves to %s, and that is browserd itself, which is never opened", u.host(), at.hostPort()).
			With("address", addr.String())
	case absolute:
		return denied(reason, u, "%s resolves to %s, %s, which is never opened", u.host(), addr, what).
			With("address", addr.String())
	case p.deniedDomains.matches(at):
		return denied(ReasonHostDenied, u, "%s resolves to %s, which policy.denied_domains names", u.host(), addr).
			With("address", addr.String())
	case reason != "" && !s.allow.matches(u) && !s.allow.matches(at):
		return withSetting(denied(reason, u, "%s resolves to %s, %s, and policy.allow_hosts names neither", u.host(), addr, what).
			With("address", addr.String()), "allow_hosts", u.allowEntry())
	}
	return nil
}

// classify returns why u's host is not public: the reason, its description, and whether it
// is refused even if an operator allows it (absolute). The reason is empty for a public host.
func (p *Policy) classify(u target) (reason Reason, what string, absolute bool, err error) {
	if u.name != "" {
		reason, what, absolute = classifyName(u.name)
		return reason, what, absolute, nil
	}
	if reason, what, absolute = classifyAddr(u.addr); reason != "" {
		return reason, what, absolute, nil
	}
	own, err := p.own.has(u.addr)
	switch {
	case err != nil:
		return "", "", false, protocol.Errorf(protocol.PolicyDenied, "%s cannot be told from this machine's own addresses: %w", u.host(), err).
			With("reason", string(ReasonSelf)).With("host", u.host()).
			Then("tell the operator: the daemon's log says why")
	case own:
		return ReasonSelf, "an address of this machine", false, nil
	}
	return "", "", false, nil
}

// isSelf reports whether u is a port of the daemon: at the address on which it listens, at
// any loopback or unspecified address or local name, or at any address of the machine,
// since on most machines these lead to the same socket.
func (p *Policy) isSelf(s *state, u target) bool {
	ours := slices.ContainsFunc(s.self, func(a netip.AddrPort) bool { return a.Port() == u.port })
	if !ours {
		return false
	}
	if u.name != "" {
		r, _, _ := classifyName(u.name)
		return r == ReasonNameLocal
	}
	a := u.addr.Unmap()
	if a.IsLoopback() || a.IsUnspecified() || slices.ContainsFunc(s.self, func(o netip.AddrPort) bool { return o.Port() == u.port && o.Addr().Unmap() == a }) {
		return true
	}
	own, err := p.own.has(a)
	return own || err != nil
}

// allowsPort reports whether the port is in Config.Ports, or an AllowHosts entry allows it
// on this host: the port that the entry names, or, if it names none, every port that a
// browser would open.
func (p *Policy) allowsPort(s *state, u target) bool {
	if slices.Contains(p.ports, u.port) {
		return true
	}
	return slices.ContainsFunc(s.allow, func(e entry) bool {
		return e.matches(u) && (e.port != 0 || !badPorts[u.port])
	})
}

func denied(reason Reason, u target, format string, args ...any) *protocol.Error {
	e := protocol.Errorf(protocol.PolicyDenied, format, args...).
		With("reason", string(reason)).With("host", u.host()).
		Then("open another address: no setting allows this one")
	if u.addr.IsValid() {
		e.With("address", u.addr.Unmap().String())
	}
	return e
}

// withSetting adds to a refusal the entry that an operator would have to add to the list
// policy.key for the same request to be allowed.
func withSetting(e *protocol.Error, key, add string) *protocol.Error {
	e.With("config", map[string]any{"key": "policy." + key, "add": []string{add}})
	if key == "allow_hosts" {
		return e.Then("open a public address, or ask the operator for: browserd allow %s", add)
	}
	return e.Then("ask the operator to add %q to policy.%s, or open a public address", add, key)
}
