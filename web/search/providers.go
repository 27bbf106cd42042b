package search

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
)

// jinaSearch is s.jina.ai, for results without the content of their pages.
type jinaSearch struct {
	web
	url, key string
}

func (jinaSearch) Name() string { return "jina" }

func (p jinaSearch) Search(ctx context.Context, query string, n int) ([]Result, error) {
	var a struct {
		Data []struct{ Title, URL, Description, Content string }
	}
	h := http.Header{"Authorization": {"Bearer " + p.key}, "X-Respond-With": {"no-content"}}
	none := false
	err := p.read(ctx, "jina", fetch.Request{URL: with(p.url, "q", query, "num", strconv.Itoa(n)), Header: h}, &a, func(status int, body []byte) *protocol.Error {
		// It answers so where nothing is found.
		none = status == http.StatusUnprocessableEntity && strings.Contains(string(body), "No search results")
		return nil
	})
	if none {
		return nil, nil
	}
	var list []Result
	for _, r := range a.Data {
		if r.Description == "" {
			r.Description = r.Content
		}
		list = append(list, Result{r.Title, r.URL, r.Description})
	}
	return list, err
}

// brave is Brave Search's web search API.
type brave struct {
	web
	url, key string
}

func (brave) Name() string { return "brave" }

// braveQuery and braveCount are the API's limits.
const (
	braveQuery = 400
	braveCount = 20
)

func (p brave) Search(ctx context.Context, query string, n int) ([]Result, error) {
	if r := []rune(query); len(r) > braveQuery {
		query = string(r[:braveQuery])
	}
	var a struct {
		Web struct {
			Results []struct{ Title, URL, Description string }
		}
	}
	at := with(p.url, "q", query, "count", strconv.Itoa(min(n, braveCount)), "text_decorations", "false")
	err := p.read(ctx, "brave", fetch.Request{URL: at, Header: http.Header{"X-Subscription-Token": {p.key}}}, &a, func(status int, body []byte) *protocol.Error {
		if status == http.StatusUnprocessableEntity && strings.Contains(string(body), "SUBSCRIPTION_TOKEN_INVALID") {
			return failed("brave", "key", "brave does not know the key")
		}
		return nil
	})
	var list []Result
	for _, r := range a.Web.Results {
		list = append(list, Result{r.Title, r.URL, r.Description})
	}
	return list, err
}

// serper is google.serper.dev.
type serper struct {
	web
	url, key string
}

func (serper) Name() string { return "serper" }

func (p serper) Search(ctx context.Context, query string, n int) ([]Result, error) {
	var a struct {
		Organic []struct{ Title, Link, Snippet string }
	}
	r := posted(p.url, http.Header{"X-Api-Key": {p.key}}, map[string]any{"q": query, "num": n})
	err := p.read(ctx, "serper", r, &a, func(status int, body []byte) *protocol.Error {
		if status == http.StatusBadRequest && strings.Contains(string(body), "Not enough credits") {
			return failed("serper", "balance", "the key of serper has nothing left")
		}
		return nil
	})
	var list []Result
	for _, r := range a.Organic {
		list = append(list, Result{r.Title, r.Link, r.Snippet})
	}
	return list, err
}

// tavily is api.tavily.com.
type tavily struct {
	web
	url, key string
}

func (tavily) Name() string { return "tavily" }

// tavilyCount is the API's limit.
const tavilyCount = 20

func (p tavily) Search(ctx context.Context, query string, n int) ([]Result, error) {
	var a struct {
		Results []struct{ Title, URL, Content string }
	}
	r := posted(p.url, http.Header{"Authorization": {"Bearer " + p.key}}, map[string]any{"query": query, "max_results": min(n, tavilyCount), "search_depth": "basic"})
	err := p.read(ctx, "tavily", r, &a, func(status int, _ []byte) *protocol.Error {
		// 432: the plan's limit; 433: the limit of paying as one goes.
		if status == 432 || status == 433 {
			return failed("tavily", "balance", "the key of tavily has nothing left")
		}
		return nil
	})
	var list []Result
	for _, r := range a.Results {
		list = append(list, Result{r.Title, r.URL, r.Content})
	}
	return list, err
}

// searxng is an instance of SearXNG.
type searxng struct {
	web
	url string
}

func (searxng) Name() string { return "searxng" }

func (p searxng) Search(ctx context.Context, query string, n int) ([]Result, error) {
	var a struct {
		Results []struct{ Title, URL, Content string }
	}
	at := strings.TrimSuffix(strings.TrimSuffix(p.url, "/"), "/search") + "/search"
	err := p.read(ctx, "searxng", fetch.Request{URL: with(at, "q", query, "format", "json"), Header: http.Header{}}, &a, func(status int, _ []byte) *protocol.Error {
		if status == http.StatusForbidden {
			return failed("searxng", "format", "the SearXNG instance does not allow format json: add it to search.formats in its settings")
		}
		return nil
	})
	var list []Result
	for _, r := range a.Results[:min(len(a.Results), n)] {
		list = append(list, Result{r.Title, r.URL, r.Content})
	}
	return list, err
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
