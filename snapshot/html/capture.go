package html

import (
	"context"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Capture reads the document for snapshot.Render. v has the values entered, nil for none.
// refs resolves the refs in o.Scope and o.After.
//
// The error is ctx's, or a *protocol.Error: unknown_ref and stale_ref for a ref,
// invalid_params for a scope that is neither a ref nor a CSS selector, or matches nothing.
func (d *Document) Capture(ctx context.Context, o snapshot.Options, refs *snapshot.Refs, v Values) (snapshot.Capture, error) {
	w := &walk{resolver: d.resolver(v), o: o, reasons: map[string]bool{}}
	w.ctx = ctx
	w.mayFold = o.Scope == "" && o.After == "" && o.MaxNodes >= minNodes && o.MaxChars >= minChars
	got := snapshot.Capture{URL: d.url.String(), Title: cutName(d.Title()), Input: d.count}
	top := d.top()
	if o.Scope != "" {
		n, err := d.scope(o.Scope, refs)
		if err != nil {
			return snapshot.Capture{}, err
		}
		top, w.scope = n, n
	}
	var last *html.Node
	if o.After != "" {
		n, err := d.Resolve(o.After, refs)
		if err != nil {
			return snapshot.Capture{}, snapshot.ForParameter("after", err)
		}
		if top == nil || !d.flatContains(top, n) {
			return snapshot.Capture{}, protocol.Errorf(protocol.InvalidParams, "after %s: is not within the scope", snapshot.Quote(snapshot.Cut(o.After, 100))).
				With("parameter", "after")
		}
		last = n
	}
	if top == nil {
		return got, nil
	}
	w.focused = w.focus()
	w.segment(top, last)
	if err := ctx.Err(); err != nil {
		return snapshot.Capture{}, err
	}
	got.Rest, got.RestTexts, got.AtLeast = w.left()
	got.AtLeast = w.writeFolds() || got.AtLeast
	got.Nodes, got.Visited = w.lines, w.visited
	for _, r := range []string{"max_nodes", "max_chars", "max_depth", "max_text"} {
		if w.reasons[r] {
			got.Reasons = append(got.Reasons, r)
		}
	}
	return got, nil
}

// top returns the document element.
func (d *Document) top() *html.Node {
	if d.count == 0 {
		return nil
	}
	return d.elements[0]
}

func (d *Document) flatContains(outer, n *html.Node) bool {
	for ; n != nil; n = d.flat.parent(n) {
		if n == outer {
			return true
		}
	}
	return false
}

// Resolve returns the element of a ref. Errors are unknown_ref, stale_ref (also for a ref of
// another document) and invalid_params.
func (d *Document) Resolve(ref string, refs *snapshot.Refs) (*html.Node, error) {
	e, err := refs.Lookup(ref)
	if err != nil {
		return nil, err
	}
	n := d.Element(e.Key.Node)
	if e.Key.Doc != d.doc || n == nil {
		return nil, protocol.Errorf(protocol.StaleRef, "%s is gone: it was in a document that the page has left", e.Ref()).
			With("candidates", []any{}).Then("take a snapshot of the page as it is now")
	}
	return n, nil
}

func (d *Document) scope(scope string, refs *snapshot.Refs) (*html.Node, error) {
	n, err := d.Resolve(scope, refs)
	if err == nil || protocol.CodeOf(err) != protocol.InvalidParams {
		return n, err
	}
	short := snapshot.Quote(snapshot.Cut(scope, 100))
	s, err := parseScope(scope)
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "scope %s: accepts a ref or a CSS selector", short).With("parameter", "scope")
	}
	if n := cascadia.Query(d.root, s); n != nil {
		return n, nil
	}
	return nil, protocol.Errorf(protocol.InvalidParams, "scope %s: nothing on the page matches", short).
		With("parameter", "scope").Then("take a snapshot without scope, or use a ref")
}

// maxScope is the longest selector, in bytes: its cost grows exponentially with its length.
const maxScope = 300

func parseScope(scope string) (cascadia.SelectorGroup, error) {
	if len(scope) > maxScope {
		return nil, errLong
	}
	return cascadia.ParseGroup(scope)
}

var errLong = protocol.Errorf(protocol.InvalidParams, "a selector is longer than %d characters", maxScope)

// focus returns the focused element. In a document as it was loaded, that is the first with
// autofocus (HTML, 6.6.7).
func (k *resolver) focus() *html.Node {
	if k.v != nil {
		return k.v.Focused()
	}
	for _, n := range k.d.autofocus {
		if focusable(n) && k.rendered(n) {
			return n
		}
	}
	return nil
}

// Node returns the line of one element, with those of attrs that it has.
func (d *Document) Node(n *html.Node, v Values, attrs []string) snapshot.Node {
	k := d.resolver(v)
	return k.lineOf(n, attrs)
}

func (k *resolver) lineOf(n *html.Node, attrs []string) snapshot.Node {
	role := k.role(n)
	name := ""
	clicks := false
	if is(n, atom.Option) || is(n, atom.Optgroup) {
		name = cutName(fold(k.nativeName(n, k.naming())))
	} else {
		clicks = !controls[role] && k.clickable(n, k.clickContextOf(n))
		name = k.shownName(n, role, clicks)
	}
	invisible := (clicks || controls[role]) && k.unseen(n) && k.replacementOf(n) == nil
	return k.node(n, role, name, clicks, invisible, attrs, n == k.focus())
}

// Find returns the nodes that match all of q, in document order, at most q.Limit (0 is 20):
// role, a part of the name, and a part of the text, of which it returns the innermost
// elements. The error is ctx's, or invalid_params if q is empty.
func (d *Document) Find(ctx context.Context, q protocol.Query, v Values) ([]snapshot.Node, error) {
	if q.Text == "" && q.Role == "" && q.Name == "" && q.Locator == nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "at least one of text, role and name is needed").With("parameter", "text")
	}
	if q.Limit <= 0 {
		q.Limit = 20
	}
	f := finderOf(d.resolver(v), q)
	f.ctx = ctx
	if l := q.Locator; l != nil && (l.CSS != "" || l.TestID != "") {
		var err error
		if f.found, err = d.selected(f.resolver, q); err != nil {
			return nil, err
		}
	} else if top := d.top(); top != nil {
		f.visit(top)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	nodes := []snapshot.Node{}
	for _, n := range f.found {
		nodes = append(nodes, f.lineOfFound(n))
	}
	return nodes, nil
}
