package browser

import (
	"context"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/protocol"
)

// find returns the tab of that name, or invalid_params that lists the names.
func (c *Context) find(name string) (*tab, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.tabs))
	for _, t := range c.tabs {
		if t.name == name {
			return t, nil
		}
		names = append(names, t.name)
	}
	return nil, protocol.Errorf(protocol.InvalidParams, "tab %q: there is no such tab", name).With("parameter", "tab").With("tabs", names)
}

// TabNew opens a tab, selects it, and loads url where one is given.
func (c *Context) TabNew(ctx context.Context, url string) (protocol.Effect, error) {
	c.mu.Lock()
	n := len(c.tabs)
	c.mu.Unlock()
	if n >= c.o.MaxTabs {
		return protocol.Effect{}, protocol.Errorf(protocol.SessionLimit, "the session has %d tabs, as many as it may", n).
			With("limit", c.o.MaxTabs).With("open", n).Then("close a tab with tab_close")
	}
	t, err := c.newTab(ctx, url)
	if err != nil {
		return protocol.Effect{}, err
	}
	c.mu.Lock()
	c.selected = t
	e := protocol.Effect{TabsOpened: []protocol.Tab{t.info()}}
	c.mu.Unlock()
	if url == "" {
		return e, nil
	}
	opened, err := c.Open(ctx, url, protocol.WaitAuto)
	opened.TabsOpened = append(e.TabsOpened, opened.TabsOpened...)
	return opened, err
}

// TabSelect makes the tab the one that commands go to.
func (c *Context) TabSelect(ctx context.Context, name string) (protocol.Effect, error) {
	t, err := c.find(name)
	if err != nil {
		return protocol.Effect{}, err
	}
	c.mu.Lock()
	c.selected = t
	t.nav.askTitle()
	c.mu.Unlock()
	if err := t.wait(ctx, t.cdp.Send("Page.bringToFront", cdproto.Empty{}), nil); err != nil {
		return protocol.Effect{}, err
	}
	t.nav.awaitTitle(ctx)
	return protocol.Effect{}, nil
}

// TabClose closes a tab, the selected one where name is empty. A session keeps
// one tab: closing the last opens an empty one.
func (c *Context) TabClose(ctx context.Context, name string) (protocol.Effect, error) {
	var t *tab
	var err error
	if name == "" {
		t, err = c.tab(ctx)
	} else {
		t, err = c.find(name)
	}
	if err != nil {
		return protocol.Effect{}, err
	}
	c.mu.Lock()
	last := len(c.tabs) == 1
	c.mu.Unlock()
	if last {
		if _, err := c.newTab(ctx, ""); err != nil {
			return protocol.Effect{}, err
		}
	}
	// A tab that has died or closed itself meanwhile is closed all the same.
	if _, err := cdproto.Call(ctx, c.host.root, target.CloseTarget, target.CloseTargetParams{TargetID: t.target}); err != nil && refusal(err) == "" {
		return protocol.Effect{}, err
	}
	select {
	case <-t.life.Done():
	case <-ctx.Done():
		return protocol.Effect{}, context.Cause(ctx)
	}
	return protocol.Effect{}, nil
}
