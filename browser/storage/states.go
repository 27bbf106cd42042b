package storage

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/protocol"
)

// Cookies are the cookies of a browser context.
type Cookies interface {
	Cookies(ctx context.Context, urls []string) ([]protocol.Cookie, error)
	SetCookies(ctx context.Context, list []protocol.Cookie) error
}

// Tabs are those of a browser context.
type Tabs struct {
	*targets.Targets
	// Documents returns what the tabs show, that of the selected one first.
	Documents func() []Document
	// Attached takes a target that CreateTab has made.
	Attached func(event.AttachedToTarget)
	// Renew makes the only tab anew where it has shown nothing yet.
	Renew func(ctx context.Context) error
	// TakeLast returns the selected tab's cdp session, which nobody uses from then on; nil if
	// there is none.
	TakeLast func() *cdp.Session
}

// States saves and loads what a context's origins keep: cookies, local storage and session
// storage. Only the holder of the session's turn calls SaveState and LoadState.
type States struct {
	life    context.Context // the context's
	root    *cdp.Session
	cookies Cookies
	tabs    Tabs
	origins Origins // that the context's tabs showed; has a lock of its own
	session sessionStorage
}

// NewStates returns the states of a context, whose end is that of life.
func NewStates(life context.Context, root *cdp.Session, cookies Cookies, t Tabs) *States {
	return &States{life: life, root: root, cookies: cookies, tabs: t, session: sessionStorage{items: items{known: map[string][][2]string{}}, local: items{known: map[string][][2]string{}}}}
}

// with opens a storage page of the context, calls do with it and closes it.
func (s *States) with(ctx context.Context, do func(p *Page) error) error {
	id, e, err := s.tabs.Create(ctx, true)
	if err != nil {
		return err
	}
	defer s.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: id})
	if e == nil {
		return failure.NotAttached()
	}
	p, err := newPage(ctx, s.life, s.root.Conn().Session(e.SessionID))
	if err != nil {
		return err
	}
	defer p.Close()
	return do(p)
}

// SaveState returns the cookies of the context, and the local and session storage of the
// origins that its tabs showed. What frames of other sites keep and databases are not
// part of it.
func (s *States) SaveState(ctx context.Context) (protocol.State, error) {
	saved, origins := emptyState(), s.origins.List()
	var err error
	if saved.Cookies, err = s.cookies.Cookies(ctx, nil); err == nil && len(origins) > 0 {
		saved.Origins, err = s.stored(ctx, origins)
	}
	return saved, err
}

// stored returns what the origins keep, without those that keep nothing. Those that tabs show are asked there; a
// page is made for the others only, since that takes Chromium a process.
func (s *States) stored(ctx context.Context, origins []string) (list []protocol.Origin, err error) {
	list = []protocol.Origin{}
	local := s.shownLocal(ctx)
	var left []string
	for _, origin := range origins {
		if _, ok := local[origin]; !ok {
			left = append(left, origin)
		}
	}
	if len(left) > 0 {
		err = s.with(ctx, func(p *Page) error {
			read, err := p.Read(ctx, left)
			for _, o := range read {
				local[o.Origin] = o.LocalStorage
			}
			return err
		})
	}
	inSession := s.sessionItems(ctx)
	for _, origin := range origins {
		o := protocol.Origin{Origin: origin, LocalStorage: local[origin], SessionStorage: inSession[origin]}
		if len(o.LocalStorage)+len(o.SessionStorage) == 0 {
			continue
		}
		if o.LocalStorage == nil { // none, which is not the same as not said
			o.LocalStorage = [][2]string{}
		}
		list = append(list, o)
	}
	return list, err
}

func emptyState() protocol.State {
	return protocol.State{Version: protocol.StateVersion, Saved: time.Now().UTC(), Origins: []protocol.Origin{}}
}

// ShownAt notes that a tab of the context has shown an address. Any goroutine may call it.
func (s *States) ShownAt(address string) { s.origins.Add(address) }

// LoadState puts the cookies, the local and the session storage of a state into the
// context, in the place of what those origins keep.
func (s *States) LoadState(ctx context.Context, state protocol.State) error {
	if err := s.cookies.SetCookies(ctx, state.Cookies); err != nil {
		return err
	}
	n := len(state.Origins)
	if n > MaxOrigins {
		return protocol.Errorf(protocol.TooLarge, "the state holds %d origins", n).With("limit", MaxOrigins).With("size", n)
	}
	var err error
	if n > 0 {
		err = s.with(ctx, func(p *Page) error { return p.Write(ctx, state.Origins) })
	}
	for _, o := range state.Origins {
		s.origins.Add(o.Origin)
	}
	if err != nil {
		return err
	}
	return s.loadSession(ctx, state.Origins)
}
