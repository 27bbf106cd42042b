package fallback

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
)

// Cookies returns the cookies that would be sent to the URLs, all cookies if there are no
// URLs.
func (p *Page) Cookies(ctx context.Context, urls []string) ([]protocol.Cookie, error) {
	list, err := p.cookiesFor(urls)
	if err != nil {
		return nil, err
	}
	cookies := []protocol.Cookie{}
	for _, c := range list {
		o := protocol.Cookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite}
		if !c.HostOnly {
			o.Domain = "." + c.Domain
		}
		if !c.Expires.IsZero() {
			o.Expires = float64(c.Expires.UnixMilli()) / 1000
		}
		cookies = append(cookies, o)
	}
	return cookies, nil
}

func (p *Page) cookiesFor(urls []string) ([]Cookie, error) {
	if len(urls) == 0 {
		return p.jar.All(), nil
	}
	var list []Cookie
	seen := map[string]bool{}
	for _, raw := range urls {
		u, ok := parseAddress(raw, "")
		if !ok {
			return nil, protocol.Errorf(protocol.InvalidParams, "urls: %s is no http or https URL", quote(raw)).With("parameter", "urls")
		}
		for _, c := range p.jar.For(u) {
			if key := c.Name + "\x00" + c.Domain + "\x00" + c.Path; !seen[key] {
				seen[key] = true
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// SetCookies sets cookies. A cookie without URL and domain is for the open page. The error
// is invalid_params for the first one that no site could set; those before it are set.
func (p *Page) SetCookies(ctx context.Context, cookies []protocol.Cookie) error {
	for _, c := range cookies {
		n, err := p.cookie(c)
		if err != nil {
			return err
		}
		p.jar.Put(n)
	}
	return nil
}

func (p *Page) cookie(c protocol.Cookie) (Cookie, error) {
	bad := func(why string) (Cookie, error) {
		return Cookie{}, protocol.Errorf(protocol.InvalidParams, "cookies: %s %s", quote(c.Name), why).With("parameter", "cookies").
			Then("a cookie whose name begins with __Host- is secure, has the path / and no domain; same_site None needs secure")
	}
	from := c.URL
	if from == "" && c.Domain == "" {
		if from = p.State().URL; from == blank {
			return bad("has neither url nor domain, and no page is open")
		}
	}
	n := Cookie{Name: c.Name, Value: c.Value, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly, SameSite: c.SameSite, HostOnly: true}
	u := address{scheme: "https", authority: strings.ToLower(strings.TrimPrefix(c.Domain, ".")), path: "/"}
	if from != "" {
		var ok bool
		if u, ok = parseAddress(from, ""); !ok {
			return bad("has a url that is no http or https URL")
		}
		n.Secure = n.Secure || u.scheme == "https" && c.URL != ""
	}
	n.Domain = hostOf(u.authority)
	if domain := strings.TrimPrefix(strings.ToLower(c.Domain), "."); strings.HasPrefix(c.Domain, ".") || from != "" && domain != "" {
		if !n.claim(domain, n.Domain) || strings.HasPrefix(c.Domain, ".") && n.HostOnly {
			return bad("may not be set for its domain")
		}
	}
	if !strings.HasPrefix(n.Path, "/") {
		n.Path = "/"
	}
	if c.Expires > 0 {
		n.Expires = time.UnixMilli(int64(min(c.Expires, 1e11) * 1000))
	}
	switch {
	case strings.ContainsFunc(c.Name+c.Value, func(r rune) bool { return r < ' ' || r == 0x7f || r == ';' }), strings.Contains(c.Name, "="):
		return bad("holds a character that no cookie may")
	case c.Name == "" && c.Value == "", len(c.Name)+len(c.Value) > maxCookieBytes:
		return bad("is empty, or longer than a cookie may be")
	case !n.fits(u, n.Domain):
		return bad("may not be set like this")
	}
	return n, nil
}

// ClearCookies removes what Cookies returns, or those of it that have the name if it is
// not empty, and returns how many cookies that were.
func (p *Page) ClearCookies(ctx context.Context, urls []string, name string) (int, error) {
	list, err := p.cookiesFor(urls)
	if err != nil {
		return 0, err
	}
	if name != "" {
		list = slices.DeleteFunc(list, func(c Cookie) bool { return c.Name != name })
	}
	return p.jar.Remove(list), nil
}

// SaveState returns the cookies, and the storage of origins as it was loaded: static
// documents store nothing themselves.
func (p *Page) SaveState(ctx context.Context) (protocol.State, error) {
	cookies, err := p.Cookies(ctx, nil)
	origins := p.origins
	if origins == nil {
		origins = []protocol.Origin{}
	}
	return protocol.State{Version: protocol.StateVersion, Saved: time.Now().UTC(), Cookies: cookies, Origins: origins}, err
}

// SaveLast is SaveState.
func (p *Page) SaveLast(ctx context.Context) (protocol.State, error) { return p.SaveState(ctx) }

// LoadState sets the cookies of a state, and keeps its origins for SaveState.
func (p *Page) LoadState(ctx context.Context, s protocol.State) error {
	p.origins = s.Origins
	return p.SetCookies(ctx, s.Cookies)
}
