package live

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"sync/atomic"
	"time"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/handoff"
)

// How long a ticket and a view last, and how many there may be for one token. One more replaces the oldest.
const (
	ticketLife = 10 * time.Minute
	viewLife   = 8 * time.Hour
	// If a ticket is used a second time within replayWindow, somebody else has seen it, and it is unknown which
	// of the two was the rightful one. So the view ends (as RFC 6749 section 4.1.2 says of authorization
	// codes).
	replayWindow = time.Minute
	maxTickets   = 32
	maxViews     = 32
	maxTotal     = 1024 // limit for all tokens together, of tickets and of views
)

// Access holds the tickets, and the views that were opened with them. It stores only hashes of tickets and
// cookies. Any goroutine may call its methods.
type Access struct {
	ids     string // prefix of tickets and of views' IDs
	mu      sync.Mutex
	tickets map[digest]*ticket
	views   map[string]*View // by ID
}

type digest = [sha256.Size]byte

type ticket struct {
	of      command.Viewing
	expires time.Time
	// view was opened with the ticket at the time used; nil: the ticket has not been used.
	view *View
	used time.Time
}

// View is one browser's access to the live view, from when it opened a link.
type View struct {
	command.Viewing
	// ID is part of the view's path. Browsers send cookies to all ports of a host. Since nobody can guess the
	// path, no other server of the host gets the view's cookie.
	ID string
	// CSRF is the token that the view's page sends with each request that changes something. The viewer may
	// know it. It is of no use without the cookie.
	CSRF    string
	Expires time.Time
	cookie  digest
	done    chan struct{}
	once    sync.Once

	uploading atomic.Bool
}

// BeginUpload begins an upload of files, unless another one of the view has not ended yet.
func (v *View) BeginUpload() (end func(), ok bool) {
	if !v.uploading.CompareAndSwap(false, true) {
		return nil, false
	}
	return func() { v.uploading.Store(false) }, true
}

// Person returns the viewer, as a hand-off knows them.
func (v *View) Person() handoff.Person {
	name := v.Agent
	if !v.Operator {
		name = "someone with a link from " + v.Agent
	}
	return handoff.Person{ID: v.ID, Name: name}
}

// redactionDelay is how long after a hand-back pictures may still show what the person typed.
const redactionDelay = time.Second

// mayNotWatch reports whether the view must not show the session's page now, since the agent might have opened
// the view: while somebody else drives, and while the daemon does not know which secrets to redact. It is false
// for operators.
func (v *View) mayNotWatch(s *session.Session) bool {
	c := session.Control(s)
	now := c.Status()
	return !v.Operator && (s.CheckLease() != nil || (now.Driver == "" || now.ID != v.ID) && (now.Driver != "" || c.DroveAt(time.Now().Add(-redactionDelay))))
}

// Done is closed when the view was ended: replaced by another one, or because its ticket was used twice. It is
// not closed at Expires.
func (v *View) Done() <-chan struct{} { return v.done }

// End ends the view.
func (v *View) End() { v.once.Do(func() { close(v.done) }) }

// AwaitEnd returns true when the view has ended, for whatever reason, and false when ctx ends first.
func (v *View) AwaitEnd(ctx context.Context) bool {
	over := time.NewTimer(time.Until(v.Expires))
	defer over.Stop()
	var closed <-chan struct{}
	if v.Session != nil {
		closed = v.Session.Done()
	}
	select {
	case <-v.done:
	case <-closed:
	case <-over.C:
	case <-ctx.Done():
		return v.Ended(time.Now()) // both may be ready
	}
	return true
}

// NewAccess returns an Access without tickets. ids is the prefix of its tickets and of the IDs of its views.
func NewAccess(ids string) *Access {
	return &Access{ids: ids, tickets: map[digest]*ticket{}, views: map[string]*View{}}
}

