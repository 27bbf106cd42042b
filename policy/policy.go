// Package policy decides which URLs and addresses may be reached, and what agents may do
// without an operator's confirmation. It owns the rules on
// schemes, hosts, addresses and ports, the URL parser behind them, DNS lookups,
// the only dialer with which the daemon leaves the machine, the egress proxy of
// Chromium's pages, and the confirmations. It never dials an address that it has
// not checked, and never checks one DNS answer and dials another.
//
// Goroutines: a Policy, its Gates, an Egress and Confirmations may be used from
// any goroutine. An Egress starts goroutines for its listeners and connections;
// Close ends them and waits. Nothing else outlives the call that started it.
package policy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures the policy. The zero value allows public hosts on the default
// ports.
type Config struct {
	// AllowHosts allows private hosts: each entry is a host, *.domain, an address or a
	// CIDR, with an optional port. Public hosts need an entry only for ports that are
	// not in Ports.
	AllowHosts []string `koanf:"allow_hosts" doc:"private hosts, *.domains, addresses and CIDRs that may be reached, each with an optional port; without a port: every port that browsers open"`
	// AllowedDomains, if not empty, are the only hosts that can be reached. It does not
	// allow private addresses.
	AllowedDomains []string `koanf:"allowed_domains" doc:"if not empty, the only hosts, *.domains, addresses and CIDRs that may be reached; it opens nothing private"`
	// DeniedDomains overrides every other key. A host includes its subdomains.
	DeniedDomains []string `koanf:"denied_domains" doc:"hosts with all below them, addresses and CIDRs that are never reachable, whatever the other keys say"`
	// Ports are the ports that may be reached. Empty means the default in the tag.
	Ports []int `koanf:"ports" default:"80,443,8080,8443" doc:"ports that may be reached; an entry of allow_hosts opens others on its host"`
	// Resolver is the address of the only DNS server to ask, with an optional port. If
	// it is empty, names are resolved as the system does.
	Resolver string `koanf:"resolver" doc:"address of the DNS server to ask, such as 1.1.1.1 or [::1]:5353; empty: as the system does"`
	// UpstreamProxy is the URL of an HTTP proxy through which everything goes.
	UpstreamProxy string `koanf:"upstream_proxy" doc:"http://[USER:PASSWORD@]HOST:PORT of a proxy that all traffic goes through; browserd checks every request first"`
	// CAFile and InsecureHosts add TLS certificates to accept beyond those of the
	// system's certificate authorities.
	CAFile        string   `koanf:"ca_file" doc:"file of certificates (PEM) of private authorities, accepted in addition to the system's: their certificates are verified as any other's, for Chromium's pages and for everything that the daemon fetches itself"`
	InsecureHosts []string `koanf:"insecure_hosts" doc:"hosts and addresses, each with an optional port (without: 443), no wildcards, whose TLS certificate is not verified at all: whoever is on the way can read and change what is sent; for test servers with a self-signed certificate"`
	// ProxyAdvertise is where a Chromium on another machine reaches the egress proxy.
	ProxyAdvertise string `koanf:"proxy_advertise" doc:"HOST:PORT at which the Chromium of browser.endpoint reaches browserd's egress proxy, which then listens on that port of every address"`
	// Egress limits each session's use of the egress proxy.
	Egress EgressConfig `koanf:"egress"`

	// Autonomy, Confirm and ConfirmTimeout are what agents may do without asking.
	Autonomy       string        `koanf:"autonomy" default:"full" oneof:"full supervised read_only" doc:"what agents may do by themselves. full: everything that the policy allows; supervised: the commands of policy.confirm wait for an operator; read_only: open and read pages, change nothing. A token's own autonomy overrides it"`
	Confirm        []string      `koanf:"confirm" doc:"commands that a supervised agent runs only after an operator's confirm; wait with an expression counts as eval, session_open with a state as state_load"`
	ConfirmTimeout time.Duration `koanf:"confirm_timeout" default:"60s" doc:"how long a command waits for an operator's confirm, within its own timeout_ms; after that it is refused"`

	// DialContext replaces the last step of Gate.Dial, after all checks: the TCP
	// connection to address, which is IP:PORT. Tests set it, so that they send nothing.
	// If it is nil, a net.Dialer connects and checks the address once more.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error) `koanf:"-"`
	// Interfaces replaces the list of the machine's own addresses, for tests. If it is
	// nil, the list is read from the system.
	Interfaces func() ([]netip.Addr, error) `koanf:"-"`
}

