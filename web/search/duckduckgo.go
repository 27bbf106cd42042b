package search

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/fetch"
	"github.com/browserd/browserd/protocol"
)

// duckduckgo parses DuckDuckGo's HTML page. It is the last provider, because the page is
// not an API and blocks frequent requests.
type duckduckgo struct {
	web
	url string
}

func (duckduckgo) Name() string { return "duckduckgo" }

// blockPause is the pause after a block, in seconds.
const blockPause = 300

func (p duckduckgo) Search(ctx context.Context, query string, n int) ([]Result, error) {
	h := http.Header{"Accept": {"text/html"}, "Accept-Language": {"en-US,en;q=0.9"}}
	body, err := p.ask(ctx, "duckduckgo", fetch.Request{URL: with(p.url, "q", query), Header: h}, func(status int, _ []byte) *protocol.Error {
		// 202 carries its challenge page, the others none.
		if status == http.StatusAccepted || status == http.StatusForbidden || status == http.StatusTeapot || status == http.StatusTooManyRequests {
			return blocked()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list, kind := parseDuckDuckGo(body)
	switch kind {
	case pageBlocked:
		return nil, blocked()
	case pageOther:
		return nil, failed("duckduckgo", "answer", "duckduckgo's page is not one of results")
	}
	return list, nil
}

func blocked() *protocol.Error {
	return protocol.Errorf(protocol.RateLimited, "duckduckgo takes us for a robot and blocks").With("provider", "duckduckgo").With("retry_after_s", blockPause)
}

// The kinds of page that DuckDuckGo returns.
type pageKind int

const (
	pageOther   pageKind = iota // none of the others
	pageResults                 // results, or the message that there are none
	pageBlocked                 // a challenge
)

// parseDuckDuckGo returns the results of a page without advertisements.
func parseDuckDuckGo(body []byte) ([]Result, pageKind) {
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, pageOther
	}
	kind := pageOther
	var list []Result
	for n := range doc.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case hasClass(n, "anomaly-modal__title") || attr(n, "id") == "challenge-form" || attr(n, "id") == "anomaly-modal":
			return nil, pageBlocked
		case hasClass(n, "no-results"), attr(n, "id") == "links":
			kind = pageResults
		case hasClass(n, "result") && !hasClass(n, "result--ad"):
			if r := resultOf(n); r.URL != "" {
				list, kind = append(list, r), pageResults
			}
		}
	}
	return list, kind
}

func resultOf(n *html.Node) (r Result) {
	for d := range n.Descendants() {
		switch {
		case d.Type != html.ElementNode:
		case hasClass(d, "result__a") && r.URL == "":
			r.Title, r.URL = textOf(d), direct(attr(d, "href"))
		case hasClass(d, "result__snippet"):
			r.Snippet = html.EscapeString(textOf(d))
		}
	}
	r.Title = html.EscapeString(r.Title)
	return r
}

// direct returns the target of DuckDuckGo's own redirect, "" for an advertisement.
func direct(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if to := u.Query().Get("uddg"); to != "" {
		return to
	}
	if u.Path == "/y.js" || u.Host == "" {
		return ""
	}
	return u.String()
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	for c := range strings.FieldsSeq(attr(n, "class")) {
		if c == class {
			return true
		}
	}
	return false
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
