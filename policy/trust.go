package policy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"
)

// Trust describes the TLS certificates that are accepted in addition to those of the
// system's authorities: Config.CAFile and Config.InsecureHosts. It is immutable.
type Trust struct {
	roots    *x509.CertPool // the system's and the file's; nil: the system's alone
	private  *x509.CertPool // the file's alone; nil: there is no file
	insecure list           // each entry has a port, and is a name or one address
	hosts    []string       // insecure as the operator wrote it
}

// Trust returns what the configuration adds to the system's authorities, or nil.
func (p *Policy) Trust() *Trust { return p.trust }

// newTrust reads both settings. key is the setting that err is about. It returns nil if
// both are empty.
func newTrust(file string, hosts []string) (t *Trust, key string, err error) {
	if file == "" && len(hosts) == 0 {
		return nil, "", nil
	}
	t = &Trust{hosts: hosts}
	if file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, "ca_file", err
		}
		if t.roots, err = x509.SystemCertPool(); err != nil {
			return nil, "ca_file", fmt.Errorf("the system's authorities: %w", err)
		}
		t.private = x509.NewCertPool()
		if !t.private.AppendCertsFromPEM(pem) {
			return nil, "ca_file", fmt.Errorf("%s holds no PEM certificate", file)
		}
		t.roots.AppendCertsFromPEM(pem)
	}
	for _, s := range hosts {
		e, err := parseEntry(s)
		switch {
		case err != nil:
			return nil, "insecure_hosts", err
		case e.subdomainsOf != "" || e.prefix.IsValid() && !e.prefix.IsSingleIP():
			return nil, "insecure_hosts", fmt.Errorf("%q: name each host by itself: wildcards and networks are not accepted", s)
		}
		if e.port == 0 {
			e.port = 443
		}
		t.insecure = append(t.insecure, e)
	}
	return t, "", nil
}

// InsecureHosts returns the hosts whose certificates are not verified, as configured.
func (t *Trust) InsecureHosts() []string {
	if t == nil {
		return nil
	}
	return t.hosts
}

// Unverified reports whether the certificate of the server of that URL is not
// verified.
func (t *Trust) Unverified(raw string) bool {
	if t == nil || len(t.insecure) == 0 {
		return false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "wss" {
		return false
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return t.unverified(net.JoinHostPort(u.Hostname(), port))
}

// unverified is like Unverified, for a host:port.
func (t *Trust) unverified(address string) bool {
	u, err := parseHostPort("tcp", address)
	return err == nil && t.insecure.matches(u)
}

// config returns the TLS configuration with which the daemon, as a client, connects to
// address. If address is empty, every certificate is verified.
func (t *Trust) config(address string, protocols []string) *tls.Config {
	return &tls.Config{
		ServerName: hostOf(address), RootCAs: t.roots, NextProtos: protocols,
		InsecureSkipVerify: address != "" && t.unverified(address),
	}
}

// dialTLS is http.Transport.DialTLSContext. Unlike a tls.Config it knows the port.
func (t *Trust) dialTLS(g *Gate, within time.Duration) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := g.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		secured := tls.Client(c, t.config(address, []string{"h2", "http/1.1"}))
		if err := secured.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, err
		}
		return secured, nil
	}
}

// isUntrusted reports whether a handshake failed because of the server's certificate.
func isUntrusted(err error) bool {
	var e *tls.CertificateVerificationError
	return errors.As(err, &e)
}
