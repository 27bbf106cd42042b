// Package listeners tells the script of a document what it cannot see itself: which
// elements have listeners of their own for clicks (DOMDebugger.getEventListeners), and
// the closed shadow roots of their hosts (DOM.describeNode). A value of it belongs to the
// goroutine that looks at the document.
package listeners

import (
	"context"
	"fmt"
	"strings"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
)

// clickEvents are the events whose listeners make an element clickable.
var clickEvents = map[string]bool{
	"click": true, "mousedown": true, "mouseup": true, "pointerdown": true, "pointerup": true,
	"dblclick": true, "touchstart": true, "touchend": true, "auxclick": true, "contextmenu": true,
}

// pressEvents begin a drag, and moreEvents are more than a plain click: an element that
// listens for one may mean what is in it.
var (
	pressEvents = map[string]bool{"mousedown": true, "pointerdown": true, "touchstart": true}
	moreEvents  = map[string]bool{"dblclick": true, "contextmenu": true, "dragstart": true}
)

// everything is how many kinds of events the root of a framework listens for at least. It
// passes all of them on, and says nothing about what is in it.
const everything = 20

// kinds are what an element listens for.
type kinds struct{ clicks, presses, more bool }

// maxListening bounds how many listening elements one document is told about.
const maxListening = 3000

// A listener may come late, to an element that was there. Where no element has
// come, the listeners are asked for again once askAgain times as long as asking
// took has passed, since that is expensive with many elements; and where
// nothing was done to the page and it said nothing either, so that only a timer of
// its own can have added one, not before calm has passed.
const (
	askAgain = 20
	calm     = 500 * time.Millisecond
)

// Document is a document of a frame, as CDP names it.
type Document struct {
	Session   *cdp.Session
	World     string                     // uniqueId of the isolated world in which the script lives
	Number    runtime.ExecutionContextID // its number
	Own       string                     // uniqueId of the page's own world
	OwnNumber runtime.ExecutionContextID
	// Group is the object group of what is kept while the document lives.
	Group string
	// Alone reports whether the CDP session has no other frame.
	Alone func() bool
	// Wait waits for an answer while the tab lives.
	Wait func(ctx context.Context, p *cdp.Pending, result any) error
}

// group returns the group of the remote objects of one report: frames of one target are
// reported to at the same time.
func (d *Document) group() string { return fmt.Sprintf("listeners-%d", d.Number) }

// Reported is what the script of a document was told of its listeners. The zero value: nothing.
type Reported struct {
	document runtime.RemoteObjectID          // the page's own; empty until asked for
	reported map[cdproto.BackendNodeID]kinds // elements that have listeners for clicks, or for what is in them
	asked    time.Time
	took     time.Duration
	activity int64 // the tab's, when it was asked
}

// Expire has the listeners asked for again by the next Request: not all was reported.
func (k *Reported) Expire() { k.asked = time.Time{} }

// stale reports whether a listener may have come since they were asked for that is
// worth asking for.
func (k *Reported) stale(activity int64) bool {
	since := time.Since(k.asked)
	return since >= askAgain*k.took && (activity != k.activity || since >= calm)
}

// Request is a request for the listeners of a document.
type Request struct {
	known     *Reported
	of        *Document
	activity  int64
	page      *cdp.Pending // for the page's own document; nil: it is known
	listening *cdp.Pending // for the listeners; nil: not yet, or not worth it
}

// Ask asks for the listeners where they are not known, or have been known for too long
// since the tab's activity was last what it is now. It does not wait.
func (k *Reported) Ask(d *Document, activity int64) *Request {
	r := &Request{known: k, of: d, activity: activity}
	if k.document == "" {
		// The listeners are asked for by the page's own document: asked by the
		// isolated world's, Chromium 156 now and then leaves the page's wrappers of
		// listening nodes in the isolated world, where no accessor takes them.
		r.page = d.Session.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: "document", UniqueContextID: d.Own, ObjectGroup: d.Group})
	} else if k.stale(activity) {
		r.listening = r.ask()
	}
	return r
}

// Sent reports whether anything was asked for.
func (r *Request) Sent() bool { return r.page != nil || r.listening != nil }

// ask asks for all listeners of the document.
func (r *Request) ask() *cdp.Pending {
	return r.of.Session.Send("DOMDebugger.getEventListeners", map[string]any{"objectId": r.known.document, "depth": -1, "pierce": true})
}

// Report waits for the listeners, and tells the script of those that it does not know
// of, and, where hosts says so, of the closed shadow roots of the elements that it takes
// for hosts. It says whether the script was told of any listener. What goes wrong only
// costs those elements; the error is ctx's cause.
func (r *Request) Report(ctx context.Context, hosts bool) (reported bool, err error) {
	k, d, since := r.known, r.of, time.Now()
	if r.page != nil {
		var got struct {
			Result struct {
				ObjectID runtime.RemoteObjectID `json:"objectId"`
			} `json:"result"`
		}
		if d.Wait(ctx, r.page, &got) == nil {
			k.document = got.Result.ObjectID
		}
	}
	if hosts {
		d.openRoots(ctx)
	}
	if r.listening == nil && k.document != "" {
		r.listening, since = r.ask(), time.Now()
	}
	if r.listening != nil {
		listen, fresh := k.heard(ctx, d, r.listening)
		k.asked, k.took, k.activity = time.Now(), time.Since(since), r.activity
		fresh = d.ownOf(ctx, fresh)
		reported = d.report(ctx, fresh, listen)
		if ctx.Err() == nil {
			k.reported = listen
		}
	}
	if ctx.Err() != nil {
		k.Expire() // who looks next reports the rest
		return false, context.Cause(ctx)
	}
	return reported, nil
}

