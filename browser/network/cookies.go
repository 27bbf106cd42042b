package network

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	cdproto "github.com/chromedp/cdproto/cdp"
	cdpnetwork "github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"

	"github.com/browserd/browserd/browser/attach"
	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Cookies reads, sets and removes the cookies of one browser context, and keeps a copy
// of them, from which another context can be given them after Chromium has died. Any
// goroutine may call its methods.
type Cookies struct {
	root *cdp.Session
	id   cdproto.BrowserContextID
	// persons is whether they are a person's own, which browserd leaves alone.
	persons bool
	life    context.Context // the context's

	// mu guards the copy. Nothing is called while it is held.
	mu    sync.Mutex
	copy  json.RawMessage // the array that Storage.getCookies answered
	count int             // cookies in copy
	asked int             // how often Keep has asked for them
	of    int             // which of these times copy is the answer to
}

// NewCookies returns the cookies of the browser context of that id. life ends with the
// context.
func NewCookies(life context.Context, root *cdp.Session, id cdproto.BrowserContextID) *Cookies {
	return &Cookies{life: life, root: root, id: id, persons: attach.IsContext(string(id))}
}

// Page is what Cookies needs of the page that the session shows.
type Page struct {
	CDP *cdp.Session
	URL string
	// Wait waits for an answer, and gives the error its code: the page may have died.
	Wait func(ctx context.Context, p *cdp.Pending, result any) error
}

// Copy returns the cookies as Keep last saw them, for Restore, and their number.
func (k *Cookies) Copy() (list json.RawMessage, count int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.copy, k.count
}

// Keep copies the cookies as they are now. It goes on in the background; the channel
// closes when that is done.
func (k *Cookies) Keep() <-chan struct{} {
	done := make(chan struct{})
	if k.persons {
		close(done)
		return done
	}
	k.mu.Lock()
	k.asked++
	asked := k.asked
	k.mu.Unlock()
	pending := k.all()
	go func() {
		defer close(done)
		var got struct {
			Cookies json.RawMessage `json:"cookies"`
		}
		var list []json.RawMessage
		err := pending.Wait(k.life, &got)
		k.mu.Lock()
		defer k.mu.Unlock()
		if err == nil && asked > k.of && json.Unmarshal(got.Cookies, &list) == nil {
			k.copy, k.count, k.of = got.Cookies, len(list), asked
		}
	}()
	return done
}

