package storage

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/targets"
	"github.com/browserd/browserd/protocol"
)

// Cookies are the cookies of a browser context.
type Cookies interface {
	Cookies(ctx context.Context, urls []string) ([]protocol.Cookie, error)
	SetCookies(ctx context.Context, list []protocol.Cookie) error
}

// States saves and loads what a context's origins keep: cookies and local storage. Only
// the holder of the session's turn calls SaveState and LoadState.
type States struct {
	life    context.Context // the context's
	root    *cdp.Session
	cookies Cookies
	targets *targets.Targets
	origins Origins // that the context's tabs showed; has a lock of its own
}

// NewStates returns the states of a context, whose end is that of life.
func NewStates(life context.Context, root *cdp.Session, cookies Cookies, t *targets.Targets) *States {
	return &States{life: life, root: root, cookies: cookies, targets: t}
}

// with opens a storage page of the context, calls do with it and closes it.
func (s *States) with(ctx context.Context, do func(p *Page) error) error {
	id, e, err := s.targets.Create(ctx, true)
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

// ShownAt notes that a tab of the context has shown an address. Any goroutine may call it.
func (s *States) ShownAt(address string) { s.origins.Add(address) }

// SaveState returns the cookies of the context and the local storage of the
// origins that its tabs showed. What frames of other sites keep, session
// storage and databases are not part of it.
func (s *States) SaveState(ctx context.Context) (protocol.State, error) {
	saved := protocol.State{Version: protocol.StateVersion, Saved: time.Now().UTC(), Origins: []protocol.Origin{}}
	var err error
	if saved.Cookies, err = s.cookies.Cookies(ctx, nil); err != nil {
		return saved, err
	}
	origins := s.origins.List()
	if len(origins) == 0 {
		return saved, nil
	}
	err = s.with(ctx, func(p *Page) (err error) {
		saved.Origins, err = p.Read(ctx, origins)
		return err
	})
	return saved, err
}

// LoadState puts the cookies and the local storage of a state into the
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
	return err
}
