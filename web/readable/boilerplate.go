package readable

import (
	"strings"

	"golang.org/x/net/html"
)

// unreadTags are elements without readable text.
var unreadTags = []string{"script", "style", "svg", "math", "iframe", "frame", "frameset", "object", "embed", "canvas", "template", "noframes", "audio", "video", "map",
	"input", "button", "select", "textarea", "datalist", "optgroup", "option", "link", "meta", "head"}

// boilerplateTags are boilerplate outside of main and article.
var boilerplateTags = []string{"nav", "header", "footer", "aside"}

// withoutBoilerplate removes script, style, drawings, frames, form controls and hidden
// elements from a document, and boilerplate outside of main and article. It returns the
// body of doc, which it changes.
func withoutBoilerplate(doc *html.Node) *html.Node {
	body := first(doc, "body")
	if body == nil {
		return doc
	}
	removeAll(body, func(n *html.Node) bool {
		return isElement(n, unreadTags...) || hidden(n) || isElement(n, boilerplateTags...) && !within(n, "main", "article")
	})
	return body
}

// hidden reports whether the markup itself hides n.
func hidden(n *html.Node) bool {
	style := strings.ToLower(strings.ReplaceAll(attr(n, "style"), " ", ""))
	return has(n, "hidden") || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// without removes the elements of these names and hidden elements from n, and returns n.
func without(n *html.Node, names ...string) *html.Node {
	removeAll(n, func(d *html.Node) bool { return isElement(d, names...) || hidden(d) })
	return n
}
