package main

import (
	"crypto/tls"
	"net/http"

	"github.com/browserd/browserd/server"
)

// door is where a client on this machine reaches the daemon that cfg describes,
// and what it speaks with: TLS where the daemon does, to the configured
// certificate and no other.
func door(cfg server.Config) (base string, with *http.Client, err error) {
	if !cfg.TLS() {
		return "http://" + dialable(cfg.Listen), direct, nil
	}
	pinned, err := server.ClientTLS(cfg.TLSCert)
	if err != nil {
		return "", nil, err
	}
	return "https://" + dialable(cfg.Listen), directly(pinned), nil
}

// direct speaks to daemons: never through a proxy of the environment, which
// would be handed the token, and without keeping connections.
var direct = directly(nil)

// directly is direct for a daemon that speaks TLS; nil: it does not.
func directly(c *tls.Config) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: c},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
