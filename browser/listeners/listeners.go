// Package listeners reports to the script of a document what it cannot see itself: which
// elements have listeners of their own for clicks (DOMDebugger.getEventListeners), and
// the closed shadow roots of their hosts (DOM.describeNode). Its values are not safe for
// concurrent use: they belong to the goroutine that reads the document.
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

// delegatedEvents is how many kinds of events a framework's root element listens for at
// least. It delegates all of them, so its listeners say nothing about what is in it.
const delegatedEvents = 20

// kinds are what an element listens for.
type kinds struct{ clicks, presses, more bool }

// maxListening bounds how many listening elements are reported to one document.
const maxListening = 3000

// A page may add a listener to an element that exists already. So the listeners are asked
// for again although no element was added: not before costFactor times as long as the
// last answer took, since it is expensive with many elements; and in a page without
// activity, where only a timer of its own can have added one, not before idleInterval.
const (
	costFactor   = 20
	idleInterval = 500 * time.Millisecond
)

// Document is a document of a frame, as CDP names it.
type Document struct {
	Session         *cdp.Session
	IsolatedWorld   string                     // uniqueId of the isolated world in which the script runs
	IsolatedWorldID runtime.ExecutionContextID // its id
	MainWorld       string                     // uniqueId of the page's main world
	MainWorldID     runtime.ExecutionContextID // its id
	// OnlyFrame reports whether the CDP session has no other frame.
	OnlyFrame func() bool
	// Wait waits for an answer, at most until the tab ends.
	Wait func(ctx context.Context, p *cdp.Pending, result any) error
}

// reportGroup returns the object group of one report. It differs by document, since frames
// of one target are reported to at the same time.
func (d *Document) reportGroup() string { return fmt.Sprintf("listeners-%d", d.IsolatedWorldID) }

// Reported is what was reported to the script of a document. The zero value: nothing.
type Reported struct {
	document runtime.RemoteObjectID          // of the main world; empty until asked for
	reported map[cdproto.BackendNodeID]kinds // elements that have listeners for clicks, or for what is in them
	asked    time.Time                       // when the listeners were asked for last
	took     time.Duration                   // until that answer came
	activity int64                           // the tab's count of activity then
	ahead    chan struct{}                   // closed when Ahead has ended; nil: it was not called
	early    bool                            // all that is known is what Ahead was answered
}

// Ahead reports what a document has that was just opened, on a goroutine of its own, which ends with life, so that
// whoever looks at the page next is seldom told of anything new. It does nothing for a document that has been reported.
func (k *Reported) Ahead(life context.Context, d *Document, activity int64) {
	if k.ahead != nil || k.document != "" {
		return
	}
	k.ahead = make(chan struct{})
	go func() {
		defer close(k.ahead)
		var got struct {
			Result struct {
				Value string `json:"value"`
			} `json:"result"`
		}
		pending := d.Session.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
			Expression: script.PendingListeners.Call(script.None{}).Expression, UniqueContextID: d.IsolatedWorld,
		})
		request := k.Ask(d, activity)
		err := d.Wait(life, pending, &got)
		if err == nil {
			_, err = request.Report(life, got.Result.Value == script.PendingHosts)
		}
		if k.early = true; err != nil {
			k.Expire()
		}
	}()
}

// Await waits for Ahead. Call it before what else uses k. Of listeners that were asked for before, the next Request asks
// again: the page may have added some since. Errors: ctx's cause.
func (k *Reported) Await(ctx context.Context) error {
	if k.ahead == nil {
		return nil
	}
	began := time.Now()
	select {
	case <-k.ahead:
		if k.early && k.asked.Before(began) {
			k.Expire()
		}
		k.early = false
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Expire makes the next Request ask for the listeners again, since not all were reported.
func (k *Reported) Expire() { k.asked = time.Time{} }

// stale reports whether it is worth asking for the listeners again.
func (k *Reported) stale(activity int64) bool {
	since := time.Since(k.asked)
	return since >= costFactor*k.took && (activity != k.activity || since >= idleInterval)
}

// Request is a request for the listeners of a document.
type Request struct {
	reported  *Reported
	of        *Document
	activity  int64
	document  *cdp.Pending // for the main world's document object; nil: it is known
	listeners *cdp.Pending // nil: not asked for yet, or not stale
}

// Ask asks for the listeners if they are not known or stale. activity is the tab's count of
// activity. It does not wait.
func (k *Reported) Ask(d *Document, activity int64) *Request {
	r := &Request{reported: k, of: d, activity: activity}
	if k.document == "" {
		// The listeners are asked for with the main world's document object: with the
		// isolated world's, Chromium 156 now and then leaves the page's wrappers of
		// listening nodes in the isolated world, where no accessor accepts them. It is in no object group: of one
		// that is, Chromium holds each listener's function anew with each answer.
		r.document = d.Session.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: "document", UniqueContextID: d.MainWorld})
	} else if k.stale(activity) {
		r.listeners = r.ask()
	}
	return r
}

// Sent reports whether anything was asked for.
func (r *Request) Sent() bool { return r.document != nil || r.listeners != nil }

// ask asks for all listeners of the document.
func (r *Request) ask() *cdp.Pending {
	return r.of.Session.Send("DOMDebugger.getEventListeners", map[string]any{"objectId": r.reported.document, "depth": -1, "pierce": true})
}