// kept waits until the cookies as they are now are copied.
func (k *Cookies) kept(ctx context.Context) error {
	select {
	case <-k.Keep():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Restore sets the cookies of another context's copy. Chromium refuses a list for one
// cookie in it: then each is set by itself, and the error says how many were refused.
func (k *Cookies) Restore(ctx context.Context, list json.RawMessage) error {
	var cookies []map[string]any
	if err := json.Unmarshal(list, &cookies); err != nil || len(cookies) == 0 {
		return err
	}
	for _, cookie := range cookies {
		// What Storage.getCookies says and Storage.setCookies does not take.
		delete(cookie, "size")
		if cookie["session"] == true {
			delete(cookie, "expires")
		}
		delete(cookie, "session")
		// A page of http on loopback may set secure cookies; Chromium refuses them
		// together with where they came from.
		if cookie["secure"] == true && cookie["sourceScheme"] == "NonSecure" {
			delete(cookie, "sourceScheme")
		}
	}
	err := k.set(cookies).Wait(ctx, nil)
	if cdp.Refusal(err) == "" {
		return err
	}
	pending := make([]*cdp.Pending, len(cookies))
	for i := range cookies {
		pending[i] = k.set(cookies[i : i+1])
	}
	refused := 0
	var first error
	for _, p := range pending {
		err := p.Wait(ctx, nil)
		if err != nil && cdp.Refusal(err) == "" {
			return err
		}
		if err != nil {
			refused++
			if first == nil {
				first = err
			}
		}
	}
	if first != nil {
		return fmt.Errorf("%d of %d cookies: %w", refused, len(cookies), first)
	}
	return nil
}

// all asks for all cookies.
func (k *Cookies) all() *cdp.Pending {
	return k.root.Send(storage.GetCookies.Method, storage.GetCookiesParams{BrowserContextID: k.id})
}

// set sets the cookies of a list, all or none.
func (k *Cookies) set(list any) *cdp.Pending {
	return k.root.Send(storage.SetCookies.Method, map[string]any{"cookies": list, "browserContextId": k.id})
}

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

// errPersons is the answer to whoever asks for cookies where they are a person's own.
var errPersons = protocol.Errorf(protocol.Unsupported, "the browser is a person's own (browser.attach), and its cookies are theirs").
	With("source", "chromium").Then("go on without: pages have the person's logins")

// Get returns the cookies that would be sent to the URLs (Network.getCookies), or all
// of them (Storage.getCookies) where there are no URLs.
func (k *Cookies) Get(ctx context.Context, p Page, urls []string) ([]protocol.Cookie, error) {
	list, err := k.get(ctx, p, urls)
	if err != nil {
		return nil, err
	}
	cookies := make([]protocol.Cookie, len(list))
	for i, c := range list {
		cookies[i] = c.cookie()
	}
	return cookies, nil
}

func (k *Cookies) get(ctx context.Context, p Page, urls []string) ([]cdpCookie, error) {
	if k.persons {
		return nil, errPersons
	}
	var got struct {
		Cookies []cdpCookie `json:"cookies"`
	}
	var pending *cdp.Pending
	if len(urls) == 0 {
		pending = k.all()
	} else {
		pending = p.CDP.Send(cdpnetwork.GetCookies.Method, cdpnetwork.GetCookiesParams{URLs: urls})
	}
	err := p.Wait(ctx, pending, &got)
	return got.Cookies, err
}

// Set sets cookies, each by itself (Storage.setCookies). Where Chromium refuses one the
// error is invalid_params with its name, and those before it are set. A cookie without
// URL and domain is the page's.
func (k *Cookies) Set(ctx context.Context, p Page, cookies []protocol.Cookie) error {
	if k.persons {
		return errPersons
	}
	pending := make([]*cdp.Pending, 0, len(cookies))
	for _, cookie := range cookies {
		c := cdpCookieOf(cookie)
		if c.URL == "" && c.Domain == "" {
			if !strings.HasPrefix(p.URL, "http") {
				return protocol.Errorf(protocol.InvalidParams, "cookies: %s has neither url nor domain, and no page is open", quote(c.Name)).
					With("parameter", "cookies").Then("give the cookie a url or a domain")
			}
			c.URL = p.URL
		}
		pending = append(pending, k.set([]cdpCookie{c}))
	}
	for i, set := range pending {
		if err := p.Wait(ctx, set, nil); err != nil {
			if said := cdp.Refusal(err); said != "" {
				return protocol.Errorf(protocol.InvalidParams, "cookies: Chromium refuses %s: %s", quote(cookies[i].Name), said).With("parameter", "cookies").
					Then("a cookie whose name begins with __Host- is secure, has the path / and no domain; same_site None needs secure")
			}
			return err
		}
	}
	return k.kept(ctx)
}

// Clear removes the cookies that Get returns for the URLs, and returns their number.
func (k *Cookies) Clear(ctx context.Context, p Page, urls []string, name string) (int, error) {
	list, err := k.get(ctx, p, urls)
	if err != nil {
		return 0, err
	}
	if name != "" {
		list = slices.DeleteFunc(list, func(c cdpCookie) bool { return c.Name != name })
	}
	var pending []*cdp.Pending
	if len(urls) == 0 && name == "" {
		pending = append(pending, k.root.Send(storage.ClearCookies.Method, storage.ClearCookiesParams{BrowserContextID: k.id}))
	} else {
		for _, c := range list {
			params := map[string]any{"name": c.Name, "domain": c.Domain, "path": c.Path}
			if c.PartitionKey != nil {
				params["partitionKey"] = c.PartitionKey
			}
			pending = append(pending, p.CDP.Send(cdpnetwork.DeleteCookies.Method, params))
		}
	}
	for _, clear := range pending {
		if err := p.Wait(ctx, clear, nil); err != nil {
			return 0, err
		}
	}
	if err := k.kept(ctx); err != nil {
		return 0, err
	}
	return len(list), nil
}
