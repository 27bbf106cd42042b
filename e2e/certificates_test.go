package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/fakeweb"
	"github.com/browserd/browserd/internal/testdaemon"
	"github.com/browserd/browserd/protocol"
)

// ca_file and insecure_hosts hold for every source alike, and for no other host; a
// page of an insecure host says so, and so does status.
func TestPrivateCertificates(t *testing.T) {
	t.Parallel()
	private, foreign := fakeweb.NewAuthority(t), fakeweb.NewAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, private.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func(a *fakeweb.Authority) string {
		return fakeweb.ServeTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<h1>Here it is, with enough text to be read</h1>")
		}), a.Certificate) + "/"
	}
	vouched, listed, refused := serve(private), serve(foreign), serve(foreign)
	host := strings.Trim(strings.TrimPrefix(listed, "https:"), "/")
	d := testdaemon.Start(t, testdaemon.Options{Env: map[string]string{
		"BROWSERD_POLICY__ALLOW_HOSTS": "localhost", "BROWSERD_POLICY__CA_FILE": file, "BROWSERD_POLICY__INSECURE_HOSTS": host,
	}})
	c := d.Dial(t)
	defer c.Close()
	for _, k := range []struct {
		command string
		params  map[string]any
	}{
		{"open", map[string]any{"source": "chromium"}},
		{"open", map[string]any{"source": "http"}},
		{"web_fetch", map[string]any{"source": "http"}},
		{"web_fetch", map[string]any{"source": "chromium"}},
		{"http_request", map[string]any{}},
	} {
		for _, at := range []string{vouched, listed, refused} {
			k.params["url"] = at
			var got struct {
				Page     protocol.Page
				Snapshot json.RawMessage
				Content  string
			}
			err := c.Call(t.Context(), k.command, k.params, &got)
			if at == refused {
				e, ok := err.(*protocol.Error)
				if !ok || e.Next != protocol.NextCertificate {
					t.Errorf("%s %v: %#v", k.command, k.params, err)
				}
				continue
			}
			if err != nil || !strings.Contains(string(got.Snapshot)+got.Content, "Here it is") {
				t.Errorf("%s %v: %v, %+v", k.command, k.params, err, got)
			}
			want := ""
			if at == listed && k.command == "open" {
				want = "unverified"
			}
			if got.Page.Certificate != want {
				t.Errorf("%s %v: certificate %q, want %q", k.command, k.params, got.Page.Certificate, want)
			}
		}
	}
	var status struct {
		Egress struct {
			InsecureHosts []string `json:"insecure_hosts"`
		}
	}
	if err := c.Call(t.Context(), "status", nil, &status); err != nil || len(status.Egress.InsecureHosts) != 1 || status.Egress.InsecureHosts[0] != host {
		t.Errorf("status: %v, %+v", err, status)
	}
}
