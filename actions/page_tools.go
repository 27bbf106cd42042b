package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// PageTools is the command page_tools.
var PageTools = command.Define(command.Row{
	Name: "page_tools", Summary: "Lists the tools that the page registered for agents (WebMCP).", Next: "page_tool calls one.", Main: "name",
	Flags: command.Reads | command.Inspects,
	Examples: []command.Example{
		{For: "Shows what a tool accepts", Params: `{"name": "add_to_basket"}`},
	},
}, pageTools)

// PageToolsParams are the parameters of page_tools.
type PageToolsParams struct {
	Name string `json:"name" doc:"only the tools of this name"`
}

// PageToolsResult is the answer of page_tools.
type PageToolsResult struct {
	command.Result
	Tools []protocol.PageTool `json:"tools"`
	// LeftOut counts the tools over a limit.
	LeftOut int `json:"left_out,omitempty"`
}

func pageTools(ctx context.Context, c *command.Call, p *PageToolsParams) (PageToolsResult, error) {
	page, lister, err := command.Live[session.ToolLister](ctx, c)
	if err != nil {
		return PageToolsResult{}, err
	}
	all, left, err := lister.PageTools(ctx, c.Session.Refs())
	if err != nil {
		return PageToolsResult{}, c.Session.DescribeLoss(err)
	}
	r := PageToolsResult{Tools: []protocol.PageTool{}, LeftOut: left}
	for _, t := range all {
		if p.Name == "" || t.Name == p.Name {
			r.Tools = append(r.Tools, t)
		}
	}
	r.Result = c.Result(page)
	if len(r.Tools) == 0 {
		r.Note = "the page has registered no such tool"
	}
	return r, nil
}
