package html

import (
	"context"

	"golang.org/x/net/html"
)

// Values are what a person has entered into a document's controls. The methods
// answer for one element each; not known is the markup's own. A nil Values is
// the document as it was loaded.
type Values interface {
	// Value is what a text field holds, in place of its value attribute or its text.
	Value(n *html.Node) (value string, known bool)
	// Checked is the state of a checkbox or a radio button.
	Checked(n *html.Node) (on, known bool)
	// Selected is the state of an option.
	Selected(option *html.Node) (on, known bool)
	// Focused is the element that has the focus, nil for none.
	Focused() *html.Node
}

// A look may spend so many steps, and so many more for each element, on matching
// style sheets and reading names: some tenths of a second, whatever a page was
// written to cost. Real pages, shown whole, took up to 150 an element.
const (
	stepsAtLeast   = 5_000_000
	stepsAnElement = 200
)

// look is one look at a document with the values as they are: what it remembers
// holds for as long as it takes.
type look struct {
	ctx      context.Context // of the command, where one waits
	d        *Document
	v        Values
	styles   map[*html.Node]style
	layouts  map[*html.Node]bool // table to whether it only lays out
	rows     map[*html.Node]*row // parent to the row of its children
	rowTexts map[*html.Node]string
	chosen   map[*html.Node][]*html.Node // select to its selected options
	owned    map[string]bool             // IDs that an aria-owns names; nil: not looked for
	steps    int
	limit    int // of steps
}

// over tells whether the look's time is over: what goes on from element to element
// ends then, and what it has seen so far is nobody's.
func (k *look) over() bool { return k.ctx.Err() != nil }

func (d *Document) look(v Values) *look {
	return &look{
		ctx: context.Background(), d: d, v: v, styles: map[*html.Node]style{}, layouts: map[*html.Node]bool{},
		rows: map[*html.Node]*row{}, rowTexts: map[*html.Node]string{}, chosen: map[*html.Node][]*html.Node{},
		limit: stepsAtLeast + stepsAnElement*d.count,
	}
}

// Role returns the ARIA role of n as a snapshot shows it; generic where it has none
// that says something.
func (d *Document) Role(n *html.Node) string {
	if r := d.look(nil).role(n); r != "" {
		return r
	}
	return "generic"
}

// Name returns the accessible name of n as a snapshot shows it.
func (d *Document) Name(n *html.Node, v Values) string { return d.look(v).nameOf(n) }

// Rendered tells whether n is laid out and visible, as far as the markup and the
// sheets in it say.
func (d *Document) Rendered(n *html.Node) bool { return d.look(nil).rendered(n) }
