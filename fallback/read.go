package fallback

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/web/readable"
)

// Find returns the nodes that match all of q, in document order, at most q.Limit. The
// error is invalid_params if q is empty.
func (p *Page) Find(ctx context.Context, refs *snapshot.Refs, q protocol.Query) ([]snapshot.Node, error) {
	d := p.document(refs)
	return d.tree.Find(ctx, q, d.controls)
}

// readKinds are the values of kind that Read accepts.
var readKinds = []string{"text", "markdown", "html", "value", "attrs", "article", "box"}

// Read returns the content of an element, or of the whole page if ref is empty. kind is
// text, markdown, html, value (of a control, secrets masked), attrs (all as a JSON
// object, or the one that attr names), or article (the main text as markdown). Errors:
// those of a ref, invalid_params, unsupported for kind box.
func (p *Page) Read(ctx context.Context, refs *snapshot.Refs, ref, kind, attr string) (string, error) {
	if kind == "" {
		kind = "text"
	}
	if !slices.Contains(readKinds, kind) {
		return "", protocol.Errorf(protocol.InvalidParams, "kind %q: accepts %s", kind, strings.Join(readKinds, ", ")).With("parameter", "kind")
	}
	if kind == "box" {
		return "", protocol.Errorf(protocol.Unsupported, "kind box needs a layout, which this source does not make")
	}
	d := p.document(refs)
	if ref == "" {
		if kind == "value" || kind == "attrs" {
			return "", protocol.Errorf(protocol.InvalidParams, "kind %s: needs a ref", kind).With("parameter", "ref")
		}
		return d.content(ctx, d.tree.Root(), kind), ctx.Err()
	}
	el, err := p.locate(refs, ref)
	if err != nil {
		return "", err
	}
	switch kind {
	case "value":
		v, ok := d.controls.Value(el.Node)
		if !ok {
			return "", protocol.Errorf(protocol.InvalidParams, "ref %s has no value", el.label).With("parameter", "ref").Then("read with kind text")
		}
		if v != "" && d.tree.Secret(el.Node) {
			v = "•••"
		}
		return v, nil
	case "attrs":
		if attr == "" {
			return d.tree.Attributes(el.Node), nil
		}
		v, ok := form.Attr(el.Node, attr)
		if !ok {
			return "", protocol.Errorf(protocol.InvalidParams, "attr %s: %s has no such attribute", quote(attr), el.ref).With("parameter", "attr").
				Then("read with kind attrs lists its attributes")
		}
		if attr == "value" && v != "" && d.tree.Secret(el.Node) {
			v = "•••"
		}
		return v, nil
	}
	return d.content(ctx, el.Node, kind), ctx.Err()
}

// content returns the content of a node as kind.
func (d *document) content(ctx context.Context, n *html.Node, kind string) string {
	switch kind {
	case "html":
		return d.tree.HTML(n)
	case "markdown", "article":
		text := d.tree.HTML(n)
		if kind == "markdown" { // all of it, as from Chromium
			return readable.Fragment(ctx, text, d.tree.Base()).Markdown(ctx)
		}
		base := d.tree.Base()
		if n.Type == html.DocumentNode {
			base = d.tree.URL() // its base element is in the text
		}
		return readable.Parse(ctx, text, base).Markdown(ctx)
	}
	return d.tree.Text(n, d.controls)
}
