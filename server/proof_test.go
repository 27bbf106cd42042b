package server

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/browserd/browserd/protocol"
)

// The daemon proves each of its tokens under the address that was dialled, under no
// other, and says nothing else.
func TestProof(t *testing.T) {
	d := start(t, nil)
	nonce := strings.Repeat("ab", 32)
	ask := func(host, query string) (int, protocol.Proof) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, "http://"+d.addr+protocol.ProofPath+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		var p protocol.Proof
		json.Unmarshal(body, &p)
		return resp.StatusCode, p
	}
	at := d.addr
	status, p := ask("", "?nonce="+nonce)
	want := protocol.ProofOf(sha256.Sum256([]byte(aliceToken)), at, nonce, p.Nonce)
	if status != http.StatusOK || !slices.Contains(p.Proofs, want) || !slices.IsSorted(p.Proofs) {
		t.Errorf("got %d, %v, want %s in it", status, p, want)
	}
	if _, again := ask("", "?nonce="+nonce); again.Nonce == p.Nonce || slices.Contains(again.Proofs, want) {
		t.Error("the same proof twice")
	}
	port := d.port()
	for _, c := range []struct {
		host, query string
		want        int
	}{
		{"127.0.0.1:1", "?nonce=" + nonce, http.StatusForbidden},
		{"localhost:" + port, "?nonce=" + nonce, http.StatusForbidden},
		{"[::1]:" + port, "?nonce=" + nonce, http.StatusForbidden},
		{"", "", http.StatusBadRequest},
		{"", "?nonce=abcd", http.StatusBadRequest},
		{"", "?nonce=" + strings.Repeat("zz", 32), http.StatusBadRequest},
	} {
		if status, p := ask(c.host, c.query); status != c.want || len(p.Proofs) > 0 {
			t.Errorf("%s %s: got %d, %v, want %d", c.host, c.query, status, p, c.want)
		}
	}
}

func TestProofsAreLimited(t *testing.T) {
	var a allowance
	now, from := time.Unix(1, 0), netip.MustParsePrefix("10.0.0.1/32")
	for range proofBurst {
		if !a.allow(from, now) {
			t.Fatal("refused too early")
		}
	}
	if a.allow(from, now) {
		t.Error("no limit")
	}
	if !a.allow(netip.MustParsePrefix("10.0.0.2/32"), now) {
		t.Error("another address is refused")
	}
	if !a.allow(from, now.Add(time.Second)) {
		t.Error("refused for ever")
	}
}
