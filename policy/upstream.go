package policy

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/browserd/browserd/protocol"
)

// parseUpstream parses Config.UpstreamProxy. It returns nil if that is empty. Its error
// does not quote the value, which may hold a password.
func parseUpstream(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("accepts http://HOST:PORT, with USER:PASSWORD@ before the host if it asks for them")
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "80")
	}
	return u, nil
}

// connectUpstream is connect through the operator's proxy. It requests the address that
// was checked, not the name, since the proxy could resolve the name to another address.
func (g *Gate) connectUpstream(ctx context.Context, u target, addr netip.Addr) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	proxy := g.policy.upstream
	fail := func(format string, args ...any) error {
		return protocol.Errorf(protocol.NavigationFailed, "policy.upstream_proxy for %s: %w", u.hostPort(), fmt.Errorf(format, args...)).
			With("reason", string(ReasonUpstream)).With("host", u.host()).
			Then("try again, or tell the operator")
	}
	dial := g.policy.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	c, err := dial(ctx, "tcp", proxy.Host)
	if err != nil {
		return nil, fail("it does not accept connections: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	buffered, err := askForTunnel(c, proxy.User, netip.AddrPortFrom(addr, u.port).String())
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, fail("%w", err)
	}
	return buffered, nil
}

// askForTunnel sends CONNECT (RFC 9110 section 9.3.6) and reads the response. Bytes after
// the response's header belong to the tunnel; the connection that it returns reads them
// first.
func askForTunnel(c net.Conn, user *url.Userinfo, to string) (net.Conn, error) {
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: to}, Host: to, Header: http.Header{}}
	if user != nil {
		password, _ := user.Password()
		req.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := req.Write(c); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: c, N: 64 << 10}
	r := bufio.NewReader(limited)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	if r.Buffered() == 0 {
		return c, nil
	}
	rest, err := r.Peek(r.Buffered())
	if err != nil {
		return nil, err
	}
	return &prefixed{c, rest}, nil
}

// prefixed is a connection whose first bytes have been read already. Read returns them
// again.
type prefixed struct {
	net.Conn
	rest []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.rest)
	if p.rest = p.rest[n:]; len(p.rest) == 0 {
		p.rest = nil // frees its buffer
	}
	return n, nil
}

// CloseWrite closes the writing half, as *net.TCPConn does.
func (p *prefixed) CloseWrite() error {
	if c, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return p.Conn.Close()
}
