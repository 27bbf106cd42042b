package browser

import (
	"context"
	"strings"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/protocol"
)

// cdpCookie is what browserd needs of Network.Cookie and Network.CookieParam.
type cdpCookie struct {
	Name         string        `json:"name"`
	Value        string        `json:"value"`
	URL          string        `json:"url,omitzero"`
	Domain       string        `json:"domain,omitzero"`
	Path         string        `json:"path,omitzero"`
	Expires      float64       `json:"expires,omitzero"`
	HTTPOnly     bool          `json:"httpOnly,omitzero"`
	Secure       bool          `json:"secure,omitzero"`
	SameSite     string        `json:"sameSite,omitzero"`
	PartitionKey *partitionKey `json:"partitionKey,omitzero"`
}

type partitionKey struct {
	TopLevelSite         string `json:"topLevelSite"`
	HasCrossSiteAncestor bool   `json:"hasCrossSiteAncestor"`
}

func (k cdpCookie) cookie() protocol.Cookie {
	c := protocol.Cookie{
		Name: k.Name, Value: k.Value, Domain: k.Domain, Path: k.Path, HTTPOnly: k.HTTPOnly, Secure: k.Secure, SameSite: k.SameSite,
		Expires: max(k.Expires, 0), // -1: with the session
	}
	if p := k.PartitionKey; p != nil {
		c.Partition = &protocol.CookiePartition{TopLevelSite: p.TopLevelSite, CrossSite: p.HasCrossSiteAncestor}
	}
	return c
}

func cdpCookieOf(c protocol.Cookie) cdpCookie {
	k := cdpCookie{
		Name: c.Name, Value: c.Value, URL: c.URL, Domain: c.Domain, Path: c.Path, HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite,
		Expires: c.Expires,
	}
	if p := c.Partition; p != nil {
		k.PartitionKey = &partitionKey{p.TopLevelSite, p.CrossSite}
	}
	return k
}

// Cookies returns the cookies of the context that would be sent to the URLs
// (Network.getCookies), or all of them (Storage.getCookies).
func (c *Context) Cookies(ctx context.Context, urls []string) ([]protocol.Cookie, error) {
	list, err := c.cookiesFor(ctx, urls)
	if err != nil {
		return nil, err
	}
	cookies := make([]protocol.Cookie, len(list))
	for i, k := range list {
		cookies[i] = k.cookie()
	}
	return cookies, nil
}

func (c *Context) cookiesFor(ctx context.Context, urls []string) ([]cdpCookie, error) {
	t, err := c.tab(ctx)
	if err != nil {
		return nil, err
	}
	var got struct {
		Cookies []cdpCookie `json:"cookies"`
	}
	if len(urls) == 0 {
		err = t.wait(ctx, c.host.root.Send(storage.GetCookies.Method, storage.GetCookiesParams{BrowserContextID: c.id}), &got)
	} else {
		err = t.wait(ctx, t.cdp.Send(network.GetCookies.Method, network.GetCookiesParams{URLs: urls}), &got)
	}
	return got.Cookies, err
}

// SetCookies sets cookies, each for itself (Storage.setCookies): one that
// Chromium refuses is invalid_params that names it, and those before it are
// set. A cookie without URL and domain is the open page's.
func (c *Context) SetCookies(ctx context.Context, cookies []protocol.Cookie) error {
	t, err := c.tab(ctx)
	if err != nil {
		return err
	}
	page := c.State().URL
	pending := make([]*cdp.Pending, 0, len(cookies))
	for _, cookie := range cookies {
		k := cdpCookieOf(cookie)
		if k.URL == "" && k.Domain == "" {
			if !strings.HasPrefix(page, "http") {
				return protocol.Errorf(protocol.InvalidParams, "cookies: %s has neither url nor domain, and no page is open", failure.Quote(k.Name)).
					With("parameter", "cookies").Then("give the cookie a url or a domain")
			}
			k.URL = page
		}
		pending = append(pending, c.host.root.Send(storage.SetCookies.Method, map[string]any{
			"cookies": []cdpCookie{k}, "browserContextId": c.id,
		}))
	}
	for i, p := range pending {
		if err := t.wait(ctx, p, nil); err != nil {
			if said := refusal(err); said != "" {
				return protocol.Errorf(protocol.InvalidParams, "cookies: Chromium refuses %s: %s", failure.Quote(cookies[i].Name), said).With("parameter", "cookies").
					Then("a cookie whose name begins with __Host- is secure, has the path / and no domain; same_site None needs secure")
			}
			return err
		}
	}
	// They outlive a Chromium that dies.
	select {
	case <-c.keepCookies():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// ClearCookies removes the cookies that Cookies returns for the URLs.
func (c *Context) ClearCookies(ctx context.Context, urls []string) (int, error) {
	list, err := c.cookiesFor(ctx, urls)
	if err != nil {
		return 0, err
	}
	t, err := c.tab(ctx)
	if err != nil {
		return 0, err
	}
	var pending []*cdp.Pending
	if len(urls) == 0 {
		pending = append(pending, c.host.root.Send(storage.ClearCookies.Method, storage.ClearCookiesParams{BrowserContextID: c.id}))
	} else {
		for _, k := range list {
			params := map[string]any{"name": k.Name, "domain": k.Domain, "path": k.Path}
			if k.PartitionKey != nil {
				params["partitionKey"] = k.PartitionKey
			}
			pending = append(pending, t.cdp.Send(network.DeleteCookies.Method, params))
		}
	}
	for _, p := range pending {
		if err := t.wait(ctx, p, nil); err != nil {
			return 0, err
		}
	}
	select {
	case <-c.keepCookies():
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	return len(list), nil
}
