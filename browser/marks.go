package browser

import (
	"context"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
)

// clickEvents are the events whose listeners make an element clickable.
var clickEvents = map[string]bool{
	"click": true, "mousedown": true, "mouseup": true, "pointerdown": true, "pointerup": true,
	"dblclick": true, "touchstart": true, "touchend": true, "auxclick": true, "contextmenu": true,
}

// maxMarked bounds how many listening elements one document is told about.
const maxMarked = 3000

// mark tells the script of each frame which elements have listeners of their
// own for clicks, and which closed shadow roots there are: what a script
// cannot see (DOMDebugger.getEventListeners). It asks only where something may
// have changed since it asked last. What goes wrong only costs those refs.
func (t *tab) mark(ctx context.Context, frames []*frame) {
	var work sync.WaitGroup
	for _, f := range frames {
		work.Add(1)
		go func() {
			defer work.Done()
			t.markFrame(ctx, f)
		}()
	}
	work.Wait()
}

func (t *tab) markFrame(ctx context.Context, f *frame) {
	t.c.mu.Lock()
	doc, id, own, num, s, asked := f.doc, f.ctxID, f.own, f.num, f.cdp, f.fresh
	t.c.mu.Unlock()
	if doc == 0 {
		return
	}
	if asked {
		var dirty bool
		if f.call(ctx, "dirty", nil, &dirty) != nil || !dirty {
			return
		}
	}
	evaluate := func(in, expression string) *Pending {
		return s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: expression, UniqueContextID: in, ObjectGroup: "browserd"})
	}
	// The listeners are asked for by the page's own document: asked by the
	// isolated world's, Chromium 156 now and then leaves the page's wrappers of
	// listening nodes in the isolated world, where no accessor takes them.
	var document, suspects evaluated
	clean, suspected, page := evaluate(id, "__bd.clean()"), evaluate(id, "__bd.suspects()"), evaluate(own, "document")
	t.wait(ctx, clean, nil)
	if t.wait(ctx, page, &document) != nil || document.Result.ObjectID == "" {
		return
	}
	if t.wait(ctx, suspected, &suspects) == nil && suspects.Result.Description != "Array(0)" {
		t.openRoots(ctx, s, num, suspects.Result.ObjectID)
	}
	var got struct {
		Listeners []struct {
			Type          string            `json:"type"`
			BackendNodeID cdp.BackendNodeID `json:"backendNodeId"`
		} `json:"listeners"`
	}
	p := s.Send("DOMDebugger.getEventListeners", map[string]any{"objectId": document.Result.ObjectID, "depth": -1, "pierce": true})
	if t.wait(ctx, p, &got) != nil {
		return
	}
	t.c.mu.Lock()
	if f.doc != doc {
		t.c.mu.Unlock()
		return
	}
	f.fresh = true
	if f.marked == nil {
		f.marked = map[cdp.BackendNodeID]bool{}
	}
	var ask []cdp.BackendNodeID
	for _, l := range got.Listeners {
		if clickEvents[l.Type] && l.BackendNodeID != 0 && !f.marked[l.BackendNodeID] && len(f.marked) < maxMarked {
			f.marked[l.BackendNodeID] = true
			ask = append(ask, l.BackendNodeID)
		}
	}
	t.c.mu.Unlock()
	if len(ask) == 0 {
		return
	}
	t.tell(ctx, s, num, ask)
}

// tell resolves backend nodes into the isolated world, all in one round trip,
// and hands them to the script.
func (t *tab) tell(ctx context.Context, s *Session, num runtime.ExecutionContextID, nodes []cdp.BackendNodeID) {
	pending := make([]*Pending, len(nodes))
	for i, n := range nodes {
		pending[i] = s.Send("DOM.resolveNode", map[string]any{"backendNodeId": n, "executionContextId": num, "objectGroup": "browserd"})
	}
	args := make([]map[string]any, 0, len(nodes))
	for _, p := range pending {
		var got struct {
			Object struct {
				ObjectID runtime.RemoteObjectID `json:"objectId"`
			} `json:"object"`
		}
		// A node of another frame's document does not resolve here: its own frame tells of it.
		if t.wait(ctx, p, &got) == nil && got.Object.ObjectID != "" {
			args = append(args, map[string]any{"objectId": got.Object.ObjectID})
		}
	}
	if len(args) == 0 {
		return
	}
	p := s.Send(runtime.CallFunctionOn.Method, map[string]any{
		"executionContextId": num, "arguments": args, "returnByValue": true,
		"functionDeclaration": "function(...els){__bd.told(...els)}",
	})
	t.wait(ctx, p, nil)
	s.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": "browserd"})
}

// openRoots finds the closed shadow roots of a list of elements
// (DOM.describeNode with pierce) and hands them to the script.
func (t *tab) openRoots(ctx context.Context, s *Session, num runtime.ExecutionContextID, list runtime.RemoteObjectID) {
	var elements struct {
		Result []struct {
			Name  string `json:"name"`
			Value struct {
				ObjectID runtime.RemoteObjectID `json:"objectId"`
			} `json:"value"`
		} `json:"result"`
	}
	p := s.Send("Runtime.getProperties", map[string]any{"objectId": list, "ownProperties": true})
	if t.wait(ctx, p, &elements) != nil {
		return
	}
	type host struct {
		object    runtime.RemoteObjectID
		described *Pending
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
					BackendNodeID  cdp.BackendNodeID `json:"backendNodeId"`
					ShadowRootType string            `json:"shadowRootType"`
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
			root, err := t.object(ctx, s, r.BackendNodeID, num)
			if err != nil {
				continue
			}
			t.wait(ctx, s.Send(runtime.CallFunctionOn.Method, map[string]any{
				"objectId": h.object, "arguments": []map[string]any{{"objectId": root}}, "returnByValue": true,
				"functionDeclaration": "function(root){__bd.closed(this,root)}",
			}), nil)
		}
	}
}
