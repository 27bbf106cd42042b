package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"

	"github.com/browserd/browserd/actions/command"
)

// Snapshot is the command snapshot.
var Snapshot = command.Define(command.Row{
	Name: "snapshot", Summary: "Shows the page: controls with refs, and its text.", Next: "Actions answer with what changed, so take one only when lost.", Main: "scope",
	Flags: command.Reads | command.Static | command.MCPDefault | command.MCPCode | command.Inspects,
	Examples: []command.Example{
		{For: "Shows the page", Params: `{}`},
		{For: "Shows only what has changed since the last snapshot", Params: `{"delta": true}`},
	},
}, takeSnapshot)

// SnapshotParams are the parameters of snapshot: PROTOCOL.md section 5.
type SnapshotParams struct {
	Scope           protocol.Target `json:"scope" doc:"a ref or a CSS selector; left out: the whole page"`
	InteractiveOnly bool            `json:"interactive_only" default:"true" doc:"controls, headings and landmarks with a digest of the text; false: every readable element"`
	MaxChars        int             `json:"max_chars" seldom:"true" default:"12000" min:"1" max:"4000000" doc:"characters of the text, header and [more] line included"`
	MaxNodes        int             `json:"max_nodes" seldom:"true" default:"200" min:"1" max:"100000" doc:"nodes with a ref"`
	MaxDepth        int             `json:"max_depth" seldom:"true" default:"12" min:"1" max:"1000" doc:"depth of the shown nodes"`
	MaxText         int             `json:"max_text" seldom:"true" default:"200" min:"1" max:"100000" doc:"characters of one name, text or value"`
	Attrs           []string        `json:"attrs" seldom:"true" default:"href name type value placeholder aria-label role" doc:"attributes shown"`
	DedupeText      bool            `json:"dedupe_text" seldom:"true" default:"true" doc:"text that a name already says is not said again"`
	After           string          `json:"after" doc:"continue after this ref, where the last snapshot stopped"`
	Format          string          `json:"format" seldom:"true" default:"text" enum:"text,json" doc:"json: the nodes as well"`
	Delta           bool            `json:"delta" seldom:"true" default:"false" doc:"only the change since your last snapshot, within its limits; where you give others, a whole snapshot"`
}

func takeSnapshot(ctx context.Context, c *command.Call, p *SnapshotParams) (command.Result, error) {
	page, err := c.Page(ctx)
	if err != nil {
		return command.Result{}, err
	}
	o := snapshot.Options{
		Scope: string(p.Scope), InteractiveOnly: p.InteractiveOnly, MaxChars: p.MaxChars, MaxNodes: p.MaxNodes, MaxDepth: p.MaxDepth,
		MaxText: p.MaxText, Attrs: p.Attrs, DedupeText: p.DedupeText, After: p.After, JSON: p.Format == "json",
	}
	var r command.Result
	if p.Delta {
		r.Snapshot, r.Delta, err = command.View(c).Changes(ctx, page, o, nil)
	} else {
		var snap snapshot.Snapshot
		snap, err = command.View(c).Snapshot(ctx, page, o)
		r.Snapshot = &snap
	}
	if err != nil {
		return command.Result{}, c.Session.DescribeLoss(err)
	}
	r.Session, r.Page = c.Session.Name(), command.ReportState(c, page)
	return r.Finish(page), nil
}
