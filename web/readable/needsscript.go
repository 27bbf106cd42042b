package readable

import (
	"context"
	"strings"

	"golang.org/x/net/html"
)

// littleText is the text, in characters, that a page which needs script may have.
const littleText = 250

// NeedsScript reports whether a page has next to nothing to read until its script has run:
// little text outside of its navigation and fields, and script that can render more. Such
// a page needs a source that runs script. A short page without script does not.
func NeedsScript(ctx context.Context, source string) bool {
	if len(source) > articleLimit {
		return false
	}
	doc, err := parse(ctx, source)
	if err != nil {
		return false
	}
	scripted := false
	for n := range doc.Descendants() {
		scripted = scripted || isElement(n, "script") && canRender(n)
	}
	if !scripted {
		return false
	}
	body := first(doc, "body")
	if body == nil {
		return true
	}
	// The text of noscript is not the page's.
	removeAll(body, func(n *html.Node) bool { return isElement(n, "noscript") })
	return textLength(withoutBoilerplate(doc)) < littleText
}

// HasText reports whether there is anything to read in a page.
func HasText(ctx context.Context, source string) bool {
	doc, err := parse(ctx, source)
	if err != nil {
		return true
	}
	body := first(doc, "body")
	if body == nil {
		return false
	}
	removeAll(body, func(n *html.Node) bool { return isElement(n, "noscript", "script", "style", "template") })
	return textLength(body) > 0
}

// canRender reports whether a script can render a page: it is neither data nor as short as
// a visitor counter.
func canRender(n *html.Node) bool {
	kind := strings.ToLower(attr(n, "type"))
	if kind != "" && kind != "module" && !strings.Contains(kind, "javascript") {
		return false
	}
	return has(n, "src") || len(rawText(n)) > littleText
}
