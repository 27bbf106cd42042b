package policy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/browserd/browserd/internal/fakedns"
	"github.com/browserd/browserd/protocol"
)

// The transport connects through the gate only, and does not change responses.
func TestTransport(t *testing.T) {
	o := newOutside(t)
	var squeezed bytes.Buffer
	z := gzip.NewWriter(&squeezed)
	io.WriteString(z, "hello")
	z.Close()
	o.Serve = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(squeezed.Bytes())
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 70<<10))
		case "/moved":
			w.Header().Set("Location", "http://127.0.0.1/")
			w.WriteHeader(http.StatusFound)
		}
	})
	o.DNS.Set("www.example.com", fakedns.Answer{A: []string{"93.184.216.34"}})
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	tr := o.transport(o.gate(Config{}))
	get := func(url string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tr.RoundTrip(req)
	}
	resp, err := get("https://www.example.com/gzip")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !bytes.Equal(body, squeezed.Bytes()) {
		t.Errorf("the body is %q", body)
	}
	if resp, err = get("http://www.example.com/moved"); err != nil || resp.StatusCode != http.StatusFound {
		t.Errorf("a redirect: %v %v", resp, err)
	}
	resp.Body.Close()
	if _, err := get("http://www.example.com/headers"); err == nil || !strings.Contains(err.Error(), "header") {
		t.Errorf("70 KiB of headers: %v", err)
	}
	_, err = get("http://127.0.0.1/")
	var e *protocol.Error
	if !errors.As(err, &e) || e.Details["reason"] != "ip_loopback" {
		t.Errorf("a refused host: %v", err)
	}
	if got := o.hosts(); !slices.Equal(got, []string{"93.184.216.34"}) {
		t.Errorf("dialled %v", got)
	}
}

// DNS rebinding: the dialled address is the one that was checked, and the next
// connection is looked up and checked again.
func TestRebinding(t *testing.T) {
	t.Parallel()
	o := newOutside(t)
	public, private := fakedns.Answer{A: []string{"93.184.216.34"}}, fakedns.Answer{A: []string{"127.0.0.1"}}
	o.DNS.Set("rebind.attacker.com", public, private, public, private)
	// The script changes the moment that the look-up is answered, too.
	changing := o.gate(Config{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		o.DNS.Set("late.attacker.com", private)
		return o.dial(ctx, network, address)
	}})
	o.DNS.Set("late.attacker.com", public)
	if got := dialWord(t, changing, "late.attacker.com:80"); got != "ok" {
		t.Errorf("changed after the look-up: %s", got)
	}
	g := o.gate(Config{})
	for i, want := range []string{"ok", "ip_loopback", "ok", "ip_loopback", "ip_loopback"} {
		if got := dialWord(t, g, "rebind.attacker.com:80"); got != want {
			t.Errorf("connection %d: got %s, want %s", i, got, want)
		}
	}
	if n := o.DNS.Lookups("rebind.attacker.com"); n != 5 {
		t.Errorf("%d look-ups for 5 connections", n)
	}
	if got := o.hosts(); !slices.Equal(got, []string{"93.184.216.34"}) {
		t.Errorf("dialled %v", got)
	}
}
