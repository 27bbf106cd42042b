package actions

import (
	"context"
	"unicode/utf8"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// TabList is the command tab_list.
var TabList = command.Define(command.Row{
	Name: "tab_list", Summary: "Lists the session's tabs.",
	Flags: command.MCPDefault | command.Unqueued | command.Inspects,
	Examples: []command.Example{
		{For: "Lists the tabs", Params: `{}`},
	},
}, tabList)

// TabsResult is the answer of the commands of tabs.
type TabsResult struct {
	command.Result
	Tabs []protocol.Tab `json:"tabs"`
}

// TabListParams are none.
type TabListParams struct{}

func tabList(ctx context.Context, c *command.Call, _ *TabListParams) (TabsResult, error) {
	page := c.Session.Page()
	if page == nil {
		return TabsResult{command.Result{Session: c.Session.Name()}, []protocol.Tab{}}, nil
	}
	r := TabsResult{command.Result{Session: c.Session.Name(), Page: command.ReportState(c, page)}, nil}
	if tabs, ok := page.(session.Tabs); ok {
		r.Tabs = tabsOf(c, tabs)
	} else {
		r.Tabs = []protocol.Tab{{Tab: r.Page.Tab, URL: r.Page.URL, Title: r.Page.Title, Selected: true}}
	}
	return r, nil
}

func tabs(ctx context.Context, c *command.Call, s command.Shows, do func(session.Tabs) (protocol.Effect, error)) (TabsResult, error) {
	page, tabs, err := command.Live[session.Tabs](ctx, c)
	if err != nil {
		return TabsResult{}, err
	}
	effect, err := do(tabs)
	r, err := c.Acted(ctx, page, effect, err, s)
	return TabsResult{r, tabsOf(c, tabs)}, err
}

// tabsOf returns the tabs, without what is left of a secret at the end of a title that was cut.
func tabsOf(c *command.Call, tabs session.Tabs) []protocol.Tab {
	list := tabs.Tabs()
	for i := range list {
		t := &list[i]
		t.Title = c.Runtime.Secrets.RedactCut(c.Caller.Agent, t.Title, utf8.RuneCountInString(t.Title) >= session.LongTitle)
	}
	return list
}
