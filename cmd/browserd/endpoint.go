package main

import (
	"crypto/tls"
	"net/http"

	"github.com/browserd/browserd/server"
)

// endpoint is where a client on this machine reaches the daemon that cfg describes,
// and whom it trusts there: nil, or, where the daemon speaks TLS, the configured
// certificate and no other.
func endpoint(cfg server.Config) (base string, secured *tls.Config, err error) {
	if !cfg.TLS() {
		return "http://" + dialable(cfg.Listen), nil, nil
	}
	secured, err = server.ClientTLS(cfg.TLSCert)
	return "https://" + dialable(cfg.Listen), secured, err
}

// directClient speaks to a daemon: never through a proxy of the environment, which
// would be handed the token, and without keeping connections.
func directClient(c *tls.Config) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: c},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
