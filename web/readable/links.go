package readable

import (
	"context"
	"net/url"
)

// Link is a link of a page: its text, folded, and where it leads.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// Links returns the first n links of what is to be read that have text and
// lead to another page, each once; absolute where the page's URL is known.
func (p *Page) Links(n int) []Link {
	list, seen := []Link{}, map[string]bool{}
	if p.node == nil {
		return list
	}
	for a := range p.node.Descendants() {
		if !isElement(a, "a") || len(list) == n {
			continue
		}
		u, err := url.Parse(attr(a, "href"))
		if err == nil && p.base != nil {
			u = p.base.ResolveReference(u)
		}
		text := fold(rawText(a))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || text == "" || seen[u.String()] {
			continue
		}
		seen[u.String()] = true
		list = append(list, Link{text, u.String()})
	}
	return list
}

// Strip is all the text of a page, what surrounds it included: without script,
// style, pictures in code, form controls and what the markup hides.
func Strip(ctx context.Context, source string) string {
	if len(source) > leanLimit {
		_, text := tokens(source)
		return text
	}
	doc, err := parse(ctx, source)
	if err != nil {
		_, text := tokens(source)
		return text
	}
	body := first(doc, "body")
	if body == nil {
		return ""
	}
	flatten(body)
	text := textOf(pruned(body, never...), false)
	if title := titleOf(doc); title != "" {
		text = title + "\n\n" + text
	}
	return text
}