// defaultPorts are the ports of the web. TURN over TCP reaches the proxy as CONNECT to any
// port, so without a list a page could reach every service of a host.
var defaultPorts = []int{80, 443, 8080, 8443}

// Check returns an error that names the first invalid value.
func (c Config) Check() error {
	if err := c.checkAutonomy(); err != nil {
		return err
	}
	_, err := New(c)
	return err
}

// Policy decides by the configuration. Make one with New.
type Policy struct {
	allowedDomains list
	deniedDomains  list
	ports          []uint16
	resolver       resolver
	upstream       *url.URL // nil: none
	trust          *Trust   // nil: the system's authorities alone
	dial           func(ctx context.Context, network, address string) (net.Conn, error)
	own            *ownAddresses

	mu        sync.Mutex // held while state is replaced
	state     atomic.Pointer[state]
	additions additions
}

// additions is what SetAdditions has added.
type additions struct {
	mu   sync.Mutex
	undo map[addition]func() // removes each
}

// state is what changes while the daemon runs. It is immutable: a change replaces it.
type state struct {
	lists
	self []netip.AddrPort
}

// New returns the policy that cfg describes. self are the addresses on which the daemon
// itself listens: they are refused whatever cfg allows. An error begins with the key's
// name and quotes the value.
func New(cfg Config, self ...netip.AddrPort) (*Policy, error) {
	p := &Policy{dial: cfg.DialContext, own: newOwnAddresses(cfg.Interfaces)}
	st := &state{self: self}
	var faults []error
	fault := func(key string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("policy.%s: %w", key, err))
		}
	}
	var err error
	st.allow, err = parseList(cfg.AllowHosts)
	fault("allow_hosts", err)
	p.allowedDomains, err = parseAllowedDomains(cfg.AllowedDomains)
	fault("allowed_domains", err)
	p.deniedDomains, err = parseDenied(cfg.DeniedDomains)
	fault("denied_domains", err)
	p.ports, err = parsePorts(cfg.Ports)
	fault("ports", err)
	p.resolver, err = newResolver(cfg.Resolver)
	fault("resolver", err)
	p.upstream, err = parseUpstream(cfg.UpstreamProxy)
	fault("upstream_proxy", err)
	var key string
	p.trust, key, err = newTrust(cfg.CAFile, cfg.InsecureHosts)
	fault(key, err)
	fault("proxy_advertise", checkAdvertise(cfg.ProxyAdvertise))
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	p.state.Store(st)
	return p, nil
}

func parsePorts(ports []int) ([]uint16, error) {
	if len(ports) == 0 {
		ports = defaultPorts
	}
	out := make([]uint16, len(ports))
	for i, n := range ports {
		if n < 1 || n > 65535 {
			return nil, fmt.Errorf("%d: is no port between 1 and 65535", n)
		}
		out[i] = uint16(n)
	}
	return out, nil
}

// AddSelf adds an address on which the daemon listens. From now on every Gate refuses it,
// whatever the configuration allows.
func (p *Policy) AddSelf(a netip.AddrPort) {
	p.change(func(s *state) { s.self = append(slices.Clip(s.self), a) })
}

func (p *Policy) change(f func(*state)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := *p.state.Load()
	f(&s)
	p.state.Store(&s)
}

// CheckURL is Gate.CheckURL for a session without restrictions of its own.
func (p *Policy) CheckURL(ctx context.Context, raw string) (canonical string, err error) {
	return (&Gate{policy: p}).CheckURL(ctx, raw)
}

// CheckURLWithin is CheckURL of a Gate with these options.
func (p *Policy) CheckURLWithin(ctx context.Context, o GateOptions, raw string) (canonical string, err error) {
	g, err := p.Gate(o)
	if err != nil {
		return "", err
	}
	return g.CheckURL(ctx, raw)
}
