// Package policy answers one question: may this happen? Today it is asked
// about URLs, before they reach a browser or a fetcher. It owns the rules on
// schemes, hosts and addresses, and the parsing that makes one host of all
// its spellings; it must never look a name up or send a packet in order to
// decide.
//
// A Policy does not change after New, so any goroutine may use it.
package policy

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Config is what an operator may say about egress.
type Config struct {
	// AllowHosts opens what is private: each entry is a host, *.domain, an
	// address or a CIDR, with an optional port. Public hosts need no entry.
	AllowHosts []string `koanf:"allow_hosts" doc:"hosts, *.domains, addresses and CIDRs that are opened although private, each with an optional port"`

	Autonomy       string        `koanf:"autonomy" default:"full" oneof:"full supervised read_only" doc:"what agents do by themselves: full: whatever is allowed; supervised: an operator is asked before the commands of policy.confirm; read_only: they go to pages and read them, and change nothing. A token's own autonomy goes before it"`
	Confirm        []string      `koanf:"confirm" default:"eval,http_request,upload,cookies_get,cookies_set,state_save,state_load" doc:"commands that a supervised agent runs only after an operator's confirm; wait with an expression counts as eval, session_open with a state as state_load"`
	ConfirmTimeout time.Duration `koanf:"confirm_timeout" default:"60s" doc:"how long a command waits for an operator's confirm, within its own timeout_ms; then the answer is no"`
}

// Check says which entry is wrong, if one is.
func (c Config) Check() error {
	if err := c.checkAutonomy(); err != nil {
		return err
	}
	_, err := New(c)
	return err
}

// Reason is the stable word in details.reason of a refusal.
type Reason string

// The reasons a URL is refused for. Append only.
const (
	ReasonBadURL       Reason = "bad_url"        // no URL that a browser could open
	ReasonScheme       Reason = "scheme"         // not http, https or about:blank
	ReasonUserinfo     Reason = "userinfo"       // user:password@ in the URL
	ReasonPort         Reason = "port"           // port 0
	ReasonUnspecified  Reason = "ip_unspecified" // 0.0.0.0/8 and [::]
	ReasonLoopback     Reason = "ip_loopback"    // 127.0.0.0/8 and [::1]
	ReasonPrivate      Reason = "ip_private"     // RFC 1918 and RFC 4193
	ReasonLinkLocal    Reason = "ip_link_local"  // 169.254.0.0/16 and fe80::/10
	ReasonCGNAT        Reason = "ip_cgnat"       // 100.64.0.0/10, RFC 6598
	ReasonMulticast    Reason = "ip_multicast"   // 224.0.0.0/4 and ff00::/8
	ReasonMetadata     Reason = "ip_metadata"    // a cloud's metadata address outside the ranges above
	ReasonSpecial      Reason = "ip_special"     // everything else that IANA lists as special-purpose
	ReasonSelf         Reason = "ip_self"        // the daemon's own port
	ReasonNameLocal    Reason = "name_local"     // localhost and what is below it
	ReasonNameInternal Reason = "name_internal"  // a name that only a private network can resolve
)

// Policy decides. Make one with New.
type Policy struct {
	allow []entry
	self  []netip.AddrPort
}

// New returns the policy that cfg describes. self are the addresses on which
// the daemon itself listens: they stay shut whatever cfg allows. An entry of
// cfg that is no host, *.domain, address or CIDR is an error that begins with
// the key's name and quotes the entry.
func New(cfg Config, self ...netip.AddrPort) (*Policy, error) {
	p := &Policy{self: self}
	for _, s := range cfg.AllowHosts {
		e, err := parseEntry(s)
		if err != nil {
			return nil, fmt.Errorf("policy.allow_hosts: %w", err)
		}
		p.allow = append(p.allow, e)
	}
	return p, nil
}

// CheckURL says whether an agent may open raw, and returns it in the one
// spelling that every source is given, so that nobody parses another host out
// of it than the one that was checked. Only http, https and about:blank pass;
// a private host or address needs an entry in AllowHosts, and the daemon's own
// address and the clouds' metadata services are refused even then.
//
// raw is read as a browser reads it (WHATWG URL): 2130706433, 0x7f.1,
// 0177.0.0.1 and fullwidth digits are all 127.0.0.1. Unlike a browser,
// CheckURL refuses user info, control characters other than tabs, and URLs
// without a scheme; the error's next step then names the URL that was
// probably meant (see Complete).
//
// A name is judged by its letters alone: it is not looked up here, so a public
// name whose address is private passes. What dials must check the addresses.
//
// The error is a *protocol.Error: InvalidParams where raw is no URL,
// PolicyDenied otherwise; details.reason is a Reason, details.host the host as
// it was understood, and details.config what an operator would have to add.
// ctx bounds the check; today nothing in it waits.
func (p *Policy) CheckURL(ctx context.Context, raw string) (canonical string, err error) {
	if err := ctx.Err(); err != nil {
		return "", protocol.Errorf(protocol.Cancelled, "checking a URL: %w", err)
	}
	u, perr := parseURL(raw)
	if perr != nil {
		return "", perr
	}
	if u.blank {
		return "about:blank", nil
	}
	if err := p.checkHost(u); err != nil {
		return "", err
	}
	return u.String(), nil
}

func (p *Policy) checkHost(u target) error {
	if u.port == 0 {
		return denied(ReasonPort, u, "port 0 cannot be opened")
	}
	if p.isSelf(u) {
		return denied(ReasonSelf, u, "%s is browserd itself, which is never opened", u.hostPort())
	}
	reason, what, never := classify(u)
	switch {
	case reason == "":
		return nil
	case never:
		return denied(reason, u, "%s is %s, which is never opened", u.host(), what)
	case p.allowed(u):
		return nil
	}
	add := u.allowEntry()
	return denied(reason, u, "%s is %s, and policy.allow_hosts does not name it", u.host(), what).
		With("config", map[string]any{"key": "policy.allow_hosts", "add": []string{add}}).
		Then("ask the operator to add %q to policy.allow_hosts, or open a public address", add)
}

func denied(reason Reason, u target, format string, args ...any) *protocol.Error {
	return protocol.Errorf(protocol.PolicyDenied, format, args...).
		With("reason", string(reason)).With("host", u.host()).
		Then("open another address: no setting allows this one")
}

func (p *Policy) allowed(u target) bool {
	for _, e := range p.allow {
		if e.matches(u) {
			return true
		}
	}
	return false
}

// isSelf is true for the daemon's own port at the address it listens on, and
// at any loopback or unspecified address or local name: those lead to the same
// socket on most machines.
func (p *Policy) isSelf(u target) bool {
	local := u.addr.IsLoopback() || u.addr.IsUnspecified()
	if u.name != "" {
		r, _, _ := classifyName(u.name)
		local = r == ReasonNameLocal
	}
	for _, s := range p.self {
		if u.port == s.Port() && (local || u.addr.Unmap() == s.Addr().Unmap()) {
			return true
		}
	}
	return false
}
