package fallback

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
)

// shellText is how many characters of text a page may have and still be a
// shell; see docs/decisions/2026-11-21-ladder.md for what was measured.
const shellText = 200

// isShell says whether a document holds nothing to read or to act on until its
// script has run: next to no text, no form to fill in, next to no links, and
// script that could make them.
func isShell(root *html.Node) bool {
	var body *html.Node
	scripts, links, fields := 0, 0, 0
	form.Elements(root, func(n *html.Node) bool {
		switch {
		case form.Is(n, "body"):
			body = n
		case form.Is(n, "frameset"):
			links += 10 // its frames are what it shows
		case form.Is(n, "script"):
			if t, _ := form.Attr(n, "type"); t == "" || t == "module" || strings.Contains(t, "javascript") {
				scripts++
			}
		case form.Is(n, "a") && hasHref(n):
			links++
		case form.IsText(n), form.IsChoice(n), form.Is(n, "select"):
			fields++
		}
		return true
	})
	if body == nil || scripts == 0 || links > 3 || fields > 0 {
		return false
	}
	return shown(body, shellText) < shellText
}

func hasHref(n *html.Node) bool {
	_, ok := form.Attr(n, "href")
	return ok
}

// shown counts the characters of text that a reader would see, up to enough.
func shown(n *html.Node, enough int) int {
	count := 0
	for c := n.FirstChild; c != nil && count < enough; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			count += utf8.RuneCountInString(strings.Join(strings.Fields(c.Data), " "))
		case c.Type != html.ElementNode, form.Is(c, "script", "style", "noscript", "template", "svg", "iframe"):
		default:
			if _, hidden := form.Attr(c, "hidden"); !hidden {
				count += shown(c, enough-count)
			}
		}
	}
	return count
}
