package html

import (
	"golang.org/x/net/html"

	"github.com/browserd/browserd/snapshot"
)

// markMax bounds a class or an id that a line shows.
const markMax = 40

// looks is what tells n apart, which can be acted on: where it has no name its
// class and id, of a shape of a drawing its tag. What a live page's line says of
// colours and sizes besides needs a layout.
func looks(n *html.Node, name string, clicks bool) (out []snapshot.Attr) {
	if isHTML(n) && (name != "" || n.Data != "button" && isField(n) || isHost(n)) {
		return nil
	}
	if clicks && n.Namespace == "svg" && n.Data != "svg" {
		out = append(out, snapshot.Attr{Key: "tag", Value: n.Data})
	}
	if name != "" {
		return out
	}
	for _, a := range []string{"class", "id"} {
		if v := units(fold(attr(n, a)), markMax); v != "" {
			out = append(out, snapshot.Attr{Key: a, Value: v})
		}
	}
	return out
}
