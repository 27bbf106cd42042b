package fallback

import (
	"context"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/web/readable"
)

// Find returns the nodes that fit all of q, in document order, at most q.Limit.
// Errors: invalid_params where q asks for nothing.
func (p *Page) Find(ctx context.Context, refs *snapshot.Refs, q protocol.Query) ([]snapshot.Node, error) {
	d := p.document(refs)
	return d.static.Find(ctx, q, d.controls)
}

// readKinds are the kinds of Read.
var readKinds = []string{"text", "markdown", "html", "value", "attrs", "article", "box"}

// Read returns what is in an element, or without a ref in the whole page: its
// text, markdown, html, the value of a control with secrets masked, attrs (a
// JSON object, or the one that attr names), or article, the main text as
// markdown. Errors: those of a ref, invalid_params.
func (p *Page) Read(ctx context.Context, refs *snapshot.Refs, ref, kind, attr string) (string, error) {
	if kind == "" {
		kind = "text"
	}
	if !slices.Contains(readKinds, kind) {
		return "", protocol.Errorf(protocol.InvalidParams, "kind %q: takes %s", kind, strings.Join(readKinds, ", ")).With("parameter", "kind")
	}
	if kind == "box" {
		return "", protocol.Errorf(protocol.Unsupported, "kind box needs a layout, which this source does not make")
	}
	d := p.document(refs)
	if ref == "" {
		if kind == "value" || kind == "attrs" {
			return "", protocol.Errorf(protocol.InvalidParams, "kind %s: needs a ref", kind).With("parameter", "ref")
		}
		return d.content(ctx, d.static.Root(), kind), ctx.Err()
	}
	el, err := p.locate(refs, ref)
	if err != nil {
		return "", err
	}
	switch kind {
	case "value":
		v, ok := d.controls.Value(el.Node)
		if !ok {
			return "", protocol.Errorf(protocol.InvalidParams, "ref %s has no value", el.who).With("parameter", "ref").Then("read with kind text")
		}
		if v != "" && secret(el.Node) {
			v = "•••"
		}
		return v, nil
	case "attrs":
		if attr == "" {
			return d.static.Attributes(el.Node), nil
		}
		v, ok := form.Attr(el.Node, attr)
		if !ok {
			return "", protocol.Errorf(protocol.InvalidParams, "attr %s: %s has no such attribute", quote(attr), el.ref).With("parameter", "attr").
				Then("read with kind attrs lists its attributes")
		}
		if attr == "value" && v != "" && secret(el.Node) {
			v = "•••"
		}
		return v, nil
	}
	return d.content(ctx, el.Node, kind), ctx.Err()
}

// content is what a node and all in it say.
func (d *document) content(ctx context.Context, n *html.Node, kind string) string {
	switch kind {
	case "html":
		return d.static.HTML(n)
	case "markdown", "article":
		text := d.static.HTML(n)
		if kind == "markdown" { // all that is there, as in Chromium
			return readable.Fragment(ctx, text, d.static.Base()).Markdown(ctx)
		}
		base := d.static.Base()
		if n.Type == html.DocumentNode {
			base = d.static.URL() // its base element is in the text
		}
		return readable.Parse(ctx, text, base).Markdown(ctx)
	}
	for c := n.FirstChild; n.Type == html.DocumentNode && c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode {
			n = c
			break
		}
	}
	return d.static.Text(n, d.controls)
}

// Wait says whether all that q names holds. Nothing changes a static document
// but the client's own commands, so that what does not hold now is waited for
// in vain: the error is timeout, at once, whose details say what was seen.
// Errors: unknown_ref, invalid_params, unsupported for an expression.
func (p *Page) Wait(ctx context.Context, refs *snapshot.Refs, q protocol.Wait) (map[string]any, error) {
	if q.Gone && q.Ref == "" && q.Text == "" {
		return nil, protocol.Errorf(protocol.InvalidParams, "gone: needs a ref or a text").With("parameter", "gone")
	}
	if q.Expression != "" {
		return nil, p.needsScript("an expression")
	}
	d, at := p.document(refs), p.State()
	seen, waited, all := map[string]any{}, map[string]any{}, true
	note := func(name, asked string, value any, ok bool) {
		seen[name], waited[name] = value, asked
		all = all && ok
	}
	if q.URL != "" {
		note("url", q.URL, at.URL, matchURL(q.URL, at.URL))
	}
	switch q.State {
	case "":
	case protocol.WaitLoad:
		note("state", q.State, at.Ready, true)
	default:
		note("state", q.State, q.State, true)
	}
	if q.Ref != "" {
		el, err := p.locate(refs, q.Ref)
		state := "visible"
		switch {
		case protocol.CodeOf(err) == protocol.StaleRef:
			state = "gone"
		case err != nil:
			return nil, err
		case folded(el.Node) || !d.static.Rendered(el.Node):
			state = "hidden"
		}
		note("ref", q.Ref, state, (state == "visible") != q.Gone)
	}
	if q.Text != "" {
		found, err := d.static.Find(ctx, protocol.Query{Text: q.Text, Limit: 1}, d.controls)
		if err != nil {
			return nil, err
		}
		word := map[bool]string{true: "shown", false: "not shown"}[len(found) > 0]
		note("text", q.Text, word, (len(found) > 0) != q.Gone)
	}
	if all {
		return seen, nil
	}
	if q.Gone {
		waited["gone"] = true
	}
	return nil, protocol.Errorf(protocol.Timeout, "what is waited for does not hold, and a static document does not change by itself").
		With("waited_for", waited).With("seen", seen).Then("act on the page, or load it again with reload")
}

// matchURL says whether a URL contains the pattern, or matches it as a whole
// where it has a *.
func matchURL(pattern, url string) bool {
	if !strings.Contains(pattern, "*") {
		return strings.Contains(url, pattern)
	}
	// In path.Match a * does not cross a slash, and [ ? \ mean something.
	quoted := strings.NewReplacer(`\`, `\\`, "[", `\[`, "?", `\?`).Replace(strings.ReplaceAll(pattern, "/", "\x00"))
	ok, err := path.Match(quoted, strings.ReplaceAll(url, "/", "\x00"))
	return err == nil && ok
}
