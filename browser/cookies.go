package browser

import (
	"context"

	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/protocol"
)

// cookies are the commands on a context's cookies, which ask the selected tab. Only the
// holder of the session's turn calls its exported methods.
type cookies struct {
	c   *Context
	jar *network.Cookies
}

// page returns the selected tab, as [network.Cookies] needs it.
func (k cookies) page(ctx context.Context) (network.Page, error) {
	t, err := k.c.tab(ctx)
	if err != nil {
		return network.Page{}, err
	}
	return network.Page{CDP: t.cdp, URL: k.c.State().URL, Wait: t.wait}, nil
}

// Cookies returns the cookies of the context that would be sent to the URLs, or all of
// them where there are no URLs.
func (k cookies) Cookies(ctx context.Context, urls []string) ([]protocol.Cookie, error) {
	p, err := k.page(ctx)
	if err != nil {
		return nil, err
	}
	return k.jar.Get(ctx, p, urls)
}

// SetCookies sets cookies: see [network.Cookies.Set].
func (k cookies) SetCookies(ctx context.Context, list []protocol.Cookie) error {
	p, err := k.page(ctx)
	if err != nil {
		return err
	}
	return k.jar.Set(ctx, p, list)
}

// ClearCookies removes cookies: see [network.Cookies.Clear].
func (k cookies) ClearCookies(ctx context.Context, urls []string, name string) (int, error) {
	p, err := k.page(ctx)
	if err != nil {
		return 0, err
	}
	return k.jar.Clear(ctx, p, urls, name)
}
