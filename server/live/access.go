package live

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/handoff"
)

// How long a ticket and a view last, and how many of one token there may be: the oldest
// one goes for one more.
const (
	ticketLife = 10 * time.Minute
	viewLife   = 8 * time.Hour
	// A ticket that is shown again so soon after its use was seen by somebody else: nobody
	// knows who was first, so the view ends (as RFC 6749, 4.1.2, has it of codes).
	replayWindow = time.Minute
	maxTickets   = 32
	maxViews     = 32
	maxOfTokens  = 1024 // of all tokens, each of both
)

// Access holds the tickets that were made and the views that were opened with them. It
// keeps hashes of what opens them. Any goroutine may call its methods.
type Access struct {
	ids     string // what tickets and IDs begin with
	mu      sync.Mutex
	tickets map[digest]*ticket
	views   map[string]*View // by ID
}

type digest = [sha256.Size]byte

type ticket struct {
	of      command.Viewing
	expires time.Time
	// view came of it, at used; nil: it has not been used.
	view *View
	used time.Time
}

// View is what one browser sees, since it opened a link.
type View struct {
	command.Viewing
	// ID is part of the view's path. Cookies are for a host, whatever the port: with a path
	// that nobody guesses, no other server of the host is sent this one.
	ID string
	// CSRF is shown by the view's own page with each request that changes something. It is
	// no secret of the viewer's, and without the cookie worth nothing.
	CSRF    string
	Expires time.Time
	cookie  digest
	over    chan struct{}
	once    sync.Once
}

// Person is who looks at the view.
func (v *View) Person() handoff.Person {
	name := v.Agent
	if !v.Operator {
		name = "someone with a link from " + v.Agent
	}
	return handoff.Person{ID: v.ID, Name: name}
}

// hiddenAfter is how long after a hand-back what a person typed may still be seen in a picture.
const hiddenAfter = time.Second

// excluded reports whether somebody else drives the session, and this view may not watch them: the
// agent might have opened it. Nor may it look at a page while the daemon does not know what is to be hidden.
func (v *View) excluded(s *session.Session) bool {
	c := session.Control(s)
	now := c.Status()
	return !v.Operator && (s.CheckLease() != nil || (now.Driver == "" || now.ID != v.ID) && (now.Driver != "" || c.Drove(time.Now().Add(-hiddenAfter))))
}

// Over is closed when the view has made room for another one. It does not tell of Expires.
func (v *View) Over() <-chan struct{} { return v.over }

func (v *View) end() { v.once.Do(func() { close(v.over) }) }

// NewAccess returns an Access without tickets. ids is what its tickets and the IDs of its views are
// to begin with.
func NewAccess(ids string) *Access {
	return &Access{ids: ids, tickets: map[digest]*ticket{}, views: map[string]*View{}}
}

// Ticket makes a ticket: whoever shows it first, until it expires, has a view.
func (a *Access) Ticket(of command.Viewing, now time.Time) (text string, expires time.Time) {
	text = a.ids + rand.Text()
	t := &ticket{of: of, expires: now.Add(ticketLife)}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, other := range a.tickets {
		if other.over(now) {
			delete(a.tickets, key)
		}
	}
	makeRoom(a.tickets, func(other *ticket) (token int, expires time.Time) { return other.of.Token, other.expires }, of.Token, maxTickets, nil)
	a.tickets[sha256.Sum256([]byte(text))] = t
	return text, t.expires
}

// Redeem takes a ticket and returns the view that comes of it, with the cookie's value;
// nil: there is no such ticket, any more.
func (a *Access) Redeem(text string, now time.Time) (v *View, cookie string) {
	key := sha256.Sum256([]byte(text))
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tickets[key]
	if t == nil || t.over(now) {
		return nil, ""
	}
	if t.view != nil {
		if now.Sub(t.used) < replayWindow {
			t.view.end()
		}
		return nil, ""
	}
	cookie = rand.Text()
	v = &View{
		Viewing: t.of, ID: a.ids + rand.Text(), CSRF: rand.Text(), Expires: now.Add(viewLife),
		cookie: sha256.Sum256([]byte(cookie)), over: make(chan struct{}),
	}
	for id, other := range a.views {
		if other.ended(now) {
			delete(a.views, id)
			other.end()
		}
	}
	makeRoom(a.views, func(other *View) (token int, expires time.Time) { return other.Token, other.Expires }, v.Token, maxViews, (*View).end)
	a.views[v.ID] = v
	t.view, t.used = v, now
	return v, cookie
}

// Open reports whether a ticket could be redeemed, and leaves it.
func (a *Access) Open(text string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tickets[sha256.Sum256([]byte(text))]
	return t != nil && t.view == nil && !t.over(now)
}

// View returns the view of that ID if the cookie is its own and it has not ended; else nil.
func (a *Access) View(id, cookie string, now time.Time) *View {
	a.mu.Lock()
	v := a.views[id]
	a.mu.Unlock()
	sum := sha256.Sum256([]byte(cookie))
	if v == nil || subtle.ConstantTimeCompare(sum[:], v.cookie[:]) != 1 || v.ended(now) {
		return nil
	}
	return v
}

func (t *ticket) over(now time.Time) bool { return !now.Before(t.expires) || closed(t.of) }

func (v *View) ended(now time.Time) bool {
	select {
	case <-v.over:
		return true
	default:
		return !now.Before(v.Expires) || closed(v.Viewing)
	}
}

// closed reports whether the session of a view has ended. Another one of its name is
// another session.
func closed(v command.Viewing) bool {
	if v.Session == nil {
		return false
	}
	select {
	case <-v.Session.Done():
		return true
	default:
		return false
	}
}

// makeRoom removes the oldest of a token's entries where it has as many as it may, and the
// oldest of all where there are too many.
func makeRoom[K comparable, V any](in map[K]V, of func(V) (token int, expires time.Time), token, limit int, removed func(V)) {
	count := 0
	var own, oldest K
	var ownAt, oldestAt time.Time
	for key, v := range in {
		whose, at := of(v)
		if oldestAt.IsZero() || at.Before(oldestAt) {
			oldest, oldestAt = key, at
		}
		if whose == token {
			if count++; ownAt.IsZero() || at.Before(ownAt) {
				own, ownAt = key, at
			}
		}
	}
	remove := func(key K) {
		if removed != nil {
			removed(in[key])
		}
		delete(in, key)
	}
	switch {
	case count >= limit:
		remove(own)
	case len(in) >= maxOfTokens:
		remove(oldest)
	}
}

// SameToken compares a CSRF token that was shown with the view's own.
func SameToken(shown, own string) bool {
	return subtle.ConstantTimeCompare([]byte(shown), []byte(own)) == 1
}
