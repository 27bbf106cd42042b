package fallback

import (
	"context"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/web/readable"
)

// fewLinks is how many links a page may have that is an empty shell.
const fewLinks = 3

// isShell says whether there is nothing to read on a page and nothing to do
// until its script has run: what reading calls an empty shell, but one that has
// no field to fill in and next to no links.
func isShell(ctx context.Context, text string) bool {
	if !readable.IsShell(ctx, text) {
		return false
	}
	root, err := parse(ctx, text)
	if err != nil {
		return false
	}
	links, acts := 0, false
	form.Elements(root, func(n *html.Node) bool {
		switch {
		case form.Is(n, "a", "area") && hasHref(n):
			links++
		case form.IsText(n), form.IsChoice(n), form.Is(n, "select", "frame"):
			acts = true
		}
		return !acts && links <= fewLinks
	})
	return !acts && links <= fewLinks
}

func hasHref(n *html.Node) bool {
	_, ok := form.Attr(n, "href")
	return ok
}
