package fallback

import (
	"context"
	"path"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Wait returns at once: only the client's own commands change a static document. If all
// conditions of q are true, it returns what they are; if not, the error is timeout and
// its details say what the page has. Other errors: unknown_ref, invalid_params,
// unsupported for an expression.
func (p *Page) Wait(ctx context.Context, refs *snapshot.Refs, q protocol.Wait, _ func(string) error, _ func(context.Context, func()) error) (map[string]any, error) {
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
	if l, ok, err := protocol.ParseLocator(q.Ref); err != nil {
		return nil, err
	} else if ok {
		nodes, err := d.tree.Find(ctx, protocol.Query{Locator: &l, Limit: snapshot.MaxCandidates + 1}, d.controls)
		switch {
		case err != nil:
			return nil, err
		case len(nodes) > 1 && !q.Gone:
			return nil, snapshot.Ambiguous(q.Ref, nodes, refs)
		}
		state := map[bool]string{true: "visible", false: "gone"}[len(nodes) > 0]
		note("ref", q.Ref, state, (len(nodes) > 0) != q.Gone)
	} else if q.Ref != "" {
		el, err := p.locate(refs, q.Ref)
		state := "visible"
		switch {
		case protocol.CodeOf(err) == protocol.StaleRef:
			state = "gone"
		case err != nil:
			return nil, err
		case inClosedDetails(el.Node) || !d.tree.Rendered(el.Node):
			state = "hidden"
		}
		note("ref", q.Ref, state, (state == "visible") != q.Gone)
	}
	if q.Text != "" {
		found, err := d.tree.Find(ctx, protocol.Query{Text: q.Text, Limit: 1}, d.controls)
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
	return nil, protocol.Errorf(protocol.Timeout, "the condition is not true, and a static document does not change by itself").
		With("waited_for", waited).With("seen", seen).Then("act on the page, or load it again with reload")
}

// matchURL reports whether a URL contains the pattern, or, for a pattern with *, matches
// it as a whole.
func matchURL(pattern, url string) bool {
	if !strings.Contains(pattern, "*") {
		return strings.Contains(url, pattern)
	}
	// In path.Match a * does not cross a slash, and [ ? \ mean something.
	quoted := strings.NewReplacer(`\`, `\\`, "[", `\[`, "?", `\?`).Replace(strings.ReplaceAll(pattern, "/", "\x00"))
	ok, err := path.Match(quoted, strings.ReplaceAll(url, "/", "\x00"))
	return err == nil && ok
}
