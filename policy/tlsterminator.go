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

// tlsTerminator terminates TLS for servers that Chromium could not verify, and makes its own
// TLS connection to the server: unverified for hosts of policy.insecure_hosts, verified
// for servers whose certificate comes from an authority of policy.ca_file. All other
// tunnels are passed through unread, and Chromium verifies their certificates.
//
// Chromium has no setting for this that is sound for one host alone. Its list of keys
// (--ignore-certificate-errors-spki-list) accepts whatever chain a server sends, if only
// one certificate in it has such a key, signed or not. A server that copied an
// authority's public certificate into its chain would be trusted. So the list holds one
// key, which is made here and never leaves the process, and whose certificate is only
// sent to the Chromium at the other end of a session proxy.
type tlsTerminator struct {
	trust       *Trust
	certificate tls.Certificate
	keyHash     string

	mu     sync.Mutex
	public map[string]time.Time // host:port whose certificate is not from ca_file, and until when that is assumed
}

const (
	publicKept = 1024            // hosts; when there are more, all are forgotten
	publicFor  = 5 * time.Minute // servers rarely get another certificate
)

func newTLSTerminator(trust *Trust) (*tlsTerminator, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	// It names no host, so that HTTP/2 is not used for another host's requests
	// (RFC 9113 section 9.1.1).
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: challengeHost}, DNSNames: []string{challengeHost},
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
	return &tlsTerminator{
		trust: trust, certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		keyHash: base64.StdEncoding.EncodeToString(sum[:]), public: map[string]time.Time{},
	}, nil
}

// KeyHash returns the hash of the key with which the proxy terminates TLS, as Chromium's
// flag --ignore-certificate-errors-spki-list expects it. It is empty if the proxy never
// terminates TLS.
func (e *Egress) KeyHash() string {
	if e.terminator == nil {
		return ""
	}
	return e.terminator.keyHash
}

// terminateTLS decides whether Chromium or the proxy verifies the server of a tunnel. It returns
// the connections to copy between: those that it was given, including the bytes read so
// far, or the TLS connections of both ends. The returned far may be a new connection to
// the same address; then the given one is closed.
func (p *SessionProxy) terminateTLS(near, far net.Conn, address string) (net.Conn, net.Conn, error) {
	terminator := p.egress.terminator
	unverified := terminator.trust.unverified(address)
	if !unverified && (terminator.trust.private == nil || terminator.isPublic(address)) {
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
	cfg := terminator.trust.config(address, hello.SupportedProtos)
	if !unverified {
		cfg.RootCAs = terminator.trust.private
	}
	server := tls.Client(far, cfg)
	if err := server.HandshakeContext(ctx); err != nil {
		far.Close()
		if unverified {
			return near, far, err
		}
		// Chromium verifies it, on a new connection.
		if isUntrusted(err) {
			terminator.setPublic(address)
		}
		far, err := p.dial(ctx, "tcp", address)
		if err != nil {
			return near, server, err
		}
		return near, far, nil
	}
	own := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{terminator.certificate}}
	if chosen := server.ConnectionState().NegotiatedProtocol; chosen != "" {
		own.NextProtos = []string{chosen}
	}
	browser := tls.Server(near, own)
	if err := browser.HandshakeContext(ctx); err != nil { // not the server's failure
		return near, server, protocol.Errorf(protocol.Cancelled, "the browser ended the connection: %w", err)
	}
	return browser, server, nil
}

func (x *tlsTerminator) isPublic(address string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return time.Now().Before(x.public[address])
}

func (x *tlsTerminator) setPublic(address string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.public) >= publicKept {
		clear(x.public)
	}
	x.public[address] = time.Now().Add(publicFor)
}

var errHello = errors.New("the client's hello is all that was wanted")

// readHello reads the TLS ClientHello without answering it. It returns nil if c begins with
// something else. sent is everything that was read.
func readHello(c net.Conn) (hello *tls.ClientHelloInfo, sent []byte) {
	r := &recordingConn{Conn: c}
	tls.Server(r, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello = h
		return nil, errHello
	}}).Handshake()
	return hello, r.read.Bytes()
}

// recordingConn is a connection that records what is read and fails every write.
type recordingConn struct {
	net.Conn
	read bytes.Buffer
}

func (s *recordingConn) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	s.read.Write(b[:n])
	return n, err
}

func (s *recordingConn) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
func (s *recordingConn) Close() error              { return nil }
