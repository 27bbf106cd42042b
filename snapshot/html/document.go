package html

import (
	"context"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/browserd/browserd/internal/ctxio"
	"github.com/browserd/browserd/snapshot"
)

// Document is one parsed document. Its elements are numbered from 1 in document order, so
// that the same HTML has the same refs.
type Document struct {
	doc   int
	url   *url.URL
	root  *html.Node // the document node
	count int        // elements

	elements  []*html.Node       // by number - 1
	positions map[*html.Node]int // of every positionEvery-th node: how many elements begin up to it
	ids       map[string]*html.Node
	labels    map[*html.Node][]*html.Node // control to its labels, in document order
	controls  map[*html.Node]*html.Node   // label to its control
	sheet     *sheet                      // of the document's style elements; nil until asked for
	flat      *flatTree                   // nil if the document declares no shadow root

	// Elements by kind, in document order.
	title, base *html.Node
	styles      []*html.Node
	labelTags   []*html.Node
	maps        map[string]*imageMap // by name
	images      []*html.Node         // that use one
	autofocus   []*html.Node

	secrets map[*html.Node]bool // fields that KeepSecret named
}

// positionEvery is the distance of the nodes in positions. A map of all nodes would be as
// large as the tree.
const positionEvery = 64

// Parse parses a document. location is its URL, nil if it is not known; doc is the Doc of
// the Keys of its nodes. HTML nested deeper than 512 elements, which html.Parse refuses,
// becomes a flatter tree without elements that have no meaning of their own. The error is
// ctx's, if it ends first.
func Parse(ctx context.Context, text string, location *url.URL, doc int) (*Document, error) {
	root, err := html.ParseWithOptions(ctxio.Text(ctx, text), html.ParseOptionEnableScripting(false))
	if err != nil && ctx.Err() == nil {
		root, err = parseDeep(ctxio.Text(ctx, text))
	}
	if err != nil {
		return nil, err
	}
	if location == nil {
		location = &url.URL{Scheme: "about", Opaque: "blank"}
	}
	d := &Document{doc: doc, url: location, root: root}
	d.number()
	return d, nil
}

// number numbers the elements, and records positions and the elements by kind.
func (d *Document) number() {
	d.positions = map[*html.Node]int{}
	nodes := 0
	for n := d.root; n != nil; n = after(n, d.root) {
		if n.Type == html.ElementNode {
			d.elements = append(d.elements, n)
			d.note(n)
		}
		if nodes%positionEvery == 0 {
			d.positions[n] = len(d.elements)
		}
		nodes++
	}
	d.count = len(d.elements)
	d.linkMaps()
}

func (d *Document) note(n *html.Node) {
	if has(n, "autofocus") {
		d.autofocus = append(d.autofocus, n)
	}
	if n.Namespace != "" {
		return
	}
	switch n.DataAtom {
	case atom.Title:
		if d.title == nil {
			d.title = n
		}
	case atom.Base:
		if d.base == nil && has(n, "href") {
			d.base = n
		}
	case atom.Style:
		d.styles = append(d.styles, n)
	case atom.Label:
		d.labelTags = append(d.labelTags, n)
	case atom.Img:
		if has(n, "usemap") {
			d.images = append(d.images, n)
		}
	case atom.Map:
		if name := attr(n, "name"); name != "" && d.maps[name] == nil {
			if d.maps == nil {
				d.maps = map[string]*imageMap{}
			}
			d.maps[name] = &imageMap{node: n}
		}
	case atom.Area:
		if m := d.mapOf(n); m != nil && has(n, "href") {
			m.areas = append(m.areas, n)
		}
	case atom.Template:
		if d.flat == nil && has(n, "shadowrootmode") {
			d.flat = compose(d.root)
		}
	}
}

// URL returns the URL of the document, as Parse was given it; an empty one if not known.
func (d *Document) URL() *url.URL { return d.url }

// Number returns the document's number, as Parse was given it.
func (d *Document) Number() int { return d.doc }

// Root returns the document node, whose children are the doctype and <html>.
func (d *Document) Root() *html.Node { return d.root }

