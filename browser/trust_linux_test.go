package browser

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/browser/chromium"
	"github.com/browserd/browserd/internal/fakeweb"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// A page of an authority in ca_file and one of a host in insecure_hosts open; every
// other certificate stays refused, also behind a redirect, on another port, and
// where the server sends the authority's own certificate without its signature.
func TestPrivateCertificates(t *testing.T) {
	t.Parallel()
	private, foreign := fakeweb.NewAuthority(t), fakeweb.NewAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, private.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	var refused string
	serve := func(certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) string {
		return fakeweb.ServeTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/away" {
				http.Redirect(w, r, refused, http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<title>%s</title>", r.Proto)
		}), certificate)
	}
	vouched, listed := serve(private.Certificate), serve(foreign.Certificate)
	refused = serve(foreign.Certificate)
	// Whoever has seen the authority's certificate can send it too.
	forged := serve(func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := foreign.Certificate(hello)
		if err == nil {
			c.Certificate = append(c.Certificate, private.DER())
		}
		return c, err
	})
	bothWays(t, func(t *testing.T, cfg chromium.Config, jailed bool) {
		g := behindProxy(t, cfg, policy.Config{
			AllowHosts: []string{"localhost"}, CAFile: file, InsecureHosts: []string{strings.TrimPrefix(listed, "https://")},
		}, jailed)
		c := g.open(t, policy.GateOptions{}, quiet)
		for _, k := range []struct {
			url  string
			open bool
		}{
			{vouched, true}, {listed, true}, {refused, false}, {forged, false},
			{vouched + "/away", false}, {listed + "/away", false}, {vouched, true}, {listed, true},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			_, err := c.Open(ctx, k.url, protocol.WaitLoad)
			cancel()
			if k.open {
				if s := c.State(); err != nil || s.Status != 200 || s.Title != "HTTP/2.0" {
					t.Errorf("%s: %v, at %+v", k.url, err, s)
				}
				continue
			}
			e, ok := err.(*protocol.Error)
			if !ok || e.Code != protocol.NavigationFailed || !strings.Contains(e.Message, "CERT") || e.Next != protocol.NextCertificate {
				t.Errorf("%s: %#v", k.url, err)
			}
		}
	})
}
