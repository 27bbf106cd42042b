package browser

import (
	"context"
	"sync"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
)

// targets makes the targets of a context that no page opens: tabs, and storage pages,
// which are none of the tabs. Any goroutine may call create.
type targets struct {
	c        *Context
	creating sync.Mutex // held while a target is made: one at a time

	// mu guards what follows. Nothing is called while it is held.
	mu    sync.Mutex
	apart bool               // a target that is to be no tab is being made
	held  []attachedToTarget // attached meanwhile, without an opener; written by the reader goroutine
}

// create makes a target of the context that has no opener. Where it is to be apart from
// the tabs, what attaches meanwhile without an opener is held until its id is known.
func (n *targets) create(ctx context.Context, apart bool) (id target.ID, attached *attachedToTarget, err error) {
	n.creating.Lock()
	defer n.creating.Unlock()
	n.mu.Lock()
	n.apart = apart
	n.mu.Unlock()
	made, err := cdproto.Call(ctx, n.c.host.root, target.CreateTarget, target.CreateTargetParams{
		URL: blank, BrowserContextID: n.c.id,
	})
	n.mu.Lock()
	held := n.held
	n.held, n.apart = nil, false
	n.mu.Unlock()
	for _, e := range held {
		if err == nil && e.TargetInfo.TargetID == made.TargetID {
			attached = &e
			continue
		}
		n.c.attached(e) // a window that a page opened without an opener
	}
	if err != nil {
		return "", nil, err
	}
	return made.TargetID, attached, nil
}

// hold keeps an attached target for create, which may have made it; false where it
// cannot be create's.
func (n *targets) hold(e attachedToTarget) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.apart || e.TargetInfo.OpenerID != "" {
		return false
	}
	n.held = append(n.held, e)
	return true
}
