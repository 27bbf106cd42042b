package readable

import (
	"context"
	"strings"

	"golang.org/x/net/html"
)

// shellText is how little text, in characters, a page that needs script has.
const shellText = 250

// NeedsScript says whether a page is an empty shell to a reader: hardly any text,
// whatever its navigation and fields, and script that would make some. Such a
// page needs a source that runs its script. A short page without script is no
// shell.
func NeedsScript(ctx context.Context, source string) bool {
	if len(source) > wholeLimit {
		return false
	}
	doc, err := parse(ctx, source)
	if err != nil {
		return false
	}
	scripted := false
	for n := range doc.Descendants() {
		scripted = scripted || isElement(n, "script") && makes(n)
	}
	if !scripted {
		return false
	}
	body := first(doc, "body")
	if body == nil {
		return true
	}
	// What is said to those without script is not the page's text.
	removeAll(body, func(n *html.Node) bool { return isElement(n, "noscript") })
	return weight(lean(doc)) < shellText
}

// makes is true for a script that could make a page: not data, and not too
// short to do more than count the visit.
func makes(n *html.Node) bool {
	kind := strings.ToLower(attr(n, "type"))
	if kind != "" && kind != "module" && !strings.Contains(kind, "javascript") {
		return false
	}
	return has(n, "src") || len(rawText(n)) > shellText
}
