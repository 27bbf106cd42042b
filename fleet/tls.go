package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"sync"
	"time"
)

// identity proves to other nodes that this node belongs to the fleet. The fleet has a certificate authority of its own,
// whose key is sealed in the database. Each node signs a certificate for itself with it.
type identity struct {
	id  string
	ca  *x509.Certificate
	key *ecdsa.PrivateKey // the authority's

	mu   sync.Mutex
	leaf *tls.Certificate
}

// Certificates are valid from two days before they are made, since the machines' clocks may differ.
const (
	backdated = 48 * time.Hour
	caValid   = 20 * 365 * 24 * time.Hour
	leafValid = 365 * 24 * time.Hour
)

// openIdentity reads the certificate authority from the database. The first node creates it.
func (n *Node) openIdentity(ctx context.Context) (*identity, error) {
	fresh, err := newAuthority()
	if err != nil {
		return nil, err
	}
	sealed, err := n.settingOr(ctx, "authority", n.keys.seal("authority", fresh))
	if err != nil {
		return nil, err
	}
	content, err := n.keys.unseal("authority", sealed)
	if err != nil {
		return nil, fmt.Errorf("fleet.dsn: the fleet's authority cannot be read: %w", err)
	}
	// Two bytes with the size of the certificate, then the certificate and the key, each as DER.
	var size int
	if len(content) > 4 {
		size = int(content[0])<<8 | int(content[1])
	}
	if size == 0 || len(content) < 2+size {
		return nil, fmt.Errorf("fleet.dsn: the fleet's authority cannot be read")
	}
	i := &identity{id: n.id}
	if i.ca, err = x509.ParseCertificate(content[2 : 2+size]); err != nil {
		return nil, err
	}
	i.key, err = x509.ParseECPrivateKey(content[2+size:])
	return i, err
}

// newAuthority returns a certificate and its key, as openIdentity reads them.
func newAuthority() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	cert := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "browserd fleet"}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		NotBefore: time.Now().Add(-backdated), NotAfter: time.Now().Add(caValid), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(append([]byte{byte(len(der) >> 8), byte(len(der))}, der...), secret...), nil
}

func serial() *big.Int {
	n, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	return n
}

// certificate returns the node's own certificate. It makes a new one when less than half of the old one's validity is left.
func (i *identity) certificate() (*tls.Certificate, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.leaf != nil && time.Until(i.leaf.Leaf.NotAfter) > leafValid/2 {
		return i.leaf, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	cert := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: i.id}, DNSNames: []string{hostOf(i.id)},
		NotBefore: time.Now().Add(-backdated), NotAfter: time.Now().Add(leafValid), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, i.ca, &key.PublicKey, i.key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	i.leaf = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return i.leaf, nil
}

// hostOf is the DNS name in a node's certificate.
func hostOf(id string) string { return id + ".node.browserd" }

// wireVersions are the versions of the protocol between nodes that this node speaks, the newest first. Two nodes agree
// on the newest that both know (ALPN). A receiver ignores members of a message that it does not know.
var wireVersions = []string{"browserd-fleet/1"}

// wireHTTP is the ALPN protocol of a connection on which a node forwards its clients' requests, as HTTP/1.1.
const wireHTTP = "browserd-fleet-requests/1"

// config returns the TLS configuration of a connection to the node of that ID; with "", that of accepted connections.
// speaks are the ALPN protocols.
func (i *identity) config(id string, speaks ...string) *tls.Config {
	authorities := x509.NewCertPool()
	authorities.AddCert(i.ca)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: speaks, ServerName: hostOf(id),
		RootCAs: authorities, ClientCAs: authorities, ClientAuth: tls.RequireAndVerifyClientCert,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return i.certificate() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return i.certificate() },
	}
}
