package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
)

// digest is the SHA-256 of a token. All digests have the same length, so that comparing
// them in constant time does not reveal the length of a token.
type digest = [sha256.Size]byte

// holder describes who holds a token, without the token itself.
type holder struct {
	agent, role string
	autonomy    policy.Autonomy
	number      int // identifies the token at this daemon; counts from 1
	id          string
}

// tokenID returns what identifies a token at every node of a fleet. Nobody learns the token from it.
func tokenID(token string) string {
	sum := hmac.New(sha256.New, []byte(token))
	io.WriteString(sum, "browserd: which token asks and answers")
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// caller returns the holder as a caller of commands.
func (h holder) caller() *command.Caller {
	return &command.Caller{Agent: h.agent, Role: h.role, Autonomy: h.autonomy, Token: h.number, TokenID: h.id}
}

// keyring holds the digests of the accepted tokens.
type keyring struct {
	holders  []holder
	digests  []digest
	failures *failures
}

func newKeyring(tokens []Token) *keyring {
	k := &keyring{failures: &failures{seen: map[netip.Prefix]*record{}}}
	for i, t := range tokens {
		if t.Role == "" {
			t.Role = RoleAgent
		}
		k.holders = append(k.holders, holder{t.Agent, t.Role, policy.Autonomy(t.Autonomy), i + 1, tokenID(t.Token)})
		k.digests = append(k.digests, sha256.Sum256([]byte(t.Token)))
	}
	return k
}

// authenticate returns the holder of the token in the request's Authorization header
// (RFC 6750 section 2.1; the query string of section 2.3 is never read). A right token
// always works, however many wrong ones came from the same address. Errors: unauthorized,
// and rate_limited for an address that guesses tokens.
func (k *keyring) authenticate(r *http.Request) (holder, *protocol.Error) {
	from := remoteNet(r.RemoteAddr)
	secret, sent := bearer(r)
	sum := sha256.Sum256([]byte(secret))
	if !sent {
		return holder{}, protocol.Errorf(protocol.Unauthorized, "the request carries no token")
	}
	if h, ok := k.match(sum); ok {
		return h, nil
	}
	if wait := k.failures.locked(from, time.Now()); wait > 0 {
		return holder{}, tooManyFailures(wait)
	}
	k.failures.add(from, sum, time.Now())
	return holder{}, protocol.Errorf(protocol.Unauthorized, "the token is not one of this daemon's").
		Then("send the token of auth.tokens, of BROWSERD_TOKEN, or of the daemon's state directory as Authorization: Bearer TOKEN")
}

func tooManyFailures(wait time.Duration) *protocol.Error {
	return protocol.Errorf(protocol.RateLimited, "too many different tokens that are not right came from this address").
		With("retry_after_s", int(math.Ceil(wait.Seconds()))).
		Then("send a right token, which is always accepted, or wait details.retry_after_s seconds")
}

// bearer returns the token of the only Authorization header.
func bearer(r *http.Request) (token string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// match compares with every token, even after a match, so that its duration reveals
// neither which token matched nor how close a guess was.
func (k *keyring) match(sum digest) (holder, bool) {
	found := -1
	for i := range k.digests {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(k.digests[i][:], sum[:]), i, found)
	}
	if found < 0 {
		return holder{}, false
	}
	return k.holders[found], true
}

// withID returns a holder whom another node names, with the ID of the own token that it stands for: nodes of older
// versions leave it out. They tell an operator's tokens apart by their number alone, and may count them in another
// order. Then it stays empty, since whoever asks may not answer.
func (k *keyring) withID(h holder) holder {
	id, alike := "", 0
	for _, own := range k.holders {
		if own.agent == h.agent && own.role == h.role && own.autonomy == h.autonomy {
			alike++
			if own.number == h.number {
				id = own.id
			}
		}
	}
	if h.id == "" && (h.role != RoleOperator || alike == 1) {
		h.id = id
	}
	return h
}

// Limits on wrong tokens from one address.
const (
	maxGuesses    = 100
	failureWindow = time.Minute
	maxAddresses  = 1024 // remembered at once
)

// failures records the wrong tokens that each address sent. After maxGuesses different
// ones within a minute the address is considered to be guessing: each further wrong token
// is answered rate_limited until the minute is over, and is not logged. A client that
// repeats one outdated token, or a web page that makes a browser send requests without a
// token, is answered unauthorized each time.
type failures struct {
	mu   sync.Mutex
	seen map[netip.Prefix]*record
}

type record struct {
	since   time.Time
	guesses []digest // the different wrong tokens, at most maxGuesses
}

// locked returns for how much longer wrong tokens of the address are answered
// rate_limited.
func (f *failures) locked(from netip.Prefix, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.seen[from]; r != nil && len(r.guesses) >= maxGuesses {
		return r.since.Add(failureWindow).Sub(now)
	}
	return 0
}

// add records a wrong token.
func (f *failures) add(from netip.Prefix, guess digest, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.seen[from]
	if r == nil || now.Sub(r.since) >= failureWindow {
		f.makeRoom(now)
		r = &record{since: now}
		f.seen[from] = r
	}
	if len(r.guesses) < maxGuesses && !slices.Contains(r.guesses, guess) {
		r.guesses = append(r.guesses, guess)
	}
}

// makeRoom removes the records whose minute is over, or the oldest record if there are
// none.
func (f *failures) makeRoom(now time.Time) {
	if len(f.seen) < maxAddresses {
		return
	}
	var oldest netip.Prefix
	for from, r := range f.seen {
		if now.Sub(r.since) >= failureWindow {
			delete(f.seen, from)
		} else if o := f.seen[oldest]; o == nil || r.since.Before(o.since) {
			oldest = from
		}
	}
	if len(f.seen) >= maxAddresses {
		delete(f.seen, oldest)
	}
}

// remoteNet returns what counts as one address: an IPv4 address, or the /64 of an IPv6
// address, since a host usually has all of it.
func remoteNet(remote string) netip.Prefix {
	ap, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr := ap.Addr().Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits)
	return p
}
