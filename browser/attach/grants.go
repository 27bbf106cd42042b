package attach

import (
	"context"
	"errors"
	"sync"

	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Grants are the person's own tabs that a session may use. The person grants them; no command of an agent
// can. Any goroutine may call its methods.
type Grants struct {
	root    *cdp.Session
	context string

	mu      sync.Mutex
	granted map[target.ID]bool // were granted once: a tab keeps its id
}

// NewGrants returns the grants of the session that has the browser context, over the root CDP session of a
// connection with Only.
func NewGrants(root *cdp.Session, context string) *Grants {
	return &Grants{root: root, context: context, granted: map[target.ID]bool{}}
}

// HasTab reports whether a tab of the session is one that was granted.
func (g *Grants) HasTab(id target.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.granted[id]
}

// PersonTabs lists the person's own tabs that can be granted, and those that were. Their field Granted is "here"
// for this session's, "elsewhere" for another's. It asks the browser each time.
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

// Grant makes a tab of the list one of the session's tabs.
func (g *Grants) Grant(ctx context.Context, id string) error {
	g.mu.Lock()
	g.granted[target.ID(id)] = true
	g.mu.Unlock()
	err := g.call(ctx, grantTab, map[string]any{"targetId": id, "browserContextId": g.context}, nil)
	if ctx.Err() != nil { // the tab does not answer: it must not be granted when it does
		g.root.Send(revokeTab, map[string]any{"targetId": id, "browserContextId": g.context})
	}
	return err
}

// Revoke ends a grant. The tab stays open.
func (g *Grants) Revoke(ctx context.Context, id string) error {
	return g.call(ctx, revokeTab, map[string]any{"targetId": id, "browserContextId": g.context}, nil)
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
