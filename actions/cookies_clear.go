package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
)

// CookiesClear is the command cookies_clear.
var CookiesClear = command.Define(command.Row{
	Name: "cookies_clear", Summary: "Removes cookies of the session.", Main: "urls",
	Flags: command.Static | command.SessionWide | command.Unconfirmed,
	Examples: []command.Example{
		{For: "Removes the cookies of one site", Params: `{"urls": ["https://shop.example/"]}`},
		{For: "Removes one cookie by its name", Params: `{"name": "visitor"}`},
	},
}, cookiesClear)

// CookiesClearParams are the parameters of cookies_clear.
type CookiesClearParams struct {
	CookieURLs
	Name string `json:"name" doc:"only cookies of this name; left out: of any"`
}

func cookiesClear(ctx context.Context, c *command.Call, p *CookiesClearParams) (CookiesResult, error) {
	if err := p.check(); err != nil {
		return CookiesResult{}, err
	}
	page, jar, err := jar(ctx, c)
	if err != nil {
		return CookiesResult{}, err
	}
	n, err := jar.ClearCookies(ctx, p.URLs, p.Name)
	if err != nil {
		return CookiesResult{}, c.Session.DescribeLoss(err)
	}
	cookies, err := jar.Cookies(ctx, nil)
	if err != nil {
		return CookiesResult{}, c.Session.DescribeLoss(err)
	}
	return CookiesResult{Result: c.Result(page), Cookies: cookies, Cleared: n}, nil
}