// Report waits for the listeners and reports the new ones to the script. If hosts is set it
// also reports the closed shadow roots of the elements that the script expects to have
// one. It returns whether any listener was reported. An element for which a call fails is
// left out; the only error is ctx's cause.
func (r *Request) Report(ctx context.Context, hosts bool) (reported bool, err error) {
	k, d, since := r.reported, r.of, time.Now()
	if r.document != nil {
		var got struct {
			Result struct {
				ObjectID runtime.RemoteObjectID `json:"objectId"`
			} `json:"result"`
		}
		if d.Wait(ctx, r.document, &got) == nil {
			k.document = got.Result.ObjectID
		}
	}
	if hosts {
		d.Session.Send("Accessibility.enable", cdproto.Empty{}) // the script asks Chromium for what they are: without it each question builds the page's tree
		d.reportClosedRoots(ctx)
	}
	if r.listeners == nil && k.document != "" {
		r.listeners, since = r.ask(), time.Now()
	}
	if r.listeners != nil {
		listen, fresh := k.collect(ctx, d, r.listeners)
		k.asked, k.took, k.activity = time.Now(), time.Since(since), r.activity
		fresh = d.inFrame(ctx, fresh)
		reported = d.report(ctx, fresh, listen)
		if ctx.Err() == nil {
			k.reported = listen
		}
	}
	if ctx.Err() != nil {
		k.Expire() // the next Request reports the rest
		return false, context.Cause(ctx)
	}
	return reported, nil
}

// collect returns the elements that listen for clicks, and those of them that were not
// reported to the script yet.
func (k *Reported) collect(ctx context.Context, d *Document, listening *cdp.Pending) (listen map[cdproto.BackendNodeID]kinds, fresh []cdproto.BackendNodeID) {
	var got struct {
		Listeners []struct {
			Type          string                `json:"type"`
			BackendNodeID cdproto.BackendNodeID `json:"backendNodeId"`
		} `json:"listeners"`
	}
	if d.Wait(ctx, listening, &got) != nil {
		if ctx.Err() == nil {
			k.document = "" // ask for it again
		}
		return k.reported, nil
	}
	listen = map[cdproto.BackendNodeID]kinds{}
	var order []cdproto.BackendNodeID
	counts := map[cdproto.BackendNodeID]int{}
	for _, l := range got.Listeners {
		if l.BackendNodeID == 0 {
			continue
		}
		counts[l.BackendNodeID]++
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
		if of := listen[n]; counts[n] >= delegatedEvents {
			of.presses, of.more = false, false
			listen[n] = of
		}
		if k.reported[n] != listen[n] {
			fresh = append(fresh, n)
		}
	}
	return listen, fresh
}

// inFrame returns those of the nodes that are in the frame's own document.
// DOMDebugger.getEventListeners includes the frames of the same process. A node of theirs
// would be resolved into this frame's world, and their own script would no longer
// recognize it as an element. A node that is resolved without a world comes in its own
// frame's, and the id of the object begins with "isolate.context." (V8's RemoteObjectId).
func (d *Document) inFrame(ctx context.Context, nodes []cdproto.BackendNodeID) []cdproto.BackendNodeID {
	if len(nodes) == 0 || d.OnlyFrame() {
		return nodes
	}
	pending := make([]*cdp.Pending, len(nodes))
	for i, n := range nodes {
		pending[i] = d.Session.Send("DOM.resolveNode", map[string]any{"backendNodeId": n, "objectGroup": "whose"})
	}
	defer d.Session.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": "whose"})
	var own []cdproto.BackendNodeID
	for i, p := range pending {
		var got struct {
			Object struct {
				ObjectID string `json:"objectId"`
			} `json:"object"`
		}
		if d.Wait(ctx, p, &got) != nil {
			continue
		}
		if id := strings.Split(got.Object.ObjectID, "."); len(id) == 3 && id[1] == fmt.Sprint(d.MainWorldID) {
			own = append(own, nodes[i])
		}
	}
	return own
}

// report resolves backend nodes into the isolated world, all in one round trip, and passes
// them to the script with what they listen for, before anything else is sent to it. It
// returns whether there was anything to report.
func (d *Document) report(ctx context.Context, nodes []cdproto.BackendNodeID, listen map[cdproto.BackendNodeID]kinds) bool {
	pending := make([]*cdp.Pending, len(nodes))
	for i, n := range nodes {
		pending[i] = d.Session.Send("DOM.resolveNode", map[string]any{"backendNodeId": n, "executionContextId": d.IsolatedWorldID, "objectGroup": d.reportGroup()})
	}
	var args, presses, more []map[string]any
	for i, p := range pending {
		var got struct {
			Object struct {
				ObjectID runtime.RemoteObjectID `json:"objectId"`
			} `json:"object"`
		}
		// A node of another site's document does not resolve here: its own frame reports it.
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
	for _, list := range []struct {
		call  string
		nodes []map[string]any
	}{
		{script.ReportPressed.OnArguments(), presses}, {script.ReportMore.OnArguments(), more}, {script.ReportListeners.OnArguments(), args},
	} {
		if len(list.nodes) > 0 {
			d.Session.Send(runtime.CallFunctionOn.Method, map[string]any{
				"uniqueContextId": d.IsolatedWorld, "arguments": list.nodes, "returnByValue": true, "functionDeclaration": list.call,
			})
		}
	}
	if len(nodes) > 0 {
		d.Session.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": d.reportGroup()})
	}
	return len(args)+len(more) > 0
}
