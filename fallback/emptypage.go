package fallback

import (
	"context"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/web/readable"
)

// fewLinks is how many links an empty page may have.
const fewLinks = 3

// isEmptyPage reports whether a page has nothing to read and nothing to do until its
// script has run: readable.NeedsScript, no field to fill in and at most fewLinks links.
func isEmptyPage(ctx context.Context, text string) bool {
	if !readable.NeedsScript(ctx, text) {
		return false
	}
	root, err := parse(ctx, text)
	if err != nil {
		return false
	}
	links, fields := 0, false
	form.Elements(root, func(n *html.Node) bool {
		switch {
		case form.Is(n, "a", "area") && hasHref(n):
			links++
		case form.IsText(n), form.IsChoice(n), form.Is(n, "select", "frame"):
			fields = true
		}
		return !fields && links <= fewLinks
	})
	return !fields && links <= fewLinks
}

func hasHref(n *html.Node) bool {
	_, ok := form.Attr(n, "href")
	return ok
}
