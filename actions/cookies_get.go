package actions

import (
	"context"
	"net/url"
	"strconv"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// CookiesGet is the command cookies_get.
var CookiesGet = command.Define(command.Row{
	Name: "cookies_get", Summary: "Lists the cookies of the session.", Main: "urls",
	Flags: command.Static | command.SessionWide | command.ReadOnly | command.Unaudited | command.MCPReadOnly,
	Examples: []command.Example{
		{For: "Lists the cookies that one site gets", Params: `{"urls": ["https://shop.example/"]}`},
	},
}, cookiesGet)

// CookieURLs are the parameters of cookies_get and cookies_clear.
type CookieURLs struct {
	URLs []string `json:"urls" doc:"only cookies that would be sent to these addresses; left out: all"`
}

// CookiesResult is the answer of the commands of cookies: what the session
// holds now, or with cookies_clear how many went.
type CookiesResult struct {
	command.Result
	Cookies []protocol.Cookie `json:"cookies"`
	Cleared int               `json:"cleared,omitempty"`
}

// jar returns the session's cookies, or unsupported where its source has none.
func jar(ctx context.Context, c *command.Call) (session.Page, session.CookieJar, error) {
	p, err := c.Page(ctx)
	if err != nil {
		return nil, nil, err
	}
	j, ok := p.(session.CookieJar)
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
			return command.BadValue("urls", "addresses that begin with http:// or https://", strconv.Quote(protocol.Cut(raw, 60)))
		}
	}
	return nil
}

func cookiesGet(ctx context.Context, c *command.Call, p *CookieURLs) (CookiesResult, error) {
	if err := p.check(); err != nil {
		return CookiesResult{}, err
	}
	page, jar, err := jar(ctx, c)
	if err != nil {
		return CookiesResult{}, err
	}
	cookies, err := jar.Cookies(ctx, p.URLs)
	if err != nil {
		return CookiesResult{}, c.Session.DescribeLoss(err)
	}
	return CookiesResult{Result: c.Result(page), Cookies: cookies}, nil
}
