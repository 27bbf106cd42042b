package policy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issued returns a certificate for 127.0.0.1 and localhost and the PEM of the
// authority that issued it, both made for the test.
func issued(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	root, leaf := key(), key()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, root.Public(), root)
	if err != nil {
		t.Fatal(err)
	}
	site := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, site, ca, leaf.Public(), root)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der, caDER}, PrivateKey: leaf}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
}

// secureSite answers "here" with that certificate, over HTTP/2 or HTTP/1.1.
func secureSite(t *testing.T, cert tls.Certificate) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "here ", r.Proto) }))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func hostPort(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "https://") }

// ca_file and insecure_hosts apply to the host and port that they name, for the daemon
// itself and for a browser through its proxy, which trusts the proxy's key only.
func TestTrust(t *testing.T) {
	cert, authority := issued(t)
	other, _ := issued(t)
	private, foreign := secureSite(t, cert), secureSite(t, other)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(hostPort(foreign))
	for _, c := range []struct {
		name             string
		ca               string
		insecure         []string
		private, foreign bool
	}{
		{name: "nothing"},
		{name: "ca_file", ca: file, private: true},
		{name: "insecure", insecure: []string{hostPort(foreign)}, foreign: true},
		{name: "insecure by another name", insecure: []string{"localhost:" + port}},
		{name: "insecure without its port", insecure: []string{"127.0.0.1"}},
		{name: "both", ca: file, insecure: []string{hostPort(foreign)}, private: true, foreign: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(Config{AllowHosts: []string{"127.0.0.1"}, CAFile: c.ca, InsecureHosts: c.insecure})
			if err != nil {
				t.Fatal(err)
			}
			gate, err := p.Gate(GateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			own := gate.Transport()
			defer own.CloseIdleConnections()
			browser := throughProxy(t, p, gate)
			for _, s := range []struct {
				site *httptest.Server
				want bool
			}{{private, c.private}, {foreign, c.foreign}, {private, c.private}, {foreign, c.foreign}} {
				for who, tr := range map[string]http.RoundTripper{"daemon": own, "browser": browser} {
					got, err := fetched(tr, s.site.URL)
					if (err == nil) != s.want || err == nil && got != "here HTTP/2.0" {
						t.Errorf("%s, %s: %q, %v, want %v", who, s.site.URL, got, err, s.want)
					}
				}
			}
		})
	}
}

func fetched(tr http.RoundTripper, url string) (string, error) {
	req, _ := http.NewRequest("GET", url, nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// throughProxy is a client that reaches the network through a session proxy and
// accepts what Chromium would: a chain with the key of KeyHash.
func throughProxy(t *testing.T, p *Policy, gate *Gate) *http.Transport {
	t.Helper()
	e, err := NewEgress(EgressOptions{Trust: p.Trust()}, p.AddSelf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	s, err := e.SessionProxy(gate, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(s.ProxyServer())
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword(s.Credentials())
	tr := &http.Transport{Proxy: http.ProxyURL(at), ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true,
		VerifyConnection: func(c tls.ConnectionState) error {
			if hash := keyHash(c.PeerCertificates[0]); hash != e.KeyHash() {
				return x509.UnknownAuthorityError{Cert: c.PeerCertificates[0]}
			}
			return nil
		},
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func keyHash(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// A certificate of ca_file's authority for another host is refused.
func TestPrivateAuthorityIsVerified(t *testing.T) {
	cert, authority := issued(t)
	site := secureSite(t, cert)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{AllowHosts: []string{"127.0.0.2"}, CAFile: file, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, site.Listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	gate, _ := p.Gate(GateOptions{})
	browser := throughProxy(t, p, gate)
	own := gate.Transport()
	defer own.CloseIdleConnections()
	_, port, _ := net.SplitHostPort(hostPort(site))
	for who, tr := range map[string]http.RoundTripper{"daemon": own, "browser": browser} {
		if got, err := fetched(tr, "https://127.0.0.2:"+port+"/"); err == nil {
			t.Errorf("%s: a certificate for 127.0.0.1 is accepted for 127.0.0.2: %q", who, got)
		}
	}
}

// The error of each invalid value names its key.
func TestTrustIsChecked(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{CAFile: empty}, "policy.ca_file: " + empty + " holds no PEM certificate"},
		{Config{CAFile: empty + "x"}, "policy.ca_file: open "},
		{Config{InsecureHosts: []string{"*.example.com"}}, `policy.insecure_hosts: "*.example.com": name each host by itself`},
		{Config{InsecureHosts: []string{"10.0.0.0/8"}}, `policy.insecure_hosts: "10.0.0.0/8": name each host by itself`},
		{Config{InsecureHosts: []string{"https://a.example"}}, `policy.insecure_hosts: "https://a.example": `},
		{Config{InsecureHosts: []string{"*"}}, `policy.insecure_hosts: "*": `},
	} {
		if _, err := New(c.cfg); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
