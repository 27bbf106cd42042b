package actions

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
	"github.com/browserd/browserd/snapshot/html"

	"github.com/browserd/browserd/actions/command"
)

// Find is the command find.
var Find = command.Define(command.Row{
	Name: "find", Summary: "Finds elements by text, role or name.", Next: "Then act on its ref.", Main: "text",
	Flags: command.Reads | command.Static | command.MCPDefault | command.Inspects,
	Examples: []command.Example{
		{For: "Finds a button by its name", Params: `{"role": "button", "name": "Send"}`},
	},
}, find)

// FindParams are the parameters of find.
type FindParams struct {
	Text  string `json:"text" doc:"contained in the element's text or name"`
	Role  string `json:"role" doc:"the ARIA role"`
	Name  string `json:"name" doc:"contained in the accessible name"`
	Limit int    `json:"limit" seldom:"true" default:"10" min:"1" max:"1000" doc:"nodes returned; truncated says that there are more"`
	// Chain and Read are what page of a script finds and reads by.
	Chain json.RawMessage `json:"chain" seldom:"true" takes:"array" items:"object" doc:"steps in place of text, role and name, each from what the one before found: {css} {role, name} {text} {label} {placeholder} {testid} {has_text} {has} {nth} {frame} …"`
	Read  []string        `json:"read" seldom:"true" doc:"with chain, what to read of each: text, inner_text, value, html, visible, enabled, editable, checked, focused, caret, values, attr:NAME, css:NAME"`
}

// FindResult is the answer of find.
type FindResult struct {
	command.Result
	snapshot.Found
	// Truncated says that more nodes match than limit allows.
	Truncated bool `json:"truncated,omitempty"`
	// Count is how many elements fit a chain, and Read what was read of each node.
	Count *int              `json:"count,omitempty"`
	Read  []json.RawMessage `json:"read,omitempty"`
}

func find(ctx context.Context, c *command.Call, p *FindParams) (FindResult, error) {
	if p.Text == "" && p.Role == "" && p.Name == "" && len(p.Chain) == 0 {
		return FindResult{}, protocol.Errorf(protocol.InvalidParams, "find needs one of text, role and name").With("parameter", "text")
	}
	page, err := c.Page(ctx)
	if err != nil {
		return FindResult{}, err
	}
	if len(p.Chain) > 0 {
		return follow(ctx, c, page, p)
	}
	q := protocol.Query{Text: p.Text, Role: p.Role, Name: p.Name, Limit: p.Limit + 1}
	nodes, err := page.Find(ctx, c.Session.Refs(), q)
	if err == nil && len(nodes) == 0 && p.Text != "" && p.Name == "" {
		// A name that no text of the page gives, such as aria-label, alt or a placeholder.
		q.Text, q.Name = "", p.Text
		nodes, err = page.Find(ctx, c.Session.Refs(), q)
	}
	if err != nil {
		return FindResult{}, c.Session.DescribeLoss(err)
	}
	if roles := html.Roles(); len(nodes) == 0 && p.Role != "" && !slices.Contains(roles, strings.ToLower(p.Role)) {
		if near := command.Nearest(p.Role, roles); len(near) > 0 {
			return FindResult{}, protocol.Errorf(protocol.InvalidParams, "role: nothing here has the role %q: the nearest are %s", protocol.Cut(p.Role, 60), strings.Join(near, ", ")).
				With("parameter", "role").With("nearest", near)
		}
	}
	more := len(nodes) > p.Limit
	if more {
		nodes = nodes[:p.Limit]
	}
	r := c.Result(page)
	switch {
	case len(nodes) == 0:
		r.Note = "nothing fits; take a snapshot, or look for less of the text"
	case more:
		r.Note = "more fit: a larger limit shows them"
	}
	return FindResult{Result: r, Found: snapshot.Show(nodes, snapshot.DefaultOptions(), c.Session.Refs()), Truncated: more}, nil
}

// follow finds by a chain of steps.
func follow(ctx context.Context, c *command.Call, page session.Page, p *FindParams) (FindResult, error) {
	if page.State().Source != session.SourceChromium {
		return FindResult{}, protocol.Errorf(protocol.Unsupported, "chain needs a page in Chromium").With("source", page.State().Source)
	}
	var got protocol.Chained
	nodes, err := page.Find(ctx, c.Session.Refs(), protocol.Query{Chain: p.Chain, Read: p.Read, Limit: p.Limit, Got: &got})
	if err != nil {
		return FindResult{}, c.Session.DescribeLoss(err)
	}
	r := FindResult{Result: c.Result(page), Found: snapshot.Show(nodes, snapshot.DefaultOptions(), c.Session.Refs()), Count: &got.Count, Truncated: got.Count > len(nodes)}
	if len(p.Read) > 0 {
		r.Read = got.Read
	}
	return r, nil
}
