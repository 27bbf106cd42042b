package attach

import (
	"context"
	"errors"
	"sync"

	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Grants are the person's own tabs that a session may use. The person grants them; no command of an agent's
// does. Any goroutine may call its methods.
type Grants struct {
	root    *cdp.Session
	context string

	mu    sync.Mutex
	given map[target.ID]bool // were given once: a tab keeps its id
}

// NewGrants returns the grants of the session that has the browser context, over the root CDP session of a
// connection with Only.
func NewGrants(root *cdp.Session, context string) *Grants {
	return &Grants{root: root, context: context, given: map[target.ID]bool{}}
}

// HasTab reports whether a tab of the session is one that was granted.
func (g *Grants) HasTab(id target.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.given[id]
}

// PersonTabs lists the tabs of the person's own that can be granted, and those that were. Granted of one that
// this session has is "here". It asks the browser each time.
func (g *Grants) PersonTabs(ctx context.Context) ([]PersonTab, error) {
	var got struct {
		Tabs []PersonTab `json:"tabs"`
	}
	if err := g.call(ctx, listTabs, map[string]any{}, &got); err != nil {
		return nil, err
	}
	for i := range got.Tabs {
		switch got.Tabs[i].Granted {
		case "":
		case g.context:
			got.Tabs[i].Granted = "here"
		default:
			got.Tabs[i].Granted = "elsewhere"
		}
	}
	return got.Tabs, nil
}

// Grant gives the session a tab of the list, which is one of its tabs then.
func (g *Grants) Grant(ctx context.Context, id string) error {
	g.mu.Lock()
	g.given[target.ID(id)] = true
	g.mu.Unlock()
	err := g.call(ctx, grantTab, map[string]any{"targetId": id, "browserContextId": g.context}, nil)
	if ctx.Err() != nil { // the tab does not answer: it is not to be given when it does
		g.root.Send(takeBack, map[string]any{"targetId": id, "browserContextId": g.context})
	}
	return err
}

// TakeBack ends a grant. The tab stays as it is.
func (g *Grants) TakeBack(ctx context.Context, id string) error {
	return g.call(ctx, takeBack, map[string]any{"targetId": id, "browserContextId": g.context}, nil)
}

func (g *Grants) call(ctx context.Context, method string, params, result any) error {
	if !IsContext(g.context) {
		return protocol.Errorf(protocol.Unsupported, "the session is not in a person's own browser")
	}
	err := g.root.Call(ctx, method, params, result)
	if e := (*cdp.Error)(nil); errors.As(err, &e) {
		return protocol.Errorf(protocol.PolicyDenied, "%s", e.Message)
	}
	return err
}
