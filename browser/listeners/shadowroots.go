package listeners

import (
	"context"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
)

// reportClosedRoots finds the closed shadow roots of the elements that the script expects
// to have one (DOM.describeNode with pierce), and passes them to it. If ctx ends before all
// elements were described, the script names them again.
func (d *Document) reportClosedRoots(ctx context.Context) {
	s := d.Session
	var list struct {
		Result struct {
			ObjectID runtime.RemoteObjectID `json:"objectId"`
		} `json:"result"`
	}
	hosting := s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: script.ClosedRootHosts.Call(script.None{}).Expression, UniqueContextID: d.IsolatedWorld, ObjectGroup: d.reportGroup()})
	defer s.Send("Runtime.releaseObjectGroup", map[string]any{"objectGroup": d.reportGroup()})
	if d.Wait(ctx, hosting, &list) != nil || list.Result.ObjectID == "" {
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
	if d.Wait(ctx, p, &elements) != nil {
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
		if d.Wait(ctx, h.described, &got) != nil {
			continue
		}
		for _, r := range got.Node.ShadowRoots {
			if r.ShadowRootType != "closed" {
				continue
			}
			root, err := d.Resolve(ctx, r.BackendNodeID, d.IsolatedWorldID)
			if err != nil {
				continue
			}
			added := s.Send(runtime.CallFunctionOn.Method, map[string]any{
				"objectId": h.object, "arguments": []map[string]any{{"objectId": root}}, "returnByValue": true,
				"functionDeclaration": script.AddClosedRoot.OnObject(),
			})
			s.Release(root)
			d.Wait(ctx, added, nil)
		}
	}
	if ctx.Err() == nil {
		s.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: script.ClosedRootHostsAsked.Call(script.None{}).Expression, UniqueContextID: d.IsolatedWorld})
	}
}

// Resolve resolves a backend node into a world of the document. The caller releases the object.
func (d *Document) Resolve(ctx context.Context, node cdproto.BackendNodeID, world runtime.ExecutionContextID) (runtime.RemoteObjectID, error) {
	var got struct {
		Object struct {
			ObjectID runtime.RemoteObjectID `json:"objectId"`
		} `json:"object"`
	}
	p := d.Session.Send("DOM.resolveNode", map[string]any{"backendNodeId": node, "executionContextId": world})
	err := d.Wait(ctx, p, &got)
	return got.Object.ObjectID, err
}
