package server

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	goclient "github.com/browserd/browserd/clients/go"
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

// Whoever asks without end, from a client's own address or from a thousand others, keeps
// nobody from the proof that comes before the token.
func TestProofsOfOthersKeepNobodyOut(t *testing.T) {
	d := start(t, nil)
	path := "http://" + d.addr + protocol.ProofPath + "?nonce=" + strings.Repeat("ab", 32)
	ask := func(from string) (statuses map[int]int) {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		tr := &http.Transport{DialContext: dialer.DialContext, MaxConnsPerHost: 1}
		defer tr.CloseIdleConnections()
		statuses = map[int]int{}
		for range 2 * proofBurst {
			resp, err := (&http.Client{Transport: tr}).Get(path)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if statuses[resp.StatusCode]++; from != "127.0.0.1" {
				return statuses
			}
		}
		return statuses
	}
	if got := ask("127.0.0.1"); got[http.StatusTooManyRequests] == 0 {
		t.Fatalf("one connection asked %d times: %v, want an end of it", 2*proofBurst, got)
	}
	if runtime.GOOS == "linux" { // where all of 127.0.0.0/8 is this machine
		for i := range proofAddresses + 10 {
			ask(fmt.Sprintf("127.1.%d.%d", i/250, i%250+1))
		}
	}
	own, err := goclient.Dial(t.Context(), "ws://"+d.addr+"/v1/ws", aliceToken)
	if err != nil {
		t.Fatalf("a client of that address: %v", err)
	}
	own.Close()
	if got := ask("127.2.0.1"); runtime.GOOS == "linux" && got[http.StatusOK] != 1 {
		t.Errorf("an address that never asked before: %v", got)
	}
}
