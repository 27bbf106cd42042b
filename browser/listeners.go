package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
)

// clickEvents are the events whose listeners make an element clickable.
var clickEvents = map[string]bool{
	"click": true, "mousedown": true, "mouseup": true, "pointerdown": true, "pointerup": true,
	"dblclick": true, "touchstart": true, "touchend": true, "auxclick": true, "contextmenu": true,
}

// maxListening bounds how many listening elements one document is told about.
const maxListening = 3000

// A listener may come late, to an element that was there. Where no element has
// come, the listeners are asked for again once askAgain times as long as asking
// took has passed, since that is dear where there are many elements; and where
// nothing was done to the page and it said nothing either, so that only a timer of
// its own can have added one, not before calm has passed.
const (
	askAgain = 20
	calm     = 500 * time.Millisecond
)

// marks are what a document's script has been told, and what it has answered. They belong
// to the session's driver.
type listeners struct {
	answer   walk.Answer                    // of the last walk
	document runtime.RemoteObjectID         // the page's own; empty until asked for
	told     map[cdproto.BackendNodeID]bool // elements that have listeners for clicks
	asked    time.Time
	took     time.Duration
	activity int64 // the tab's, when it was asked
}

// stale tells whether a listener may have come since they were asked for that is
// worth asking for.
func (m *listeners) stale(activity int64) bool {
	since := time.Since(m.asked)
	return since >= askAgain*m.took && (activity != m.activity || since >= calm)
}

// groupOf is the group of the remote objects of one telling: frames of one
// target are told at the same time.
func groupOf(num runtime.ExecutionContextID) string { return fmt.Sprintf("marks-%d", num) }

// evaluateWithListeners is evaluate for a function that looks at the document as a person
// would. Before, the script is told which elements have listeners of their own
// for clicks and which closed shadow roots there are: what it cannot see itself
// (DOMDebugger.getEventListeners). Where no element has come since it was told
// last, all of it is one round trip. What goes wrong with the telling only costs
// those refs. The function answers with no promise.
func evaluateWithListeners[Args, Result any](ctx context.Context, d *document, f script.Func[Args, Result], args Args) (result Result, err error) {
	t, m, s := d.frame.tab, d.listeners, d.cdp
	activity := t.activity.Load()
	asking, err := d.start(f.Unless(script.PendingListeners.Call(script.None{}), args))
	if err != nil {
		return result, err
	}
	var page, listening *cdp.Pending
	if m.document == "" {
		// The listeners are asked for by the page's own document: asked by the
		// isolated world's, Chromium 156 now and then leaves the page's wrappers of
		// listening nodes in the isolated world, where no accessor takes them.
		page = s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: "document", UniqueContextID: d.own, ObjectGroup: world})
	} else if m.stale(activity) {
		listening = m.ask(s)
	}
	raw, err := asking.finish(ctx)
	if err != nil {
		m.asked = time.Time{} // whether elements had come was said once
		return result, err
	}
	since := time.Now()
	pending := strings.Trim(string(raw), `"`)
	come := pending == script.PendingElements || pending == script.PendingHosts
	if !come && listening == nil && page == nil {
		return result, decoded(asking.call.Function, raw, &result)
	}
	if page != nil {
		var got evaluated
		if t.wait(ctx, page, &got) == nil {
			m.document = got.Result.ObjectID
		}
	}
	if pending == script.PendingHosts {
		d.openRoots(ctx)
	}
	if listening == nil && m.document != "" {
		listening, since = m.ask(s), time.Now()
	}
	told := false
	if listening != nil {
		listen, fresh := m.heard(ctx, t, listening)
		m.asked, m.took, m.activity = time.Now(), time.Since(since), activity
		fresh = d.ownOf(ctx, fresh)
		told = d.tell(ctx, fresh)
		if ctx.Err() == nil {
			m.told = listen
		}
	}
	if ctx.Err() != nil {
		m.asked = time.Time{} // not all was told: who looks next tells the rest
		return result, context.Cause(ctx)
	}
	if !come && !told {
		return result, decoded(asking.call.Function, raw, &result)
	}
	return evaluate(ctx, d, f, args)
}

func decoded(function string, answer json.RawMessage, result any) error {
	if len(answer) == 0 {
		return nil
	}
	read := json.Unmarshal
	if _, long := result.(*string); long { // a walk: jsonv2 reads it in half the time
		read = func(b []byte, v any) error { return cdp.Unmarshal(b, v) }
	}
	if err := read(answer, result); err != nil {
		return fmt.Errorf("decoding the answer of script %s: %w", function, err)
	}
	return nil
}

// ask asks for all listeners of the document.
func (m *listeners) ask(s *cdp.Session) *cdp.Pending {
	return s.Send("DOMDebugger.getEventListeners", map[string]any{"objectId": m.document, "depth": -1, "pierce": true})
}

// heard returns the elements that listen for clicks, and those of them that the
// script has not been told of yet.
func (m *listeners) heard(ctx context.Context, t *tab, listening *cdp.Pending) (listen map[cdproto.BackendNodeID]bool, fresh []cdproto.BackendNodeID) {
	var got struct {
		Listeners []struct {
			Type          string                `json:"type"`
			BackendNodeID cdproto.BackendNodeID `json:"backendNodeId"`
		} `json:"listeners"`
	}
	if t.wait(ctx, listening, &got) != nil {
		m.document = "" // ask for it anew
		return m.told, nil
	}
	listen = map[cdproto.BackendNodeID]bool{}
	for _, l := range got.Listeners {
		if !clickEvents[l.Type] || l.BackendNodeID == 0 || listen[l.BackendNodeID] || len(listen) >= maxListening {
			continue
		}
		listen[l.BackendNodeID] = true
		if !m.told[l.BackendNodeID] {
			fresh = append(fresh, l.BackendNodeID)
		}
	}
	return listen, fresh
}

