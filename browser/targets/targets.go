// Package targets makes the targets of a browser context that no page opens: tabs, and storage
// pages, which are none of the tabs.
package targets

import (
	"context"
	"sync"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/event"
)

// Blank is the address of an empty page.
const Blank = "about:blank"

// Targets makes the targets of one browser context. Any goroutine may use it.
type Targets struct {
	root     *cdp.Session
	context  cdproto.BrowserContextID
	attached func(event.AttachedToTarget)
	creating sync.Mutex // held while a target is made: one at a time

	// mu guards what follows. Nothing is called while it is held.
	mu    sync.Mutex
	apart bool                     // a target that is to be no tab is being made
	held  []event.AttachedToTarget // attached meanwhile, without an opener; written by the reader goroutine
}

// New returns the targets of a context. attached is called with those that Hold has kept and
// that are tabs after all.
func New(root *cdp.Session, id cdproto.BrowserContextID, attached func(event.AttachedToTarget)) *Targets {
	return &Targets{root: root, context: id, attached: attached}
}

// Create makes a target of the context that has no opener. Where it is to be apart from
// the tabs, what attaches meanwhile without an opener is held until its id is known.
func (n *Targets) Create(ctx context.Context, apart bool) (id target.ID, attached *event.AttachedToTarget, err error) {
	n.creating.Lock()
	defer n.creating.Unlock()
	n.mu.Lock()
	n.apart = apart
	n.mu.Unlock()
	made, err := cdproto.Call(ctx, n.root, target.CreateTarget, target.CreateTargetParams{
		URL: Blank, BrowserContextID: n.context,
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
		n.attached(e) // a window that a page opened without an opener
	}
	if err != nil {
		return "", nil, err
	}
	return made.TargetID, attached, nil
}

// Hold keeps an attached target for Create, which may have made it; false if it
// cannot be Create's.
func (n *Targets) Hold(e event.AttachedToTarget) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.apart || e.TargetInfo.OpenerID != "" {
		return false
	}
	n.held = append(n.held, e)
	return true
}
