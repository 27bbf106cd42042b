package html

import (
	"golang.org/x/net/html"

	"github.com/browserd/browserd/snapshot"
)

// markMax is the longest class or id that a line shows, in UTF-16 code units.
const markMax = 40

// appearance returns attributes that distinguish n, an element to act on that has no name:
// its class and id, those of the icon in it, and the tag of a shape in a drawing. The colours and sizes that a live
// page's line has need a layout.
func appearance(n *html.Node, name string, clicks bool) (out []snapshot.Attr) {
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
	if icon := iconOf(n); icon != "" {
		out = append(out, snapshot.Attr{Key: "icon", Value: icon})
	}
	return out
}

// iconOf returns what distinguishes the icon in n from others: its class, or the drawing that
// it uses.
func iconOf(n *html.Node) string {
	for c, i, tried := after(n, n), 0, 0; c != nil && i < maxInside && tried < 5; c, i = after(c, n), i+1 {
		if !isElement(c) || c.Data != "use" && !has(c, "class") {
			continue
		}
		tried++
		v := attr(c, "class")
		if c.Data == "use" {
			v = attr(c, "href")
		} else if firstElement(c) != nil {
			continue // around it
		}
		if length(v) < 200 {
			if v = units(fold(v), markMax); v != "" {
				return v
			}
		}
	}
	return ""
}
