package browser

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/storage"
	"github.com/browserd/browserd/protocol"
)

// states saves and loads what a context's origins keep: cookies and local storage. Only
// the holder of the session's turn calls its exported methods.
type states struct {
	c       *Context
	origins storage.Origins // that the context's tabs showed; has a lock of its own
}

// SaveState returns the cookies of the context and the local storage of the
// origins that its tabs showed. What frames of other sites keep, session
// storage and databases are not part of it.
func (s *states) SaveState(ctx context.Context) (protocol.State, error) {
	saved := protocol.State{Version: protocol.StateVersion, Saved: time.Now().UTC(), Origins: []protocol.Origin{}}
	var err error
	if saved.Cookies, err = s.c.Cookies(ctx, nil); err != nil {
		return saved, err
	}
	origins := s.origins.List()
	if len(origins) == 0 {
		return saved, nil
	}
	err = s.inStoragePage(ctx, func(p *storage.Page) (err error) {
		saved.Origins, err = p.Read(ctx, origins)
		return err
	})
	return saved, err
}

// LoadState puts the cookies and the local storage of a state into the
// context, in the place of what those origins keep.
func (s *states) LoadState(ctx context.Context, state protocol.State) error {
	if err := s.c.SetCookies(ctx, state.Cookies); err != nil {
		return err
	}
	n := len(state.Origins)
	if n > storage.MaxOrigins {
		return protocol.Errorf(protocol.TooLarge, "the state holds %d origins", n).With("limit", storage.MaxOrigins).With("size", n)
	}
	var err error
	if n > 0 {
		err = s.inStoragePage(ctx, func(p *storage.Page) error { return p.Write(ctx, state.Origins) })
	}
	for _, o := range state.Origins {
		s.origins.Add(o.Origin)
	}
	return err
}

// inStoragePage opens a storage page, calls do with it and closes it.
func (s *states) inStoragePage(ctx context.Context, do func(p *storage.Page) error) error {
	h := s.c.host
	id, e, err := s.c.targets.create(ctx, true)
	if err != nil {
		return err
	}
	defer h.root.Send(target.CloseTarget.Method, target.CloseTargetParams{TargetID: id})
	if e == nil {
		return stillborn()
	}
	p, err := storage.NewPage(ctx, s.c.life, h.conn.Session(e.SessionID))
	if err != nil {
		return err
	}
	defer p.Close()
	return do(p)
}
