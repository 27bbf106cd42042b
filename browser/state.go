package browser

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/browserd/browserd/protocol"
)

// maxOrigins bounds the origins whose storage is kept.
const maxOrigins = 100

// visited notes an origin that a tab showed; the caller holds mu.
func (c *Context) visited(address string) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return
	}
	origin := u.Scheme + "://" + u.Host
	if len(c.origins) < maxOrigins && !slices.Contains(c.origins, origin) {
		c.origins = append(c.origins, origin)
	}
}

// SaveState returns the cookies of the context and the local storage of the
// origins that its tabs showed. What frames of other sites keep, session
// storage and databases are not part of it.
func (c *Context) SaveState(ctx context.Context) (protocol.State, error) {
	s := protocol.State{Version: protocol.StateVersion, Saved: time.Now().UTC(), Origins: []protocol.Origin{}}
	var err error
	if s.Cookies, err = c.Cookies(ctx, nil); err != nil {
		return s, err
	}
	c.mu.Lock()
	origins := slices.Clone(c.origins)
	c.mu.Unlock()
	err = c.inOrigins(ctx, origins, func(a *aside, origin string) error {
		items, err := a.items(ctx, origin)
		if err == nil && len(items) > 0 {
			s.Origins = append(s.Origins, protocol.Origin{Origin: origin, LocalStorage: items})
		}
		return err
	})
	return s, err
}

// LoadState puts the cookies and the local storage of a state into the
// context, in the place of what those origins keep.
func (c *Context) LoadState(ctx context.Context, s protocol.State) error {
	if err := c.SetCookies(ctx, s.Cookies); err != nil {
		return err
	}
	items := map[string][][2]string{}
	var origins []string
	for _, o := range s.Origins {
		items[o.Origin] = o.LocalStorage
		origins = append(origins, o.Origin)
	}
	if len(origins) > maxOrigins {
		return protocol.Errorf(protocol.TooLarge, "the state holds %d origins", len(origins)).With("limit", maxOrigins).With("size", len(origins))
	}
	err := c.inOrigins(ctx, origins, func(a *aside, origin string) error { return a.put(ctx, origin, items[origin]) })
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range origins {
		c.visited(o)
	}
	return err
}

// inOrigins visits each origin aside and calls do there.
func (c *Context) inOrigins(ctx context.Context, origins []string, do func(a *aside, origin string) error) error {
	if len(origins) == 0 {
		return nil
	}
	a, err := c.openAside(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	for _, origin := range origins {
		err := a.visit(ctx, origin)
		if err == nil {
			err = do(a, origin)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("the storage of %s: %w", origin, err)
		}
	}
	return nil
}