// Base returns the base of the document's relative URLs: the first <base href>, else its own
// URL (HTML, 4.2.3).
func (d *Document) Base() *url.URL {
	if d.base != nil {
		if u, err := d.url.Parse(strings.TrimSpace(attr(d.base, "href"))); err == nil && u.Scheme != "data" && u.Scheme != "javascript" {
			return u
		}
	}
	return d.url
}

// Title returns the text of the first <title> (HTML, document.title).
func (d *Document) Title() string {
	if d.title == nil {
		return ""
	}
	return fold(textContent(d.title, nameMax*4))
}

// Element returns the element with that number, nil if there is none.
func (d *Document) Element(number int) *html.Node {
	if number < 1 || number > d.count {
		return nil
	}
	return d.elements[number-1]
}

// Key returns the key of an element of this document.
func (d *Document) Key(n *html.Node) snapshot.Key {
	return snapshot.Key{Doc: d.doc, Node: d.numberOf(n)}
}

// numberOf counts from n back to a node in positions.
func (d *Document) numberOf(n *html.Node) int {
	back := 0
	for {
		if m, ok := d.positions[n]; ok {
			return m + back
		}
		if n.Type == html.ElementNode {
			back++
		}
		if n = before(n); n == nil {
			return 0
		}
	}
}

// imageMap has the areas with a link of an image map, and the image that uses it.
type imageMap struct {
	node  *html.Node
	areas []*html.Node
	image *html.Node
}

// areas returns the areas of the image n, nil if an earlier image uses its map.
func (d *Document) areas(n *html.Node) []*html.Node {
	name, ok := strings.CutPrefix(attr(n, "usemap"), "#")
	if m := d.maps[name]; ok && m != nil && m.image == n {
		return m.areas
	}
	return nil
}

// imageOf returns the image of n, an area of an image map; nil for none.
func (d *Document) imageOf(n *html.Node) *html.Node {
	if m := d.mapOf(n); m != nil {
		return m.image
	}
	return nil
}

// mapOf returns the image map of which n is an area, nil for none.
func (d *Document) mapOf(n *html.Node) *imageMap {
	if !is(n, atom.Area) || len(d.maps) == 0 {
		return nil
	}
	p := closest(n, func(p *html.Node) bool { return is(p, atom.Map) })
	if p == nil {
		return nil
	}
	if m := d.maps[attr(p, "name")]; m != nil && m.node == p {
		return m
	}
	return nil
}

// shownIn returns the flat-tree parent of n or, for an area, its image.
func (d *Document) shownIn(n *html.Node) *html.Node {
	if image := d.imageOf(n); image != nil {
		return image
	}
	return d.flat.parent(n)
}

// linkMaps finds the areas of the maps, and for each the first image that uses it.
func (d *Document) linkMaps() {
	for _, n := range d.images {
		if m := d.maps[strings.TrimPrefix(attr(n, "usemap"), "#")]; m != nil && m.image == nil {
			m.image = n
		}
	}
}

// ByID returns the first element with that id, nil if there is none.
func (d *Document) ByID(id string) *html.Node {
	if d.ids == nil {
		d.ids = map[string]*html.Node{}
		for _, n := range d.elements {
			if v, ok := lookup(n, "id"); ok && v != "" && d.ids[v] == nil {
				d.ids[v] = n
			}
		}
	}
	return d.ids[id]
}

// after returns the node after n in tree order within top, nil at the end.
func after(n, top *html.Node) *html.Node {
	if n.FirstChild != nil {
		return n.FirstChild
	}
	return afterSubtree(n, top)
}

// afterSubtree returns the node after n and its descendants within top, nil at the end.
func afterSubtree(n, top *html.Node) *html.Node {
	for ; n != nil && n != top; n = n.Parent {
		if n.NextSibling != nil {
			return n.NextSibling
		}
	}
	return nil
}

// before returns the node before n in tree order.
func before(n *html.Node) *html.Node {
	if n.PrevSibling == nil {
		return n.Parent
	}
	for n = n.PrevSibling; n.LastChild != nil; {
		n = n.LastChild
	}
	return n
}
