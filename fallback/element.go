package fallback

import (
	"context"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// element is the element of a ref.
type element struct {
	*html.Node
	ref   string // "@e5"
	label string // for messages: @e5 button "Buy"
}

// locate returns the element of a ref in the open document. It is the one that the client
// saw, because only the client's own actions change a static document. Errors:
// unknown_ref, stale_ref, invalid_params.
func (p *Page) locate(refs *snapshot.Refs, ref string) (element, error) {
	d := p.document(refs)
	e, err := refs.Lookup(ref)
	if err != nil {
		return element{}, err
	}
	label := e.Ref() + " " + describe(e.Role, e.Name)
	n := d.tree.Element(e.Key.Node)
	if e.Key.Doc != d.tree.Number() || n == nil {
		return element{}, protocol.Errorf(protocol.StaleRef, "%s is gone: it was %s", e.Ref(), describe(e.Role, e.Name)).
			With("candidates", []any{}).Then("take a snapshot and use a ref from it")
	}
	return element{n, e.Ref(), label}, nil
}

// usable returns the element of a ref for an action. The error is not_actionable if it is
// hidden or disabled.
func (a *actor) usable(ref string) (element, error) {
	el, err := a.locate(a.refs, ref)
	if err != nil {
		return element{}, err
	}
	if inClosedDetails(el.Node) {
		return element{}, el.not("hidden", "%s is hidden: it is inside a closed details element").Then("click the summary that opens it, then take a snapshot")
	}
	return el, el.enabled(el.Node)
}

// enabled returns not_actionable if n, the element that the action on el operates, is
// disabled.
func (el element) enabled(n *html.Node) error {
	if form.Disabled(n) {
		return el.not("disabled", "%s is disabled").Then("do first what enables it, then take a snapshot")
	}
	return nil
}

func (el element) not(reason, format string) *protocol.Error {
	return protocol.Errorf(protocol.NotActionable, format, el.label).With("reason", reason)
}

// inClosedDetails reports whether n is inside of a closed details element.
func inClosedDetails(n *html.Node) bool {
	for child, p := n, n.Parent; p != nil; child, p = p, p.Parent {
		if _, open := form.Attr(p, "open"); form.Is(p, "details") && !open && child != summaryOf(p) {
			return true
		}
	}
	return false
}

// summaryOf returns the summary that opens a details element, nil for none.
func summaryOf(details *html.Node) *html.Node {
	for c := details.FirstChild; c != nil; c = c.NextSibling {
		if form.Is(c, "summary") {
			return c
		}
	}
	return nil
}

// needsScript returns the error for what only script could do.
func (p *Page) needsScript(what string) *protocol.Error {
	return protocol.Errorf(protocol.Unsupported, "%s needs script, which this source does not run", what).
		With("source", p.State().Source).Then("open the page with source chromium if there is one, or use a link or a form of the page")
}

// nameOf returns the ref of a node, "" if the client has none, and its name.
func (d *document) nameOf(refs *snapshot.Refs, n *html.Node) (ref, name string) {
	if number, ok := refs.Seen(d.tree.Key(n)); ok {
		ref = snapshot.RefOf(number)
		if e, err := refs.Lookup(ref); err == nil {
			name = e.Name
		}
	}
	if name == "" {
		name, _ = form.Attr(n, "name")
	}
	return ref, name
}

// focus focuses n and returns its ref, if the focus has moved and the client has a ref
// for it.
func (d *document) focus(refs *snapshot.Refs, n *html.Node) string {
	if d.controls.Focused() == n {
		return ""
	}
	d.controls.Focus(n)
	ref, _ := d.nameOf(refs, n)
	return ref
}

// describe returns the role and name of an element for a message.
func describe(role, name string) string {
	if name == "" {
		return role
	}
	return role + " " + quote(name)
}

func quote(s string) string { return snapshot.Quote(snapshot.Cut(s, 80)) }

func parse(ctx context.Context, text string) (*html.Node, error) {
	d, err := snaphtml.Parse(ctx, text, nil, 0)
	if err != nil {
		return nil, err
	}
	return d.Root(), nil
}

// words returns the space-separated tokens of an attribute, in lower case.
func words(n *html.Node, name string) []string {
	v, _ := form.Attr(n, name)
	return strings.Fields(strings.ToLower(v))
}
