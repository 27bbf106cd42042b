package policy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/proxy"

	"github.com/browserd/browserd/protocol"
)

// Upstream is a proxy that one session's connections go through. The zero value is none.
//
// It changes who opens a connection and nothing of what is allowed: each host is checked
// and looked up here, and the proxy is asked for the address that passed. The proxy's own
// address is checked as any other is.
type Upstream struct {
	// URL is http://[USER:PASSWORD@]HOST:PORT, for CONNECT, or socks5://….
	URL string
	// Bypass are the hosts that are reached without it, written as in Config.AllowedDomains.
	Bypass []string
}

// sessionUpstream is an Upstream that was parsed.
type sessionUpstream struct {
	url    *url.URL
	bypass list
}

// parse returns nil if there is no proxy.
func (p Upstream) parse() (*sessionUpstream, error) {
	bad := func(parameter, accepts string) error {
		return protocol.Errorf(protocol.InvalidParams, "%s: accepts %s", parameter, accepts).With("parameter", parameter)
	}
	if p.URL == "" {
		if len(p.Bypass) > 0 {
			return nil, bad("proxy_bypass", "hosts, and only together with proxy")
		}
		return nil, nil
	}
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "socks5" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, badProxy(p.URL)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "socks5": "1080"}[u.Scheme])
	}
	bypass, err := parseAllowedDomains(p.Bypass)
	if err != nil {
		return nil, bad("proxy_bypass", `a list such as ["localhost", "*.example.com"]`)
	}
	return &sessionUpstream{u, bypass}, nil
}

// proxyAddress is what an error quotes of a proxy's URL: its scheme and its address. User names,
// passwords, and what is not an address, where a password may be, are none of it.
var proxyAddress = regexp.MustCompile(`^([a-z][a-z0-9+.-]*://)?(?:.*@)?((?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::\d*)?)/?$`)

// badProxy is the error for a proxy's URL that parse does not take.
func badProxy(raw string) error {
	const accepts = "http://HOST:PORT or socks5://HOST:PORT, with USER:PASSWORD@ before the host if it asks for them"
	parts := proxyAddress.FindStringSubmatch(raw)
	if parts == nil {
		return protocol.Errorf(protocol.InvalidParams, "proxy: accepts %s", accepts).With("parameter", "proxy")
	}
	scheme, address := parts[1], protocol.Cut(parts[2], 100)
	if scheme != "" {
		return protocol.Errorf(protocol.InvalidParams, "proxy: accepts %s, not %q", accepts, scheme+address).With("parameter", "proxy")
	}
	user := ""
	if strings.Contains(raw, "@") {
		user = "USER:PASSWORD@"
	}
	return protocol.Errorf(protocol.InvalidParams, "proxy: %q has no scheme; accepts %s", address, accepts).With("parameter", "proxy").
		Then("write the scheme too: http://%s", user+address)
}

// Check returns what is wrong with the proxy: an InvalidParams error, or CheckURL's error
// for its address.
func (p Upstream) Check(ctx context.Context, g *Gate) error {
	parsed, err := p.parse()
	if err != nil || parsed == nil {
		return err
	}
	_, err = g.CheckURL(ctx, "http://"+parsed.url.Host)
	var said *protocol.Error
	if errors.As(err, &said) {
		said.Message = "proxy: " + strings.TrimPrefix(said.Message, "http://")
		said.With("parameter", "proxy")
	}
	return err
}

// connectProxy is connect through the session's proxy. It asks for the address that was
// checked, not for the name, which the proxy could resolve to another.
func (g *Gate) connectProxy(ctx context.Context, u target, addr netip.Addr) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	fail := func(err error) error {
		return protocol.Errorf(protocol.NavigationFailed, "the session's proxy for %s: %w", u.hostPort(), err).
			With("reason", string(ReasonProxy)).With("host", u.host()).
			Then("check the proxy that session_open was given, or open a session without it")
	}
	to := netip.AddrPortFrom(addr, u.port).String()
	direct := &Gate{policy: g.policy, additions: g.additions} // the proxy itself is none of the hosts that the session narrows itself to
	p := g.upstream.url
	if p.Scheme == "socks5" {
		var auth *proxy.Auth
		if p.User != nil {
			password, _ := p.User.Password()
			auth = &proxy.Auth{User: p.User.Username(), Password: password}
		}
		socks, err := proxy.SOCKS5("tcp", p.Host, auth, throughGate{direct})
		if err != nil {
			return nil, fail(err)
		}
		c, err := socks.(proxy.ContextDialer).DialContext(ctx, "tcp", to)
		if err != nil {
			return nil, fail(err)
		}
		return c, nil
	}
	c, err := direct.Dial(ctx, "tcp", p.Host)
	if err != nil {
		return nil, fail(err)
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	tunnel, err := askForTunnel(c, p.User, to)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, fail(err)
	}
	return tunnel, nil
}

// throughGate dials a SOCKS proxy as every other address is dialled.
type throughGate struct{ *Gate }

// Dial is never called: the SOCKS dialer prefers DialContext.
func (throughGate) Dial(string, string) (net.Conn, error) {
	return nil, fmt.Errorf("a proxy is dialled with a context")
}

func (t throughGate) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return t.Gate.Dial(ctx, network, address)
}
