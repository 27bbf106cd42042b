package actions

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/browserd/browserd/protocol"

	"github.com/browserd/browserd/actions/command"
)

// CookiesSet is the command cookies_set.
var CookiesSet = command.Define(command.Row{
	Name: "cookies_set", Summary: "Sets cookies in the session.", Main: "cookies",
	Flags:      command.Static | command.SessionWide,
	LocalFiles: "netscape",
	Examples: []command.Example{
		{For: "Sets a cookie for one site", Params: `{"cookies": [{"name": "currency", "value": "NOK", "url": "https://shop.example/"}]}`},
		{For: "Sets the cookies of a cookies.txt, as curl and browsers' extensions write it", Params: `{"netscape": "shop.example\tFALSE\t/\tTRUE\t0\tcurrency\tNOK\n"}`},
	},
}, cookiesSet)

// CookiesSetParams are the parameters of cookies_set.
type CookiesSetParams struct {
	Cookies  []protocol.Cookie `json:"cookies" doc:"{name, value, url or domain, path, expires (seconds since 1970), http_only, secure, same_site} each; without url and domain: the open page's"`
	Netscape string            `json:"netscape" doc:"the text of a cookies.txt (Netscape's format): domain, subdomains too, path, secure, expires, name and value with tabs between them, a line each"`
}

// maxCookies is how many cookies one command may set.
const maxCookies = 1000

func cookiesSet(ctx context.Context, c *command.Call, p *CookiesSetParams) (CookiesResult, error) {
	read, err := netscapeCookies("netscape", p.Netscape)
	if err != nil {
		return CookiesResult{}, err
	}
	if p.Cookies = append(p.Cookies, read...); len(p.Cookies) == 0 {
		return CookiesResult{}, protocol.Errorf(protocol.InvalidParams, "%s needs the parameter \"cookies\" or \"netscape\"", c.Command.Name).With("parameter", "cookies")
	}
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
		return CookiesResult{}, c.Session.DescribeLoss(err)
	}
	cookies, err := jar.Cookies(ctx, nil)
	if err != nil {
		return CookiesResult{}, c.Session.DescribeLoss(err)
	}
	return CookiesResult{Result: c.Result(page), Cookies: cookies}, nil
}

// netscapeCookies reads a cookies.txt, which is a parameter: https://curl.se/docs/http-cookies.html.
func netscapeCookies(parameter, text string) ([]protocol.Cookie, error) {
	var list []protocol.Cookie
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		rest, httpOnly := strings.CutPrefix(line, "#HttpOnly_")
		if strings.TrimSpace(line) == "" || !httpOnly && strings.HasPrefix(line, "#") {
			continue
		}
		bad := func(what string) error {
			return protocol.Errorf(protocol.InvalidParams, "%s: line %d %s", parameter, i+1, what).With("parameter", parameter)
		}
		f := strings.Split(rest, "\t")
		if len(f) != 7 {
			return nil, bad("has not seven fields with tabs between them")
		}
		expires, err := strconv.ParseFloat(f[4], 64)
		if err != nil || expires < 0 {
			return nil, bad("has in its fifth field no time in seconds since 1970")
		}
		host := strings.TrimPrefix(f[0], ".")
		k := protocol.Cookie{Name: f[5], Value: f[6], Path: f[2], Expires: expires, HTTPOnly: httpOnly, Secure: f[3] == "TRUE"}
		if f[1] == "TRUE" {
			k.Domain = "." + host
		} else { // for this host alone, which an address says and a domain does not
			scheme := "http"
			if k.Secure {
				scheme = "https"
			}
			k.URL = scheme + "://" + host + f[2]
		}
		list = append(list, k)
	}
	return list, nil
}
