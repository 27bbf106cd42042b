package html

import (
	"context"

	"golang.org/x/net/html"
)

// Values are the values that a person has entered into a document's controls. Each method
// returns the value of one element; where known is false, the markup's value holds. A nil
// Values is the document as it was loaded.
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

// The steps that a resolver may spend on matching selectors and computing names: at least
// stepsAtLeast, or some tenths of a second, and stepsAnElement for each element, so that no
// page can be written to take longer. Real pages, shown whole, took up to 150 an element.
const (
	stepsAtLeast   = 5_000_000
	stepsAnElement = 200
)

// resolver computes the styles, roles and names of a document's elements for one call, and
// caches them. The document and the Values must not change while it is used.
type resolver struct {
	ctx context.Context // of the command; Background for one element
	d   *Document
	v   Values
	*styleResolver
	textResolver
	roleResolver
	controlResolver
}

// styleResolver computes the styles of elements.
type styleResolver struct {
	d        *Document
	computed map[*html.Node]style
	steps    int
	limit    int // of steps
}

// textResolver collects the text of elements and of the rows around them.
type textResolver struct {
	*styleResolver
	rows     map[*html.Node]*row // by parent: the row of its children
	rowTexts map[*html.Node]string
}

// roleResolver computes the roles of elements.
type roleResolver struct {
	d       *Document
	layouts map[*html.Node]bool // by table: it is only for layout
	owned   map[string]bool     // the IDs in aria-owns; nil until needed
}

// controlResolver reads the states and values of form controls.
type controlResolver struct {
	d      *Document
	v      Values
	chosen map[*html.Node][]*html.Node // by select: its selected options
}

// over reports whether ctx has ended. Walks over the elements stop then, and their result
// is discarded.
func (k *resolver) over() bool { return k.ctx.Err() != nil }

func (d *Document) resolver(v Values) *resolver {
	styles := &styleResolver{d: d, computed: map[*html.Node]style{}, limit: stepsAtLeast + stepsAnElement*d.count}
	return &resolver{
		ctx: context.Background(), d: d, v: v,
		styleResolver:   styles,
		textResolver:    textResolver{styles, map[*html.Node]*row{}, map[*html.Node]string{}},
		roleResolver:    roleResolver{d: d, layouts: map[*html.Node]bool{}},
		controlResolver: controlResolver{d: d, v: v, chosen: map[*html.Node][]*html.Node{}},
	}
}

// Role returns the ARIA role of n as a snapshot shows it, generic if it has no other.
func (d *Document) Role(n *html.Node) string {
	return shownRole(d.resolver(nil).role(n))
}

// Name returns the accessible name of n as a snapshot shows it.
func (d *Document) Name(n *html.Node, v Values) string { return d.resolver(v).nameOf(n) }

// Rendered reports whether n has a box and is not visibility:hidden, as far as the markup
// and its style elements show.
func (d *Document) Rendered(n *html.Node) bool { return d.resolver(nil).rendered(n) }
