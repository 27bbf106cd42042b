package server

import (
	"crypto/sha256"
	"crypto/subtle"
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

// digest is a token's SHA-256: of one length, so that comparing it in constant
// time says nothing about the token's own.
type digest = [sha256.Size]byte

// holder is who has one of the tokens, without its secret.
type holder struct {
	agent, role string
	autonomy    policy.Autonomy
	number      int // tells the token from all others, from 1
}

// caller is the holder as a client that sends commands.
func (h holder) caller() *command.Caller {
	return &command.Caller{Agent: h.agent, Role: h.role, Autonomy: h.autonomy, Token: h.number}
}

// keyring knows the tokens by their digests.
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
		k.holders = append(k.holders, holder{t.Agent, t.Role, policy.Autonomy(t.Autonomy), i + 1})
		k.digests = append(k.digests, sha256.Sum256([]byte(t.Token)))
	}
	return k
}

// authenticate says whose token the request's Authorization header carries
// (RFC 6750 section 2.1; the query string of section 2.3 is never looked at).
// A right token always works, whatever else came from its address. Errors:
// unauthorized, and rate_limited for an address that guesses.
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

// bearer is the token of the one Authorization header.
func bearer(r *http.Request) (token string, ok bool) {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}

// match compares with every token, whichever fits, so that the time it takes
// says neither which one did nor how near a guess came.
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

// What an address may get wrong.
const (
	maxGuesses    = 100
	failureWindow = time.Minute
	maxAddresses  = 1024 // remembered at once
)

// failures remembers the wrong tokens that an address sent. After maxGuesses
// different ones within a minute somebody is guessing, and is told rate_limited for
// each further wrong one until the minute is over; the log says no more about it. A client
// that repeats one outdated token, or a web page that makes a browser send requests
// without any, is told `unauthorized` each time.
type failures struct {
	mu   sync.Mutex
	seen map[netip.Prefix]*record
}

type record struct {
	since   time.Time
	guesses []digest // different ones, at most maxGuesses
}

// locked returns how long wrong tokens of the address are answered rate_limited.
func (f *failures) locked(from netip.Prefix, now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.seen[from]; r != nil && len(r.guesses) >= maxGuesses {
		return r.since.Add(failureWindow).Sub(now)
	}
	return 0
}

// add remembers a wrong token.
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

// makeRoom forgets what is over, and the oldest record where nothing is.
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

// remoteNet is what counts as one address: an IPv4 address, or the /64 that
// an IPv6 host has to itself.
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
