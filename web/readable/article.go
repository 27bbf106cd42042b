package readable

import (
	"strings"

	"golang.org/x/net/html"
)

// saysArticle is true where a page says that it is one article, by Open Graph
// or schema.org, whatever else stands on it.
func saysArticle(doc *html.Node) bool {
	for n := range doc.Descendants() {
		switch {
		case isElement(n, "meta") && attr(n, "property") == "og:type":
			if strings.EqualFold(attr(n, "content"), "article") {
				return true
			}
		case isElement(n, "script") && attr(n, "type") == "application/ld+json":
			if namesArticle(rawText(n)) {
				return true
			}
		case has(n, "itemtype") && articleType(attr(n, "itemtype")[strings.LastIndex(attr(n, "itemtype"), "/")+1:]):
			return true
		}
	}
	return false
}

// namesArticle looks for an article's "@type" in JSON-LD, which need not be
// whole to be understood.
func namesArticle(ld string) bool {
	for {
		_, rest, ok := strings.Cut(ld, `"@type"`)
		if !ok {
			return false
		}
		ld = rest
		value := strings.TrimLeft(rest, " \t\r\n:[\"")
		if word, _, _ := strings.Cut(value, `"`); articleType(word) {
			return true
		}
	}
}

func articleType(word string) bool {
	return strings.HasSuffix(word, "Article") || word == "BlogPosting" || word == "Report"
}

// polish takes from an article what readability leaves and nobody reads:
// navigation, asides, controls, hidden things.
func polish(article *html.Node) {
	removeAll(article, func(n *html.Node) bool {
		return isElement(n, never...) || isElement(n, "nav", "aside") || hidden(n)
	})
}
