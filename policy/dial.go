package policy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/browserd/browserd/protocol"
)

const (
	// connectTimeout is how long one address may take to accept.
	connectTimeout = 15 * time.Second
	// attemptDelay is the Connection Attempt Delay of RFC 8305 section 5: when the next
	// address is tried beside one that has not accepted yet.
	attemptDelay = 250 * time.Millisecond
)

// Dial connects to address, which is HOST:PORT. All connections of the daemon to other
// machines are made by Dial. It checks the name, looks it up once, checks every address
// in the answer, and tries these addresses until one accepts. network is tcp, tcp4 or
// tcp6.
//
// The error is a *protocol.Error: PolicyDenied as Gate.CheckURL documents, with
// details.address the address that did not pass; NavigationFailed with
// details.reason dns_error, connect_failed or upstream_proxy if the policy allowed the
// connection but it failed; Cancelled if ctx was cancelled.
func (g *Gate) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	u, err := parseHostPort(network, address)
	if err != nil {
		return nil, err
	}
	if err := g.checkTarget(u); err != nil {
		return nil, err
	}
	addrs := []netip.Addr{u.addr.Unmap()}
	if u.name != "" {
		if addrs, err = g.policy.lookup(ctx, u); err != nil {
			return nil, err
		}
		for _, a := range addrs {
			if err := g.checkAnswer(u, a); err != nil {
				return nil, err
			}
		}
	}
	if addrs = ofNetwork(network, addrs); len(addrs) == 0 {
		return nil, protocol.Errorf(protocol.NavigationFailed, "%s has no address for %s", u.host(), network).
			With("reason", string(ReasonDNS)).With("host", u.host())
	}
	connect := g.connect
	if g.policy.upstream != nil {
		connect = g.connectUpstream
	}
	if g.upstream != nil && !g.upstream.bypass.matches(u) {
		connect = g.connectProxy
	}
	c, err := race(ctx, addrs, func(ctx context.Context, a netip.Addr) (net.Conn, error) { return connect(ctx, u, a) })
	if err != nil {
		return nil, dialError(ctx, u, err)
	}
	return c, nil
}

// parseHostPort parses the address to dial. It reads the host as CheckURL reads a URL's.
func parseHostPort(network, address string) (target, error) {
	bad := func(why string) (target, error) {
		return target{}, protocol.Errorf(protocol.InvalidParams, "%s %q cannot be dialled: %s", network, cut(address), why).
			With("reason", string(ReasonBadURL))
	}
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return bad("only TCP leaves the machine")
	}
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return bad("it is no HOST:PORT")
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return bad("its port is no number")
	}
	u := target{port: uint16(port)}
	if strings.Contains(host, ":") {
		u.addr, err = parseIPv6(host)
	} else {
		u.name, u.addr, err = parseHost(host)
	}
	if err != nil {
		return bad(err.Error())
	}
	return u, nil
}

func ofNetwork(network string, addrs []netip.Addr) []netip.Addr {
	if network == "tcp" {
		return addrs
	}
	var out []netip.Addr
	for _, a := range addrs {
		if a.Is4() == (network == "tcp4") {
			out = append(out, a)
		}
	}
	return out
}

// connect opens a TCP connection to addr, which checkTarget or checkAnswer has allowed.
// It checks the address once more in net.Dialer.Control, where it is the one that the
// kernel is given.
func (g *Gate) connect(ctx context.Context, u target, addr netip.Addr) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	to := netip.AddrPortFrom(addr, u.port)
	if g.policy.dial != nil {
		return g.policy.dial(ctx, "tcp", to.String())
	}
	d := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return g.recheck(u, address)
	}}
	return d.DialContext(ctx, "tcp", to.String())
}

// recheck checks address, to which a socket made for u is about to connect.
func (g *Gate) recheck(u target, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Port() != u.port {
		return protocol.Errorf(protocol.PolicyDenied, "a connection for %s was about to go to %s", u.hostPort(), address).
			With("reason", string(ReasonSpecial)).With("host", u.host())
	}
	if u.name == "" {
		u.addr = at.Addr()
		return g.checkTarget(u)
	}
	return g.checkAnswer(u, at.Addr().Unmap().WithZone(""))
}

// race tries the addresses in turn, alternating IPv6 and IPv4 (RFC 8305 section 4). If
// an attempt takes longer than attemptDelay, it starts the next one beside it. It returns
// the first connection. All attempts have ended when it returns.
func race(ctx context.Context, addrs []netip.Addr, connect func(context.Context, netip.Addr) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		conn net.Conn
		err  error
	}
	done := make(chan outcome)
	var errs []error
	var won net.Conn
	waiting, running := alternate(addrs), 0
	next := time.NewTimer(0)
	defer next.Stop()
	for running > 0 || won == nil && len(waiting) > 0 {
		select {
		case <-next.C:
			if won != nil || len(waiting) == 0 {
				continue
			}
			a := waiting[0]
			waiting = waiting[1:]
			running++
			go func() {
				c, err := connect(ctx, a)
				done <- outcome{c, err}
			}()
			next.Reset(attemptDelay)
		case o := <-done:
			running--
			switch {
			case o.err != nil:
				errs = append(errs, o.err)
				next.Reset(0)
			case won != nil:
				o.conn.Close()
			default:
				won = o.conn
				cancel()
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, errors.Join(errs...)
}

// alternate orders the addresses so that the families alternate, beginning with the
// first address's. The order within a family stays.
func alternate(addrs []netip.Addr) []netip.Addr {
	var first, second, out []netip.Addr
	for _, a := range addrs {
		if a.Is4() == addrs[0].Is4() {
			first = append(first, a)
		} else {
			second = append(second, a)
		}
	}
	for i := range first {
		out = append(out, first[i])
		if i < len(second) {
			out = append(out, second[i])
		}
	}
	if len(second) > len(first) {
		out = append(out, second[len(first):]...)
	}
	return out
}

func dialError(ctx context.Context, u target, err error) error {
	if cerr := ctx.Err(); errors.Is(cerr, context.Canceled) {
		return protocol.Errorf(protocol.Cancelled, "connecting to %s: %w", u.hostPort(), cerr)
	}
	var e *protocol.Error
	if errors.As(err, &e) {
		return e
	}
	why := "it does not accept connections"
	var op net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "connection refused"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		why = "the daemon may open no further file (ulimit -n)"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &op) && op.Timeout():
		why = "it did not answer in time"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		why = "there is no route to it"
	}
	e = protocol.Errorf(protocol.NavigationFailed, "%s", fmt.Sprintf("connecting to %s: %s", u.hostPort(), why)).
		With("reason", string(ReasonConnect)).With("host", u.host())
	e.Cause = err
	return e
}
