// Package targets creates the targets of a browser context that no page opens: tabs, and
// storage pages, which are not listed as tabs.
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

// Targets creates the targets of one browser context. Any goroutine may use it.
type Targets struct {
	root     *cdp.Session
	context  cdproto.BrowserContextID
	attached func(event.AttachedToTarget)
	creating sync.Mutex // held by Create: one target at a time

	// mu guards what follows. Nothing is called while it is held.
	mu           sync.Mutex
	intercepting bool                     // set by Create, whose target may be the next that attaches
	held         []event.AttachedToTarget // attached meanwhile, without an opener; written by the reader goroutine
}

// New returns the targets of a context. attached is called with each target that Intercept
// has held and that is not Create's.
func New(root *cdp.Session, id cdproto.BrowserContextID, attached func(event.AttachedToTarget)) *Targets {
	return &Targets{root: root, context: id, attached: attached}
}

// Create creates a target of the context that has no opener. With intercept it returns the
// event by which the target was attached, which Intercept has kept from the list of tabs.
func (n *Targets) Create(ctx context.Context, intercept bool) (id target.ID, attached *event.AttachedToTarget, err error) {
	n.creating.Lock()
	defer n.creating.Unlock()
	n.mu.Lock()
	n.intercepting = intercept
	n.mu.Unlock()
	made, err := cdproto.Call(ctx, n.root, target.CreateTarget, target.CreateTargetParams{
		URL: Blank, BrowserContextID: n.context,
	})
	n.mu.Lock()
	held := n.held
	n.held, n.intercepting = nil, false
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

// Intercept holds an attached target until Create knows the id of its own. It returns false
// if the target cannot be Create's.
func (n *Targets) Intercept(e event.AttachedToTarget) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.intercepting || e.TargetInfo.OpenerID != "" {
		return false
	}
	n.held = append(n.held, e)
	return true
}
