package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// TabsResult is the answer of the commands of tabs.
type TabsResult struct {
	Result
	Tabs []protocol.Tab `json:"tabs"`
}

// TabListParams are none.
type TabListParams struct{}

func tabList(ctx context.Context, c *Call, _ *TabListParams) (TabsResult, error) {
	page := c.Session.Page()
	if page == nil {
		return TabsResult{Result{Session: c.Session.Name()}, []protocol.Tab{}}, nil
	}
	r := TabsResult{Result{Session: c.Session.Name(), Page: c.Session.State(page)}, nil}
	if live, ok := page.(session.Tabs); ok {
		r.Tabs = live.Tabs()
	} else {
		r.Tabs = []protocol.Tab{{Tab: r.Page.Tab, URL: r.Page.URL, Title: r.Page.Title, Selected: true}}
	}
	return r, nil
}

// TabNewParams are the parameters of tab_new.
type TabNewParams struct {
	URL string `json:"url" doc:"opened in it"`
	Shows
}

func tabNew(ctx context.Context, c *Call, p *TabNewParams) (TabsResult, error) {
	url := ""
	if p.URL != "" {
		var err error
		if url, err = c.checkURL(ctx, p.URL); err != nil {
			return TabsResult{}, err
		}
	}
	return c.tabs(ctx, p.Shows, func(page session.Tabs) (protocol.Effect, error) { return page.TabNew(ctx, url) })
}

// TabParams are the parameters of tab_select and tab_close.
type TabParams struct {
	Tab string `json:"tab" doc:"the tab's name, as tab_list says it"`
	Shows
}

func tabSelect(ctx context.Context, c *Call, p *TabParams) (TabsResult, error) {
	if p.Tab == "" {
		return TabsResult{}, protocol.Errorf(protocol.InvalidParams, "tab_select needs the parameter \"tab\"").With("parameter", "tab")
	}
	return c.tabs(ctx, p.Shows, func(page session.Tabs) (protocol.Effect, error) { return page.TabSelect(ctx, p.Tab) })
}

func tabClose(ctx context.Context, c *Call, p *TabParams) (TabsResult, error) {
	return c.tabs(ctx, p.Shows, func(page session.Tabs) (protocol.Effect, error) { return page.TabClose(ctx, p.Tab) })
}

func (c *Call) tabs(ctx context.Context, s Shows, do func(session.Tabs) (protocol.Effect, error)) (TabsResult, error) {
	page, tabs, err := live[session.Tabs](ctx, c)
	if err != nil {
		return TabsResult{}, err
	}
	effect, err := do(tabs)
	r, err := c.acted(ctx, page, effect, err, s)
	return TabsResult{r, tabs.Tabs()}, err
}
