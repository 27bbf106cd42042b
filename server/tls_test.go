package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// writePair puts a new self-signed certificate for the name and its key into dir.
func writePair(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writePair(t, dir, "browserd.example")
	d := start(t, func(c *Config) { c.TLSCert, c.TLSKey, c.MaxConnections = certFile, keyFile, 3 })
	pinned, err := ClientTLS(certFile)
	if err != nil {
		t.Fatal(err)
	}

	// Both transports, and not without TLS.
	https := &http.Client{Transport: &http.Transport{TLSClientConfig: pinned, DisableKeepAlives: true, ForceAttemptHTTP2: true}}
	ping := func() (int, string) {
		r, _ := http.NewRequest("POST", "https://"+d.addr+"/v1/ping", nil)
		r.Header.Set("Authorization", "Bearer "+aliceToken)
		a, err := https.Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer a.Body.Close()
		body, _ := io.ReadAll(a.Body)
		return a.StatusCode, a.Proto + " " + string(body)
	}
	if status, body := ping(); status != 200 || !strings.HasPrefix(body, "HTTP/1.1 ") {
		t.Errorf("ping over TLS: %d %s", status, body)
	}
	dialer := websocket.Dialer{TLSClientConfig: pinned}
	ws, _, err := dialer.Dial("wss://"+d.addr+"/v1/ws", http.Header{"Authorization": {"Bearer " + aliceToken}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	c := &client{t, ws}
	if hello := c.read(); !strings.Contains(hello, `"hello"`) {
		t.Errorf("hello over TLS: %s", hello)
	}
	if m := c.call(1, "open", `{"url":"https://site.test/a"}`); m.Error != nil {
		t.Errorf("open over TLS: %v", m.Error)
	}
	// Too large a message is told so, over TLS too.
	if err := ws.WriteMessage(websocket.TextMessage, make([]byte, 5<<20)); err != nil {
		t.Errorf("a message beyond read_limit: %v", err)
	} else if code := c.closed(); code != websocket.CloseMessageTooBig {
		t.Errorf("a message beyond read_limit: close code %d", code)
	}
	if a, err := http.Post("http://"+d.addr+"/v1/ping", "", nil); err == nil {
		a.Body.Close()
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: %d", a.StatusCode)
		}
	}
	// MinVersion: without it the client itself would refuse to speak it.
	_, err = tls.Dial("tcp", d.addr, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true})
	if alert := (*net.OpError)(nil); !errors.As(err, &alert) || alert.Op != "remote error" || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: %v, want the daemon's alert about the version", err)
	}
	// The limit on connections counts these, and says so through TLS.
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // what came before is on its way out
		d.connections.known.mu.Lock()
		left := d.connections.known.held
		d.connections.known.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("%d connections are left", left)
		}
	}
	var held []*websocket.Conn
	for range 3 {
		conn, _, err := dialer.Dial("wss://"+d.addr+"/v1/ws", http.Header{"Authorization": {"Bearer " + aliceToken}})
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	if status, body := ping(); status != http.StatusServiceUnavailable {
		t.Errorf("beyond server.max_connections: %d %s", status, body)
	}
	for _, conn := range held {
		conn.Close()
	}

	// Another's certificate is not trusted for being there.
	other, _ := writePair(t, t.TempDir(), "browserd.example")
	wrong, err := ClientTLS(other)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := tls.Dial("tcp", d.addr, wrong); err == nil {
		conn.Close()
		t.Error("a client that expects another certificate connects")
	}
}

// A renewed certificate is used without a restart; while the pair is half
// written the old one is.
func TestTLSIsReloaded(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writePair(t, dir, "one.example")
	d := start(t, func(c *Config) { c.TLSCert, c.TLSKey = certFile, keyFile })
	name := func() string {
		// What the handshake shows is the point here, not whom it convinces.
		conn, err := tls.Dial("tcp", d.addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return err.Error()
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].DNSNames[0]
	}
	if got := name(); got != "one.example" {
		t.Fatalf("at first: %s", got)
	}
	if err := os.WriteFile(certFile, []byte("half a certificate"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.cert.mu.Lock()
	d.cert.checked = time.Time{} // as if recheck were over
	d.cert.mu.Unlock()
	if got := name(); got != "one.example" {
		t.Errorf("while it is being replaced: %s", got)
	}
	writePair(t, dir, "two.example")
	limit := time.Now().Add(10 * time.Second)
	for name() != "two.example" {
		if time.Now().After(limit) {
			t.Fatalf("after it was replaced: %s", name())
		}
		time.Sleep(50 * time.Millisecond) // recheck is a second
	}
}

func TestTLSThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writePair(t, dir, "browserd.example")
	_, otherKey := writePair(t, t.TempDir(), "browserd.example")
	missing := filepath.Join(dir, "missing")
	for want, pair := range map[string][2]string{
		"server.tls_cert: is set without server.tls_key":                    {certFile, ""},
		"server.tls_key: is set without server.tls_cert":                    {"", keyFile},
		"server.tls_cert: open " + missing:                                  {missing, keyFile},
		"server.tls_key: open " + missing:                                   {certFile, missing},
		"server.tls_key: " + certFile + " and " + keyFile + " are no pair":  {keyFile, certFile},
		"server.tls_key: " + otherKey + " and " + certFile + " are no pair": {certFile, otherKey},
	} {
		cfg := testConfig()
		cfg.TLSCert, cfg.TLSKey = pair[0], pair[1]
		_, err := New(cfg, testTokens, testRuntime(newSite(), io.Discard), testSources)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", pair, err, want)
		}
	}
}
