package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/browserd/browserd/protocol/local"
	"github.com/browserd/browserd/server"
)

// endpoint is how this process reaches a daemon that it has reason to send a token:
// by a socket of its own user, by the configured certificate, or by TCP to one that
// has proved on the same connection that it knows the token.
type endpoint struct {
	base    string                                                               // http://host:port
	secured *tls.Config                                                          // of a daemon that speaks TLS; nil: it does not
	dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil: as usual
	socket  string                                                               // its path; empty: over TCP
}

// findWithin is how long it may take to find out whether the daemon runs.
const findWithin = 3 * time.Second

// find looks for the daemon that cfg describes: first at its socket, then at its
// address. Nothing that it sends is secret.
func find(ctx context.Context, cfg server.Config, token string) (endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, findWithin)
	defer cancel()
	var refused error
	if path := socketPath(cfg.Listen); path != "" {
		found := bySocket(path)
		conn, err := dialSocket(ctx, path)
		if err == nil {
			return found, conn.Close()
		}
		if !errors.Is(err, errNoSocket) {
			refused = err
		}
	}
	base, secured, err := addressOf(cfg)
	if err != nil {
		return endpoint{}, err
	}
	if secured != nil {
		return endpoint{base: base, secured: secured}, errors.Join(healthy(ctx, cfg), refused)
	}
	over := endpoint{base: base, dial: local.DialProved(token)}
	conn, err := over.dial(ctx, "tcp", dialable(cfg.Listen))
	if err != nil {
		return endpoint{}, errors.Join(err, refused)
	}
	if err := conn.Close(); err != nil {
		return over, err
	}
	// One that has just started has listened on its socket before its port.
	if path := socketPath(cfg.Listen); path != "" && refused == nil {
		if conn, err := dialSocket(ctx, path); err == nil {
			return bySocket(path), conn.Close()
		}
	}
	return over, nil
}

// bySocket returns the daemon of this user that has the socket.
func bySocket(path string) endpoint {
	return endpoint{base: "http://localhost", socket: path, dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialSocket(ctx, path)
	}}
}

// addressOf is where a client on this machine reaches the daemon that cfg describes
// over TCP, and whom it trusts there: nil, or, where the daemon speaks TLS, the
// configured certificate and no other.
func addressOf(cfg server.Config) (base string, secured *tls.Config, err error) {
	if !cfg.TLS() {
		return "http://" + dialable(cfg.Listen), nil, nil
	}
	secured, err = server.ClientTLS(cfg.TLSCert)
	return "https://" + dialable(cfg.Listen), secured, err
}

// http speaks to the daemon: never through a proxy of the environment, which would be
// handed the token, and without keeping connections.
func (e endpoint) http() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: e.secured, DialContext: e.dial},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
