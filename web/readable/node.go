package readable

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return true
		}
	}
	return false
}

func set(n *html.Node, name, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == name {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

// isElement reports whether n is an element of one of the names.
func isElement(n *html.Node, names ...string) bool {
	if n == nil || n.Type != html.ElementNode {
		return false
	}
	for _, name := range names {
		if n.Data == name {
			return true
		}
	}
	return false
}

// first returns the first descendant of that name, nil for none.
func first(n *html.Node, name string) *html.Node {
	for d := range n.Descendants() {
		if isElement(d, name) {
			return d
		}
	}
	return nil
}

// within reports whether n is inside an element of one of the names.
func within(n *html.Node, names ...string) bool {
	for a := range n.Ancestors() {
		if isElement(a, names...) {
			return true
		}
	}
	return false
}

// removeAll removes comments, and every element that is unwanted with its descendants.
func removeAll(root *html.Node, unwanted func(*html.Node) bool) {
	for c := root.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.ElementNode && unwanted(c) || c.Type == html.CommentNode {
			root.RemoveChild(c)
		} else {
			removeAll(c, unwanted)
		}
		c = next
	}
}

// replaceWithText replaces n by text.
func replaceWithText(n *html.Node, text string) {
	if n.Parent == nil {
		return
	}
	n.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: text}, n)
	n.Parent.RemoveChild(n)
}

func rawText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// textLength returns the characters of the text in n that are not white space.
func textLength(n *html.Node) int {
	sum := 0
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			for _, r := range d.Data {
				if !unicode.IsSpace(r) {
					sum++
				}
			}
		}
	}
	return sum
}

// fold replaces each run of white space by one blank.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }
