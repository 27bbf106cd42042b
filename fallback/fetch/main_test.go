package fetch

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a Client as the policy's gate would make it, but for the dialer.
func client(t *testing.T) *Client {
	tr := &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: MaxHeaderBytes, TLSClientConfig: &tls.Config{}}
	t.Cleanup(tr.CloseIdleConnections)
	return &Client{Transport: tr}
}

// serve answers on loopback until the test ends.
func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// quiet is the log of servers whose complaints are expected.
var quiet = log.New(io.Discard, "", 0)
