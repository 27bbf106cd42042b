package readable

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// baseOf returns the base URL of a document at that URL: that of the first base element
// with a URL, else at (HTML 4.2.3).
func baseOf(doc *html.Node, at *url.URL) *url.URL {
	for n := range doc.Descendants() {
		if !isElement(n, "base") || !has(n, "href") {
			continue
		}
		own := at
		if own == nil {
			own = &url.URL{}
		}
		if u, err := own.Parse(strings.TrimSpace(attr(n, "href"))); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return u
		}
		break
	}
	return at
}

// absolute makes the URLs of links and pictures below root absolute. It does not change
// what is not a URL.
func absolute(root *html.Node, base *url.URL) {
	for n := range root.Descendants() {
		for i, a := range n.Attr {
			if n.Type != html.ElementNode || a.Key != "href" && a.Key != "src" || a.Val == "" {
				continue
			}
			if u, err := base.Parse(a.Val); err == nil {
				n.Attr[i].Val = u.String()
			}
		}
	}
}
