package actions

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// CookieURLs are the parameters of cookies_get and cookies_clear.
type CookieURLs struct {
	URLs []string `json:"urls" doc:"only cookies that would be sent to these addresses; left out: all"`
}

// CookiesSetParams are the parameters of cookies_set.
type CookiesSetParams struct {
	Cookies []protocol.Cookie `json:"cookies" required:"true" doc:"{name, value, url or domain, path, expires (seconds since 1970), http_only, secure, same_site} each; without url and domain: the open page's"`
}

// CookiesResult is the answer of the commands of cookies: what the session
// holds now, or with cookies_clear how many went.
type CookiesResult struct {
	Result
	Cookies []protocol.Cookie `json:"cookies"`
	Cleared int               `json:"cleared,omitempty"`
}

// maxCookies is how many cookies one command may set.
const maxCookies = 1000

// jar returns the session's cookies, or unsupported where its source has none.
func (c *Call) jar(ctx context.Context) (session.Page, session.Jar, error) {
	p, err := c.page(ctx)
	if err != nil {
		return nil, nil, err
	}
	j, ok := p.(session.Jar)
	if !ok {
		return nil, nil, protocol.Errorf(protocol.Unsupported, "%s needs a session that keeps cookies", c.Command.Name).With("source", p.State().Source)
	}
	return p, j, nil
}

// check refuses what is no URL of a site, to which no cookie would be sent: whoever
// means a host would take the empty answer for its having none.
func (p *CookieURLs) check() error {
	for _, raw := range p.URLs {
		if u, err := url.Parse(raw); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return misfit("urls", "addresses that begin with http:// or https://", strconv.Quote(cut(raw, 60)))
		}
	}
	return nil
}

func cookiesGet(ctx context.Context, c *Call, p *CookieURLs) (CookiesResult, error) {
	if err := p.check(); err != nil {
		return CookiesResult{}, err
	}
	page, jar, err := c.jar(ctx)
	if err != nil {
		return CookiesResult{}, err
	}
	cookies, err := jar.Cookies(ctx, p.URLs)
	if err != nil {
		return CookiesResult{}, c.Session.Lost(err)
	}
	return CookiesResult{Result: c.result(page), Cookies: cookies}, nil
}

func cookiesSet(ctx context.Context, c *Call, p *CookiesSetParams) (CookiesResult, error) {
	if len(p.Cookies) > maxCookies {
		return CookiesResult{}, protocol.Errorf(protocol.TooLarge, "cookies: %d are too many at once", len(p.Cookies)).
			With("limit", maxCookies).With("size", len(p.Cookies))
	}
	for _, k := range p.Cookies {
		if !slices.Contains([]string{"", "Strict", "Lax", "None"}, k.SameSite) {
			return CookiesResult{}, protocol.Errorf(protocol.InvalidParams, "cookies: same_site of %q: takes Strict, Lax or None, not %q", cut(k.Name, 60), cut(k.SameSite, 60)).
				With("parameter", "cookies")
		}
	}
	page, jar, err := c.jar(ctx)
	if err != nil {
		return CookiesResult{}, err
	}
	if err := jar.SetCookies(ctx, p.Cookies); err != nil {
		return CookiesResult{}, c.Session.Lost(err)
	}
	cookies, err := jar.Cookies(ctx, nil)
	if err != nil {
		return CookiesResult{}, c.Session.Lost(err)
	}
	return CookiesResult{Result: c.result(page), Cookies: cookies}, nil
}

func cookiesClear(ctx context.Context, c *Call, p *CookieURLs) (CookiesResult, error) {
	if err := p.check(); err != nil {
		return CookiesResult{}, err
	}
	page, jar, err := c.jar(ctx)
	if err != nil {
		return CookiesResult{}, err
	}
	n, err := jar.ClearCookies(ctx, p.URLs)
	if err != nil {
		return CookiesResult{}, c.Session.Lost(err)
	}
	cookies, err := jar.Cookies(ctx, nil)
	if err != nil {
		return CookiesResult{}, c.Session.Lost(err)
	}
	return CookiesResult{Result: c.result(page), Cookies: cookies, Cleared: n}, nil
}
