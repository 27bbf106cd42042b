package readable

import (
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// around is what a fragment that begins with a tag must stand in, or the parser
// drops its tags (HTML 13.2.6.4.7).
var around = map[string]string{
	"tr": "<table>", "td": "<table><tr>", "th": "<table><tr>", "tbody": "<table>", "thead": "<table>", "tfoot": "<table>", "caption": "<table>",
}

// Fragment is one element of a page, which its HTML begins with, to be read
// whole: nothing of it is taken for the page's surroundings, and no article is
// looked for in it. What nobody reads is left out all the same.
func Fragment(ctx context.Context, source string, base *url.URL) *Page {
	p := &Page{base: base, large: len(source) > wholeLimit}
	z := html.NewTokenizer(strings.NewReader(source))
	z.Next()
	name, _ := z.TagName()
	doc, err := parse(ctx, around[string(name)]+source)
	if err != nil || len(source) > leanLimit {
		_, p.text = tokens(source)
		return p
	}
	flatten(doc)
	if p.node = first(doc, "body"); p.node == nil {
		p.node = doc
	}
	removeAll(p.node, func(n *html.Node) bool { return isElement(n, never...) || hidden(n) })
	return p
}
