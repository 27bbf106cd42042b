package readable

import (
	"strings"

	"golang.org/x/net/html"
)

// declaresArticle reports whether a page declares itself an article, by Open Graph or
// schema.org.
func declaresArticle(doc *html.Node) bool {
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

// namesArticle reports whether JSON-LD, which may be malformed, has the "@type" of an
// article.
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

// cleanArticle removes what go-readability leaves in an article: navigation, asides,
// controls, hidden elements.
func cleanArticle(article *html.Node) {
	removeAll(article, func(n *html.Node) bool {
		return isElement(n, unreadTags...) || isElement(n, "nav", "aside") || hidden(n)
	})
}
