package readable

import (
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// around has, for a fragment's first tag, the tags that must be around it, or the parser
// drops it (HTML 13.2.6.4.7).
var around = map[string]string{
	"tr": "<table>", "td": "<table><tr>", "th": "<table><tr>", "tbody": "<table>", "thead": "<table>", "tfoot": "<table>", "caption": "<table>",
}

// Fragment returns the element with which source begins as a Page that is readable as a
// whole: it does not look for an article, and removes no boilerplate. It removes what has
// no readable text.
func Fragment(ctx context.Context, source string, base *url.URL) *Page {
	p := &Page{base: base, large: len(source) > articleLimit}
	z := html.NewTokenizer(strings.NewReader(source))
	z.Next()
	name, _ := z.TagName()
	doc, err := parse(ctx, around[string(name)]+source)
	if err != nil || len(source) > parseLimit {
		_, p.text = tokens(source)
		return p
	}
	flatten(doc)
	if p.node = first(doc, "body"); p.node == nil {
		p.node = doc
	}
	removeAll(p.node, func(n *html.Node) bool { return isElement(n, unreadTags...) || hidden(n) })
	return p
}
