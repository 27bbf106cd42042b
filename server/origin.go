package server

import (
	"net"
	"net/http"
	"strings"

	"github.com/browserd/browserd/protocol"
)

// gate decides which requests are handled at all: their Host must be one of the daemon's
// names (against DNS rebinding), and a request of a web page must come from a configured
// Origin (against cross-site WebSocket hijacking, RFC 6455 section 10.2).
type gate struct {
	hosts   map[string]bool // as configured, in lower case; an entry without a port holds for any port
	origins map[string]bool // in lower case
	port    string          // the port of a Host without one
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

// check returns nil if the request is allowed, else invalid_request (no Host) or
// policy_denied. net/http has already answered requests with several or invalid Host headers
// with 400. The live view is for its own pages: no configured Origin opens it.
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
	if !sent || isView(r) && g.ownOrigin(r) || !isView(r) && len(origins) == 1 && g.origins[origins[0]] {
		return nil
	}
	origin := strings.Join(origins, ", ")
	denied := protocol.Errorf(protocol.PolicyDenied, "pages of the origin %q may not use this daemon", cut(origin)).With("reason", "origin")
	if isView(r) {
		return denied
	}
	return denied.
		With("config", map[string]any{"key": "server.allowed_origins", "add": []string{cut(origin)}})
}

// ownOrigin reports whether the request's Origin is the one that the daemon has under the
// request's Host, which check has found to be the daemon's: the request is a page's of its
// own. https is right without TLS too: a proxy speaks it.
func (g gate) ownOrigin(r *http.Request) bool {
	origins := r.Header["Origin"]
	if len(origins) != 1 {
		return false
	}
	host := strings.ToLower(r.Host)
	return origins[0] == "https://"+host || g.port == "80" && origins[0] == "http://"+host
}

// hostAllowed compares whole strings, so that it need not parse what an attacker wrote. It
// ignores case (RFC 9110 section 4.2.3). A name with a trailing dot is a different name. A
// Host without a port means the scheme's default port. Over a Unix socket (port is empty) any port is right: it is that of
// the address which the socket is named after.
func (g gate) hostAllowed(host, port string) bool {
	host = strings.ToLower(host)
	for _, own := range []string{"127.0.0.1", "localhost", "[::1]"} {
		given, ok := strings.CutPrefix(host, own+":")
		if ok && (given == port || port == "" && isPort(given)) || host == own && (port == g.port || port == "") {
			return true
		}
	}
	if g.hosts[host] {
		return true
	}
	i := strings.LastIndexByte(host, ':')
	return i >= 0 && isPort(host[i+1:]) && g.hosts[host[:i]]
}

// localPort returns the local port of the request's connection; empty for a Unix socket, which
// no web page can reach.
func localPort(r *http.Request) string {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || addr.Network() == "unix" {
		return ""
	}
	_, port, _ := net.SplitHostPort(addr.String())
	return port
}

// cut shortens a client's text for a message.
func cut(s string) string { return protocol.Cut(s, 80) }