// ownOf are those of the nodes that stand in the frame's own document. The
// listing goes into the frames of the same process: a node of theirs would be
// resolved into this frame's world, where nothing of its own frame's script
// takes it for an element from then on. A node that is resolved without a world
// comes in its own frame's, and the id of the object begins with
// "isolate.context." (V8's RemoteObjectId).
func (d *document) ownOf(ctx context.Context, nodes []cdproto.BackendNodeID) []cdproto.BackendNodeID {
	t, s := d.frame.tab, d.cdp
	t.c.mu.Lock()
	alone := true
	for _, o := range t.frames.byID {
		alone = alone && (o == d.frame || o.cdp.ID() != s.ID())
	}
	t.c.mu.Unlock()
	if alone || len(nodes) == 0 {
		return nodes
	}
	pending := make([]*cdp.Pending, len(nodes))
	for i, n := range nodes {
		pending[i] = s.Send("DOM.resolveNode", map[string]any{"backendNodeId": n, "objectGroup": "whose"})
	}
	defer s.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": "whose"})
	var mine []cdproto.BackendNodeID
	for i, p := range pending {
		var got struct {
			Object struct {
				ObjectID string `json:"objectId"`
			} `json:"object"`
		}
		if t.wait(ctx, p, &got) != nil {
			continue
		}
		if id := strings.Split(got.Object.ObjectID, "."); len(id) == 3 && id[1] == fmt.Sprint(d.ownNum) {
			mine = append(mine, nodes[i])
		}
	}
	return mine
}

// tell resolves backend nodes into the isolated world, all in one round trip,
// and hands them to the script, before whatever is sent to it next. It says
// whether there was anything to tell.
func (d *document) tell(ctx context.Context, nodes []cdproto.BackendNodeID) bool {
	t, s, num := d.frame.tab, d.cdp, d.num
	pending := make([]*cdp.Pending, len(nodes))
	for i, n := range nodes {
		pending[i] = s.Send("DOM.resolveNode", map[string]any{"backendNodeId": n, "executionContextId": num, "objectGroup": groupOf(num)})
	}
	args := make([]map[string]any, 0, len(nodes))
	for _, p := range pending {
		var got struct {
			Object struct {
				ObjectID runtime.RemoteObjectID `json:"objectId"`
			} `json:"object"`
		}
		// One of another site's document does not resolve here: its own frame tells of it.
		if t.wait(ctx, p, &got) == nil && got.Object.ObjectID != "" {
			args = append(args, map[string]any{"objectId": got.Object.ObjectID})
		}
	}
	if len(args) == 0 {
		return false
	}
	s.Send(runtime.CallFunctionOn.Method, map[string]any{
		"uniqueContextId": d.ctxID, "arguments": args, "returnByValue": true,
		"functionDeclaration": script.ReportListeners.OnArguments(),
	})
	s.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": groupOf(num)})
	return true
}

// openRoots finds the closed shadow roots of the elements that the script takes
// for hosts of such (DOM.describeNode with pierce) and hands them to it. Where it is
// ended before it has asked about all of them, the script names them again.
func (d *document) openRoots(ctx context.Context) {
	t, s, num := d.frame.tab, d.cdp, d.num
	var list evaluated
	hosting := s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: script.ClosedRootHosts.Call(script.None{}).Expression, UniqueContextID: d.ctxID, ObjectGroup: groupOf(num)})
	defer s.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": groupOf(num)})
	if t.wait(ctx, hosting, &list) != nil || list.Result.ObjectID == "" {
		return
	}
	var elements struct {
		Result []struct {
			Name  string `json:"name"`
			Value struct {
				ObjectID runtime.RemoteObjectID `json:"objectId"`
			} `json:"value"`
		} `json:"result"`
	}
	p := s.Send("Runtime.getProperties", map[string]any{"objectId": list.Result.ObjectID, "ownProperties": true})
	if t.wait(ctx, p, &elements) != nil {
		return
	}
	type host struct {
		object    runtime.RemoteObjectID
		described *cdp.Pending
	}
	var hosts []host
	for _, e := range elements.Result {
		if e.Value.ObjectID != "" && e.Name != "length" {
			object := e.Value.ObjectID
			hosts = append(hosts, host{object, s.Send("DOM.describeNode", map[string]any{"objectId": object, "depth": 1, "pierce": true})})
		}
	}
	for _, h := range hosts {
		var got struct {
			Node struct {
				ShadowRoots []struct {
					BackendNodeID  cdproto.BackendNodeID `json:"backendNodeId"`
					ShadowRootType string                `json:"shadowRootType"`
				} `json:"shadowRoots"`
			} `json:"node"`
		}
		if t.wait(ctx, h.described, &got) != nil {
			continue
		}
		for _, r := range got.Node.ShadowRoots {
			if r.ShadowRootType != "closed" {
				continue
			}
			root, err := t.frames.object(ctx, s, r.BackendNodeID, num)
			if err != nil {
				continue
			}
			t.wait(ctx, s.Send(runtime.CallFunctionOn.Method, map[string]any{
				"objectId": h.object, "arguments": []map[string]any{{"objectId": root}}, "returnByValue": true,
				"functionDeclaration": script.AddClosedRoot.OnObject(),
			}), nil)
		}
	}
	if ctx.Err() == nil {
		s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: script.ClosedRootHostsAsked.Call(script.None{}).Expression, UniqueContextID: d.ctxID})
	}
}
