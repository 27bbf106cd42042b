package search

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
)

// api is one search service: its name, its address, and the key for it.
type api struct {
	web
	name, url, key string
}

func (s api) Name() string { return s.name }

// hit is a result in the words of any of the services.
type hit struct{ Title, URL, Link, Description, Snippet, Content string }

func results(hits []hit) []Result {
	var list []Result
	for _, h := range hits {
		list = append(list, Result{h.Title, cmp.Or(h.URL, h.Link), cmp.Or(h.Description, h.Snippet, h.Content)})
	}
	return list
}

// jinaSearch is s.jina.ai, for results without the content of their pages.
type jinaSearch struct{ api }

func (p jinaSearch) Search(ctx context.Context, query string, n int) ([]Result, error) {
	var a struct{ Data []hit }
	h := http.Header{"Authorization": {"Bearer " + p.key}, "X-Respond-With": {"no-content"}}
	none := false
	err := p.read(ctx, p.name, fetch.Request{URL: with(p.url, "q", query, "num", strconv.Itoa(n)), Header: h}, &a, func(status int, body []byte) *protocol.Error {
		// It answers so if nothing is found.
		none = status == http.StatusUnprocessableEntity && strings.Contains(string(body), "No search results")
		return nil
	})
	if none {
		return nil, nil
	}
	return results(a.Data), err
}

// brave is Brave Search's web search API.
type brave struct{ api }

// braveQuery and braveCount are the API's limits.
const (
	braveQuery = 400
	braveCount = 20
)

func (p brave) Search(ctx context.Context, query string, n int) ([]Result, error) {
	if r := []rune(query); len(r) > braveQuery {
		query = string(r[:braveQuery])
	}
	var a struct{ Web struct{ Results []hit } }
	at := with(p.url, "q", query, "count", strconv.Itoa(min(n, braveCount)), "text_decorations", "false")
	err := p.read(ctx, p.name, fetch.Request{URL: at, Header: http.Header{"X-Subscription-Token": {p.key}}}, &a, func(status int, body []byte) *protocol.Error {
		if status == http.StatusUnprocessableEntity && strings.Contains(string(body), "SUBSCRIPTION_TOKEN_INVALID") {
			return failed("brave", "key", "brave does not know the key")
		}
		return nil
	})
	return results(a.Web.Results), err
}

// serper is google.serper.dev.
type serper struct{ api }

func (p serper) Search(ctx context.Context, query string, n int) ([]Result, error) {
	var a struct{ Organic []hit }
	r := posted(p.url, http.Header{"X-Api-Key": {p.key}}, map[string]any{"q": query, "num": n})
	err := p.read(ctx, p.name, r, &a, func(status int, body []byte) *protocol.Error {
		if status == http.StatusBadRequest && strings.Contains(string(body), "Not enough credits") {
			return failed("serper", "balance", "the key of serper has nothing left")
		}
		return nil
	})
	return results(a.Organic), err
}

// tavily is api.tavily.com.
type tavily struct{ api }

// tavilyCount is the API's limit.
const tavilyCount = 20

func (p tavily) Search(ctx context.Context, query string, n int) ([]Result, error) {
	var a struct{ Results []hit }
	r := posted(p.url, http.Header{"Authorization": {"Bearer " + p.key}}, map[string]any{"query": query, "max_results": min(n, tavilyCount), "search_depth": "basic"})
	err := p.read(ctx, p.name, r, &a, func(status int, _ []byte) *protocol.Error {
		// 432: the plan's limit; 433: the limit of paying as one goes.
		if status == 432 || status == 433 {
			return failed("tavily", "balance", "the key of tavily has nothing left")
		}
		return nil
	})
	return results(a.Results), err
}

// searxng is an instance of SearXNG.
type searxng struct{ api }

func (p searxng) Search(ctx context.Context, query string, n int) ([]Result, error) {
	var a struct{ Results []hit }
	at := strings.TrimSuffix(strings.TrimSuffix(p.url, "/"), "/search") + "/search"
	err := p.read(ctx, p.name, fetch.Request{URL: with(at, "q", query, "format", "json"), Header: http.Header{}}, &a, func(status int, _ []byte) *protocol.Error {
		if status == http.StatusForbidden {
			return failed("searxng", "format", "the SearXNG instance does not allow format json: add it to search.formats in its settings")
		}
		return nil
	})
	return results(a.Results[:min(len(a.Results), n)]), err
}

// with adds parameters to a URL.
func with(base string, pairs ...string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	q := u.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}
