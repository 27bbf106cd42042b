package readable

import (
	"context"
	"net/url"
)

// Link is a link of a page. Text has single blanks.
type Link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

// Links returns the first n http and https links of the readable part that have text, each
// URL once. URLs are absolute if the page's URL is known.
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

// Strip returns the title and all text of a page, boilerplate included, without script,
// style, drawings, form controls and hidden elements.
func Strip(ctx context.Context, source string) string {
	if len(source) > parseLimit {
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
	text := textOf(without(body, unreadTags...), false)
	if title := titleOf(doc); title != "" {
		text = title + "\n\n" + text
	}
	return text
}