// Ticket makes a ticket, with which one view can be opened until it expires.
func (a *Access) Ticket(of command.Viewing, now time.Time) (text string, expires time.Time) {
	text = a.ids + rand.Text()
	t := &ticket{of: of, expires: now.Add(ticketLife)}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, other := range a.tickets {
		if other.expired(now) {
			delete(a.tickets, key)
		}
	}
	evictOldest(a.tickets, func(other *ticket) (token int, expires time.Time) { return other.of.Token, other.expires }, of.Token, maxTickets, nil)
	a.tickets[sha256.Sum256([]byte(text))] = t
	return text, t.expires
}

// Redeem opens a view with a ticket and returns it with the cookie's value. The view is nil if there is no such
// ticket, or it was used or has expired.
func (a *Access) Redeem(text string, now time.Time) (v *View, cookie string) {
	key := sha256.Sum256([]byte(text))
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tickets[key]
	if t == nil || t.expired(now) {
		return nil, ""
	}
	if t.view != nil {
		if now.Sub(t.used) < replayWindow {
			t.view.End()
		}
		return nil, ""
	}
	v, cookie = a.open(t.of, now.Add(viewLife), now)
	t.view, t.used = v, now
	return v, cookie
}

// Open opens a view without a ticket, for the viewer of another one, which expires at expires; the zero time: that is
// not known. The view is nil if its session or the other view has ended.
func (a *Access) Open(of command.Viewing, expires, now time.Time) (v *View, cookie string) {
	if latest := now.Add(viewLife); expires.IsZero() || expires.After(latest) {
		expires = latest
	}
	if !now.Before(expires) || closed(of) {
		return nil, ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open(of, expires, now)
}

// open opens a view. The caller holds mu.
func (a *Access) open(of command.Viewing, expires, now time.Time) (v *View, cookie string) {
	cookie = rand.Text()
	v = &View{
		Viewing: of, ID: a.ids + rand.Text(), CSRF: rand.Text(), Expires: expires,
		cookie: sha256.Sum256([]byte(cookie)), done: make(chan struct{}),
	}
	for id, other := range a.views {
		if other.Ended(now) {
			delete(a.views, id)
			other.End()
		}
	}
	evictOldest(a.views, func(other *View) (token int, expires time.Time) { return other.Token, other.Expires }, v.Token, maxViews, (*View).End)
	a.views[v.ID] = v
	return v, cookie
}

// IsRedeemable reports whether a ticket can be redeemed. It does not use it up.
func (a *Access) IsRedeemable(text string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tickets[sha256.Sum256([]byte(text))]
	return t != nil && t.view == nil && !t.expired(now)
}

// AwaitEnd returns true when the view of that ID has ended, at once if there is none, and false when ctx ends first.
func (a *Access) AwaitEnd(ctx context.Context, id string) bool {
	a.mu.Lock()
	v := a.views[id]
	a.mu.Unlock()
	return v == nil || v.AwaitEnd(ctx)
}

// View returns the view of that ID if the cookie is its own and it has not ended; else nil.
func (a *Access) View(id, cookie string, now time.Time) *View {
	a.mu.Lock()
	v := a.views[id]
	a.mu.Unlock()
	sum := sha256.Sum256([]byte(cookie))
	if v == nil || subtle.ConstantTimeCompare(sum[:], v.cookie[:]) != 1 || v.Ended(now) {
		return nil
	}
	return v
}

func (t *ticket) expired(now time.Time) bool { return !now.Before(t.expires) || closed(t.of) }

// Ended reports whether the view has ended, for whatever reason.
func (v *View) Ended(now time.Time) bool {
	select {
	case <-v.done:
		return true
	default:
		return !now.Before(v.Expires) || closed(v.Viewing)
	}
}

// closed reports whether the session of a view has ended. A later session of the same name does not count.
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

// evictOldest makes room for one more entry of a token. If the token has as many as limit, it removes the
// token's oldest entry; otherwise, if there are maxTotal entries, the oldest of all.
func evictOldest[K comparable, V any](in map[K]V, of func(V) (token int, expires time.Time), token, limit int, removed func(V)) {
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
	case len(in) >= maxTotal:
		remove(oldest)
	}
}

// SameToken compares a CSRF token that was shown with the view's own.
func SameToken(shown, own string) bool {
	return subtle.ConstantTimeCompare([]byte(shown), []byte(own)) == 1
}
