package readable

import (
	"strings"

	"golang.org/x/net/html"
)

// never are elements without text to read.
var never = []string{"script", "style", "svg", "math", "iframe", "frame", "frameset", "object", "embed", "canvas", "template", "noframes", "audio", "video", "map",
	"input", "button", "select", "textarea", "datalist", "optgroup", "option", "link", "meta", "head"}

// surroundings stand around what is to be read, outside of main and article.
var surroundings = []string{"nav", "header", "footer", "aside"}

// lean takes from a document what nobody reads: script, style, pictures in
// code, frames, form controls, hidden things, and outside main and article what
// surrounds the page. It changes doc and returns its body.
func lean(doc *html.Node) *html.Node {
	body := first(doc, "body")
	if body == nil {
		return doc
	}
	removeAll(body, func(n *html.Node) bool {
		return isElement(n, never...) || hidden(n) || isElement(n, surroundings...) && !within(n, "main", "article")
	})
	return body
}

// hidden is true for what the markup itself hides.
func hidden(n *html.Node) bool {
	style := strings.ToLower(strings.ReplaceAll(attr(n, "style"), " ", ""))
	return has(n, "hidden") || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// pruned is n without the elements of these names and without what is hidden.
func pruned(n *html.Node, names ...string) *html.Node {
	removeAll(n, func(d *html.Node) bool { return isElement(d, names...) || hidden(d) })
	return n
}