// heard returns the elements that listen for clicks, and those of them that the
// script has not been told of yet.
func (k *Reported) heard(ctx context.Context, d *Document, listening *cdp.Pending) (listen map[cdproto.BackendNodeID]kinds, fresh []cdproto.BackendNodeID) {
	var got struct {
		Listeners []struct {
			Type          string                `json:"type"`
			BackendNodeID cdproto.BackendNodeID `json:"backendNodeId"`
		} `json:"listeners"`
	}
	if d.Wait(ctx, listening, &got) != nil {
		k.document = "" // ask for it again
		return k.reported, nil
	}
	listen = map[cdproto.BackendNodeID]kinds{}
	var order []cdproto.BackendNodeID
	heard := map[cdproto.BackendNodeID]int{}
	for _, l := range got.Listeners {
		if l.BackendNodeID == 0 {
			continue
		}
		heard[l.BackendNodeID]++
		of, known := listen[l.BackendNodeID]
		of.clicks = of.clicks || clickEvents[l.Type]
		of.presses = of.presses || pressEvents[l.Type]
		of.more = of.more || moreEvents[l.Type]
		if of == (kinds{}) || !known && len(listen) >= maxListening {
			continue
		}
		if !known {
			order = append(order, l.BackendNodeID)
		}
		listen[l.BackendNodeID] = of
	}
	for _, n := range order {
		if of := listen[n]; heard[n] >= everything {
			of.presses, of.more = false, false
			listen[n] = of
		}
		if k.reported[n] != listen[n] {
			fresh = append(fresh, n)
		}
	}
	return listen, fresh
}

// ownOf returns those of the nodes that stand in the frame's own document. The
// listing goes into the frames of the same process: a node of theirs would be
// resolved into this frame's world, if nothing of its own frame's script
// takes it for an element from then on. A node that is resolved without a world
// comes in its own frame's, and the id of the object begins with
// "isolate.context." (V8's RemoteObjectId).
func (d *Document) ownOf(ctx context.Context, nodes []cdproto.BackendNodeID) []cdproto.BackendNodeID {
	if len(nodes) == 0 || d.Alone() {
		return nodes
	}
	pending := make([]*cdp.Pending, len(nodes))
	for i, n := range nodes {
		pending[i] = d.Session.Send("DOM.resolveNode", map[string]any{"backendNodeId": n, "objectGroup": "whose"})
	}
	defer d.Session.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": "whose"})
	var mine []cdproto.BackendNodeID
	for i, p := range pending {
		var got struct {
			Object struct {
				ObjectID string `json:"objectId"`
			} `json:"object"`
		}
		if d.Wait(ctx, p, &got) != nil {
			continue
		}
		if id := strings.Split(got.Object.ObjectID, "."); len(id) == 3 && id[1] == fmt.Sprint(d.OwnNumber) {
			mine = append(mine, nodes[i])
		}
	}
	return mine
}

// report resolves backend nodes into the isolated world, all in one round trip,
// and hands them to the script with what they listen for, before whatever is sent to it
// next. It says whether there was anything to report.
func (d *Document) report(ctx context.Context, nodes []cdproto.BackendNodeID, listen map[cdproto.BackendNodeID]kinds) bool {
	pending := make([]*cdp.Pending, len(nodes))
	for i, n := range nodes {
		pending[i] = d.Session.Send("DOM.resolveNode", map[string]any{"backendNodeId": n, "executionContextId": d.Number, "objectGroup": d.group()})
	}
	var args, presses, more []map[string]any
	for i, p := range pending {
		var got struct {
			Object struct {
				ObjectID runtime.RemoteObjectID `json:"objectId"`
			} `json:"object"`
		}
		// One of another site's document does not resolve here: its own frame reports it.
		if d.Wait(ctx, p, &got) == nil && got.Object.ObjectID != "" {
			node := map[string]any{"objectId": got.Object.ObjectID}
			of := listen[nodes[i]]
			if of.clicks {
				args = append(args, node)
			}
			if of.presses {
				presses = append(presses, node)
			}
			if of.more {
				more = append(more, node)
			}
		}
	}
	for _, told := range []struct {
		call  string
		nodes []map[string]any
	}{
		{script.ReportPressed.OnArguments(), presses}, {script.ReportMore.OnArguments(), more}, {script.ReportListeners.OnArguments(), args},
	} {
		if len(told.nodes) > 0 {
			d.Session.Send(runtime.CallFunctionOn.Method, map[string]any{
				"uniqueContextId": d.World, "arguments": told.nodes, "returnByValue": true, "functionDeclaration": told.call,
			})
		}
	}
	if len(args)+len(more) == 0 {
		return false
	}
	d.Session.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": d.group()})
	return true
}
