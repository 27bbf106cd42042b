package server

import (
	"net"
	"net/http"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// gate decides which requests may be looked at all: those that address the
// daemon by a name that is its own (against DNS rebinding), and that no page
// of a browser sends unless its origin is configured (against cross-site
// WebSocket hijacking, RFC 6455 section 10.2).
type gate struct {
	hosts   map[string]bool // as configured, lower case; without a port: on any
	origins map[string]bool // lower case
	port    string          // that a Host without one means
}

func newGate(hosts, origins []string, secured bool) gate {
	g := gate{hosts: map[string]bool{}, origins: map[string]bool{}, port: "80"}
	if secured {
		g.port = "443"
	}
	for _, h := range hosts {
		g.hosts[strings.ToLower(h)] = true
	}
	for _, o := range origins {
		g.origins[strings.ToLower(o)] = true
	}
	return g
}

// check returns nil for a request that may go on, else invalid_request (no
// Host) or policy_denied. Requests with several Host headers, or with one that
// is not a host, net/http has answered with 400 already.
func (g gate) check(r *http.Request) *protocol.Error {
	if r.Host == "" {
		return protocol.Errorf(protocol.InvalidRequest, "the request has no Host header").
			Then("send Host with the daemon's address and port")
	}
	if !g.hostAllowed(r.Host, localPort(r)) {
		return protocol.Errorf(protocol.PolicyDenied, "Host %q is not a name of this daemon", cut(r.Host)).
			With("reason", "host").With("host", cut(r.Host)).
			With("config", map[string]any{"key": "server.allowed_hosts", "add": []string{cut(r.Host)}})
	}
	origins, sent := r.Header["Origin"]
	if !sent || len(origins) == 1 && g.origins[origins[0]] {
		return nil
	}
	origin := strings.Join(origins, ", ")
	return protocol.Errorf(protocol.PolicyDenied, "pages of the origin %q may not use this daemon", cut(origin)).
		With("reason", "origin").
		With("config", map[string]any{"key": "server.allowed_origins", "add": []string{cut(origin)}})
}

// hostAllowed compares whole strings, so that nothing needs to be parsed that
// an attacker wrote. Names are the same in capitals (RFC 9110 section 4.2.3);
// a name with a trailing dot is another name. Without a port, the
// scheme's own is meant.
func (g gate) hostAllowed(host, port string) bool {
	host = strings.ToLower(host)
	for _, own := range []string{"127.0.0.1", "localhost", "[::1]"} {
		if host == own+":"+port || host == own && (port == g.port || port == "") {
			return true
		}
	}
	if g.hosts[host] {
		return true
	}
	i := strings.LastIndexByte(host, ':')
	return i >= 0 && isPort(host[i+1:]) && g.hosts[host[:i]]
}

// localPort is the port that the request came in by; empty for a Unix socket, which no
// page of a browser reaches.
func localPort(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || addr.Network() == "unix" {
		return ""
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return port
}

// cut shortens what a client sent for a message.
func cut(s string) string { return protocol.Cut(s, 80) }
