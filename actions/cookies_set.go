package actions

import (
	"context"
	"slices"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// CookiesSet is the command cookies_set.
var CookiesSet = command.Define(command.Row{
	Name: "cookies_set", Summary: "Sets cookies in the session.", Main: "cookies",
	Flags: command.Static | command.SessionWide,
	Examples: []command.Example{
		{For: "Sets a cookie for one site", Params: `{"cookies": [{"name": "currency", "value": "NOK", "url": "https://shop.example/"}]}`},
	},
}, cookiesSet)

// CookiesSetParams are the parameters of cookies_set.
type CookiesSetParams struct {
	Cookies []protocol.Cookie `json:"cookies" required:"true" doc:"{name, value, url or domain, path, expires (seconds since 1970), http_only, secure, same_site} each; without url and domain: the open page's"`
}

// maxCookies is how many cookies one command may set.
const maxCookies = 1000

func cookiesSet(ctx context.Context, c *command.Call, p *CookiesSetParams) (CookiesResult, error) {
	if len(p.Cookies) > maxCookies {
		return CookiesResult{}, protocol.Errorf(protocol.TooLarge, "cookies: %d are too many at once", len(p.Cookies)).
			With("limit", maxCookies).With("size", len(p.Cookies))
	}
	for _, k := range p.Cookies {
		if !slices.Contains([]string{"", "Strict", "Lax", "None"}, k.SameSite) {
			return CookiesResult{}, protocol.Errorf(protocol.InvalidParams, "cookies: same_site of %q: accepts Strict, Lax or None, not %q", protocol.Cut(k.Name, 60), protocol.Cut(k.SameSite, 60)).
				With("parameter", "cookies")
		}
	}
	page, jar, err := jar(ctx, c)
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
	return CookiesResult{Result: c.Result(page), Cookies: cookies}, nil
}
