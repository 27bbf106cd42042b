package server

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// recheck is how long a certificate is used before its files are checked for changes.
const recheck = time.Second

// certificate is the daemon's certificate. It is read again when its files have changed, so
// that renewing it needs no restart. Any goroutine may call its methods.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	stamp   [2]stamp  // of the two files when they were last read
	checked time.Time // when the files were last checked
}

// stamp identifies the content of a file, to notice changes.
type stamp struct {
	time  time.Time
	size  int64
	inode fs.FileInfo
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size(), info}
}

func (s stamp) same(o stamp) bool {
	if s.inode == nil || o.inode == nil {
		return s.inode == o.inode
	}
	return s.time.Equal(o.time) && s.size == o.size && os.SameFile(s.inode, o.inode)
}

// readCertificate reads the pair for the first time. Errors begin with the invalid key.
func readCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log, checked: time.Now()}
	c.stamp = [2]stamp{stampOf(certFile), stampOf(keyFile)}
	pair, err := loadPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	c.pair = pair
	return c, nil
}

func loadPair(certFile, keyFile string) (*tls.Certificate, error) {
	cert, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("server.tls_cert: %w", err)
	}
	key, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, fmt.Errorf("server.tls_key: %w", err)
	}
	if block, _ := pem.Decode(cert); block == nil {
		return nil, fmt.Errorf("server.tls_cert: %s holds no PEM certificate", certFile)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("server.tls_key: %s and %s are no pair: %w", keyFile, certFile, err)
	}
	return &pair, nil
}

// current is tls.Config.GetCertificate. If a changed pair cannot be read, for example because
// only one of the files has been replaced yet, it returns the old one and tries again when
// either file changes.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < recheck {
		return c.pair, nil
	}
	c.checked = time.Now()
	now := [2]stamp{stampOf(c.certFile), stampOf(c.keyFile)}
	if now[0].same(c.stamp[0]) && now[1].same(c.stamp[1]) {
		return c.pair, nil
	}
	c.stamp = now
	pair, err := loadPair(c.certFile, c.keyFile)
	if err != nil {
		c.log.Warn("the changed certificate is not used", "error", err)
		return c.pair, nil
	}
	c.pair = pair
	c.log.Info("the certificate was read again", "expires", pair.Leaf.NotAfter)
	return c.pair, nil
}

// config returns the daemon's TLS configuration: TLS 1.2 and 1.3 with HTTP/1.1 only, since
// RFC 6455 defines WebSockets for HTTP/1.1.
func (c *certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: c.current}
}

// ClientTLS returns the TLS configuration for a client on the daemon's machine. It accepts only
// the certificate in certFile itself, whatever its names and its authority.
func ClientTLS(certFile string) (*tls.Config, error) {
	text, err := os.ReadFile(certFile)
	if err != nil {
		return nil, fmt.Errorf("server.tls_cert: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("server.tls_cert: %s holds no PEM certificate", certFile)
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return nil, fmt.Errorf("server.tls_cert: %s: %w", certFile, err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// VerifyConnection below compares the certificate itself, which is stricter
		// than verifying a chain.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("what answers has another certificate than server.tls_cert")
			}
			return nil
		},
	}, nil
}
