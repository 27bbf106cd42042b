package policy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// tlsEnding ends the TLS of those connections whose server the browser itself could
// not verify, and speaks TLS to the server in its place: with the hosts of
// policy.insecure_hosts, unverified, and with servers whose certificate comes from
// an authority of policy.ca_file, verified. All other tunnels stay closed to
// the proxy, and their certificates are the browser's to verify.
//
// Chromium has no setting for this that is sound for one host alone. Its list of keys
// (--ignore-certificate-errors-spki-list) accepts whatever chain a server sends, if only
// one certificate in it has such a key, signed or not: whoever copies an authority's
// public certificate into his chain would be believed. So the list holds one key,
// which is made here, never leaves the process, and whose certificate is shown to
// no one but the browser at the other end of a session proxy.
type tlsEnding struct {
	trust       *Trust
	certificate tls.Certificate
	keyHash     string

	mu     sync.Mutex
	public map[string]time.Time // host:port that no authority of ca_file vouches for, until then
}

const (
	publicKept = 1024            // hosts; then all are forgotten
	publicFor  = 5 * time.Minute // a server gets another certificate seldom
)

func newTLSEnding(trust *Trust) (*tlsEnding, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	// It names no host, so that HTTP/2 is not used for another host's requests
	// (RFC 9113 section 9.1.1).
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: primeHost}, DNSNames: []string{primeHost},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(public)
	return &tlsEnding{
		trust: trust, certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		keyHash: base64.StdEncoding.EncodeToString(sum[:]), public: map[string]time.Time{},
	}, nil
}

// KeyHash is the key with which the proxy ends TLS, as Chromium's flag
// --ignore-certificate-errors-spki-list accepts it; empty: it never does.
func (e *Egress) KeyHash() string {
	if e.ending == nil {
		return ""
	}
	return e.ending.keyHash
}

// endTLS decides who verifies the server of a tunnel. It returns the connections to
// copy between: those that it was given, with what it has read of them, or both ends'
// TLS. far may be another connection to the same address: then the one that was
// given is closed.
func (p *SessionProxy) endTLS(near, far net.Conn, address string) (net.Conn, net.Conn, error) {
	ending := p.egress.ending
	unverified := ending.trust.unverified(address)
	if !unverified && (ending.trust.private == nil || ending.isPublic(address)) {
		return near, far, nil
	}
	// The browser speaks first: TLS, or HTTP that becomes a WebSocket.
	near.SetReadDeadline(time.Now().Add(p.egress.limits.idle))
	hello, sent := readHello(near)
	near.SetReadDeadline(time.Time{})
	near = &prefixed{near, sent}
	if hello == nil {
		return near, far, nil
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.egress.limits.dial)
	defer cancel()
	cfg := ending.trust.config(address, hello.SupportedProtos)
	if !unverified {
		cfg.RootCAs = ending.trust.private
	}
	server := tls.Client(far, cfg)
	if err := server.HandshakeContext(ctx); err != nil {
		far.Close()
		if unverified {
			return near, far, err
		}
		// The browser verifies it, on a connection of its own.
		if isUntrusted(err) {
			ending.setPublic(address)
		}
		far, err := p.dial(ctx, "tcp", address)
		if err != nil {
			return near, server, err
		}
		return near, far, nil
	}
	own := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{ending.certificate}}
	if chosen := server.ConnectionState().NegotiatedProtocol; chosen != "" {
		own.NextProtos = []string{chosen}
	}
	browser := tls.Server(near, own)
	if err := browser.HandshakeContext(ctx); err != nil { // not the server's failure
		return near, server, protocol.Errorf(protocol.Cancelled, "the browser ended the connection: %w", err)
	}
	return browser, server, nil
}

func (x *tlsEnding) isPublic(address string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return time.Now().Before(x.public[address])
}

func (x *tlsEnding) setPublic(address string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.public) >= publicKept {
		clear(x.public)
	}
	x.public[address] = time.Now().Add(publicFor)
}

var errHello = errors.New("the client's hello is all that was wanted")

// readHello reads the first message of TLS without answering it; nil: c begins with
// something else. sent is all that was read.
func readHello(c net.Conn) (hello *tls.ClientHelloInfo, sent []byte) {
	r := &silent{Conn: c}
	tls.Server(r, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello = h
		return nil, errHello
	}}).Handshake()
	return hello, r.read.Bytes()
}

// silent keeps what is read, and writes nothing.
type silent struct {
	net.Conn
	read bytes.Buffer
}

func (s *silent) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.read.Write(b[:n])
	return n, err
}

func (s *silent) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (s *silent) Close() error              { return nil }
