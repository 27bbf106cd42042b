package readable

import (
	"net/url"

	"golang.org/x/net/html"
)

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
