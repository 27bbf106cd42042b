package server

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Limits on the proofs that one address may request, besides the first of each connection.
const (
	proofBurst     = 500
	proofsASecond  = 100
	proofAddresses = 1024 // remembered at once
)

// serveProof proves to the client that this daemon knows the accepted tokens, without
// revealing them. A client checks the proof before it sends its token. The gate has checked
// Host, which is part of the proof.
func (s *Server) serveProof(w http.ResponseWriter, r *http.Request) {
	nonce := r.URL.Query().Get("nonce")
	if b, err := hex.DecodeString(nonce); err != nil || len(b) != 32 {
		writeError(w, http.StatusBadRequest, protocol.Errorf(protocol.InvalidParams, "nonce: accepts 64 hexadecimal digits"))
		return
	}
	if !s.provesAt(r) {
		writeError(w, http.StatusForbidden, protocol.Errorf(protocol.PolicyDenied, "Host %q is not the address that was dialled", cut(r.Host)).With("reason", "host"))
		return
	}
	// The first of a connection is always given, or whoever shares a client's address could
	// keep it from its daemon. It costs less than the connection.
	if c, _ := r.Context().Value(connectionKey{}).(*connection); c.proofSent.Swap(true) && !s.proofs.allow(remoteNet(r.RemoteAddr), time.Now()) {
		writeError(w, protocol.RateLimited.Row().HTTP, protocol.Errorf(protocol.RateLimited, "too many proofs were asked for from this address").With("retry_after_s", 1))
		return
	}
	own := make([]byte, 32)
	rand.Read(own)
	answer := protocol.Proof{Nonce: hex.EncodeToString(own)}
	for _, d := range s.keys.digests {
		answer.Proofs = append(answer.Proofs, protocol.ProofOf(d, r.Host, nonce, answer.Nonce))
	}
	slices.Sort(answer.Proofs) // so that their order does not reveal the order of the tokens
	body, _ := encode(answer)  // strings only
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, body)
}

// provesAt reports whether the daemon may prove itself under the request's Host. A
// client on this machine names the very address that it dialled, so that nobody who
// listens at another loopback address or port passes the proof on. An address of
// another interface may have been translated, as a container's published port is.
func (s *Server) provesAt(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil { // a Unix socket: its file's owner is the proof
		return true
	}
	return !at.Addr().IsLoopback() || r.Host == local.String() || s.gate.hosts[strings.ToLower(r.Host)]
}

// allowance limits how often an address may ask, by a token bucket each.
type allowance struct {
	mu   sync.Mutex
	seen map[netip.Prefix]*bucket
}

type bucket struct {
	left float64
	at   time.Time
}

func (a *allowance) allow(from netip.Prefix, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.seen[from]
	if b == nil {
		if len(a.seen) >= proofAddresses {
			for old, was := range a.seen {
				if now.Sub(was.at) > proofBurst/proofsASecond*time.Second {
					delete(a.seen, old)
				}
			}
		}
		if len(a.seen) >= proofAddresses {
			return false
		}
		b = &bucket{left: proofBurst, at: now}
		if a.seen == nil {
			a.seen = map[netip.Prefix]*bucket{}
		}
		a.seen[from] = b
	}
	b.left = min(proofBurst, b.left+now.Sub(b.at).Seconds()*proofsASecond)
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
