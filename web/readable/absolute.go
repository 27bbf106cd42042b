package readable

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// baseOf is what the links of a document at that address are relative to: the
// first base element with an address, else the document's own (HTML 4.2.3).
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

// absolute writes links and pictures below root out against base; what is no
// URL stays as it is.
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
