package fakeweb

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority signs a certificate for every host that is asked for. It is of one
// test's own.
type Authority struct {
	// PEM is its certificate, for programs that read SSL_CERT_FILE.
	PEM []byte
	// KeyHash is the key of the hosts' certificates, for Chromium's flag
	// --ignore-certificate-errors-spki-list.
	KeyHash string

	cert *x509.Certificate
	key  *ecdsa.PrivateKey // the authority's
	host *ecdsa.PrivateKey // every host's
}

// NewAuthority makes an authority with keys of its own.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{key: newKey(tb), host: newKey(tb)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "browserd test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	a.PEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	public, err := x509.MarshalPKIXPublicKey(a.host.Public())
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(public)
	a.KeyHash = base64.StdEncoding.EncodeToString(sum[:])
	return a
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// DER returns the authority's own certificate.
func (a *Authority) DER() []byte { return a.cert.Raw }

// Certificate is tls.Config.GetCertificate: for the name that the client sends,
// or for the address that it dialled.
func (a *Authority) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if at, ok := hello.Conn.LocalAddr().(*net.TCPAddr); hello.ServerName == "" && ok {
		template.IPAddresses = []net.IP{at.IP}
	} else {
		template.DNSNames = []string{hello.ServerName}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.host.Public(), a.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.host}, nil
}
