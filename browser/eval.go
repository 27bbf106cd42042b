package browser

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/snapshot"
)

// EvalAt evaluates an expression in the page's own world, awaits a promise, and returns its JSON value: null for
// what has none. With a ref it may be a function, called with the element, or have `element` in it. Right before,
// check (it may be nil) is asked about the document's origin. Errors: those of check; invalid_params of an expression
// that throws; dialog_open, begun where its value is lost.
func (c *Context) EvalAt(ctx context.Context, refs *snapshot.Refs, ref, expression string, check func(origin string) error) (value json.RawMessage, err error) {
	var p *cdp.Pending // nil: not sent
	err = untilDialog(ctx, c, "", func(ctx context.Context, t *tab) (err error) {
		t.activity.Add(1)
		if ref == "" {
			d, err := t.frames.main.awaitDocument(ctx)
			if err == nil {
				err = d.checkOrigin(ctx, check)
			}
			if err != nil {
				return err
			}
			p = t.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
				Expression: expression, AwaitPromise: ptr(true), UserGesture: ptr(true), ReplMode: ptr(true), UniqueContextID: d.mainWorld,
			})
		} else if p, err = evalOn(ctx, t, refs, ref, expression, check); err != nil {
			return err
		}
		if value, err = evalResult(ctx, t, p); err != nil {
			return err
		}
		c.mu.Lock()
		t.nav.askTitle() // which the expression may have changed
		c.mu.Unlock()
		t.nav.awaitTitle(ctx)
		return nil
	})
	return value, failure.Held(err, p != nil)
}

// evalOn writes the evaluation of an expression with the element of a ref, if check accepts its document's origin.
func evalOn(ctx context.Context, t *tab, refs *snapshot.Refs, ref, expression string, check func(origin string) error) (*cdp.Pending, error) {
	e, d, err := t.c.resolve(refs, ref)
	if err != nil {
		return nil, err
	}
	if err := d.checkOrigin(ctx, check); err != nil {
		return nil, err
	}
	isolated, err := d.objectID(ctx, e.Key.Node)
	if err != nil {
		return nil, err
	}
	defer d.cdp.Release(isolated)
	// From the isolated world into the page's own.
	var node dom.DescribeNodeResult
	if err := t.wait(ctx, d.cdp.Send(dom.DescribeNode.Method, dom.DescribeNodeParams{ObjectID: isolated}), &node); err != nil {
		return nil, err
	}
	own, err := d.listening().Resolve(ctx, node.Node.BackendNodeID, d.mainWorldID)
	if err != nil {
		return nil, err
	}
	defer d.cdp.Release(own)
	return d.cdp.Send(runtime.CallFunctionOn.Method, map[string]any{
		"objectId": own, "returnByValue": true, "awaitPromise": true, "userGesture": true,
		"functionDeclaration": "function(){const element=this;const v=(" + expression + "\n);return typeof v==='function'?v.call(this,this):v}",
	}), nil
}

// evalResult waits for the value of an expression.
func evalResult(ctx context.Context, t *tab, p *cdp.Pending) (json.RawMessage, error) {
	var got evaluated
	defer func() { got.release(p.Session()) }()
	if err := t.wait(ctx, p, &got); err != nil {
		return nil, failure.Value(failure.Gone(err))
	}
	// In REPL mode, which allows a top-level await, the value itself may still be
	// a promise or an object.
	if got.ExceptionDetails == nil && got.Result.ObjectID != "" {
		object := got.Result.ObjectID
		defer p.Session().Release(object)
		value := p.Session().Send(runtime.CallFunctionOn.Method, map[string]any{
			"objectId": object, "functionDeclaration": "function(){return this}", "returnByValue": true, "awaitPromise": true,
		})
		got = evaluated{}
		if err := t.wait(ctx, value, &got); err != nil {
			return nil, failure.Value(failure.Gone(err))
		}
	}
	if got.ExceptionDetails != nil {
		return nil, failure.Thrown(got.ExceptionDetails.Description())
	}
	switch {
	case len(got.Result.Value) > 0:
		return json.RawMessage(got.Result.Value), nil
	case got.Result.UnserializableValue != "":
		return json.Marshal(got.Result.UnserializableValue)
	}
	return json.RawMessage("null"), nil
}
