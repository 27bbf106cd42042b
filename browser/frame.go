package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/listeners"
	"github.com/browserd/browserd/browser/network"
	"github.com/browserd/browserd/browser/report"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/snapshot"
)

// frame is one frame of a tab and, while doc is not 0, the isolated world of
// the document that is loaded in it. Its fields are guarded by the context's mu.
type frame struct {
	tab             *tab
	id              cdproto.FrameID
	parent          *frame
	cdp             *cdp.Session // of the target that the frame lives in
	url             string
	requester       network.Frame // loader and origin of the document, for its requests' initiator
	doc             int           // number of the document; 0 while it has no world
	isolatedWorld   string        // Runtime.ExecutionContextDescription.uniqueId of browserd's world
	isolatedWorldID runtime.ExecutionContextID
	mainWorld       string                     // uniqueId of the page's main world in the frame
	mainWorldID     runtime.ExecutionContextID // its id
	owner           snapshot.Key               // the element in the parent's document that holds the frame; zero until asked for
	reported        *listeners.Reported        // to the document's script; nil until it is first captured
	suppressed      *suppressed                // its dialogs; nil: they open
	since           time.Time                  // when it came to be without a document
}

// document is what a frame held when it was looked up. Calls go to that document only: once
// the frame has navigated, they fail with stale_ref. Node numbers are valid only within one
// document, since the next one has the same numbers.
type document struct {
	frame           *frame
	doc             int
	isolatedWorld   string
	isolatedWorldID runtime.ExecutionContextID
	mainWorld       string
	mainWorldID     runtime.ExecutionContextID
	cdp             *cdp.Session
	reported        *listeners.Reported // used only by the goroutine that holds the turn
}

// currentDocument returns the document that the frame has now, or nil; the caller holds mu.
func (f *frame) currentDocument() *document {
	if f.doc == 0 {
		return nil
	}
	if f.reported == nil {
		f.reported = &listeners.Reported{}
	}
	return &document{frame: f, doc: f.doc, isolatedWorld: f.isolatedWorld, isolatedWorldID: f.isolatedWorldID, mainWorld: f.mainWorld, mainWorldID: f.mainWorldID, cdp: f.cdp, reported: f.reported}
}

// forgetDocument forgets the document that the frame held. The caller holds mu.
func (f *frame) forgetDocument() {
	if f.doc != 0 {
		f.tab.c.departedDocs = append(f.tab.c.departedDocs, f.doc)
		f.tab.frames.tools.Forget(f.doc)
	}
	f.doc, f.isolatedWorld, f.isolatedWorldID, f.reported, f.since = 0, "", 0, nil, time.Now()
}

// document returns the document that the frame has now: stale_ref if it has none.
func (f *frame) document() (*document, error) {
	f.tab.c.mu.Lock()
	defer f.tab.c.mu.Unlock()
	if d := f.currentDocument(); d != nil {
		return d, nil
	}
	return nil, failure.DocumentGone()
}

// evaluator is a document, or whatever document a frame has now.
type evaluator interface {
	start(script.Call) (*scriptCall, error)
}

// evaluate calls a function of the script in a document: in its isolated world, waiting
// for its promise where it answers with one. Errors: stale_ref where the document has
// gone, internal where the script threw, what ended the tab (page_crashed,
// browser_lost), or ctx's cause.
func evaluate[Args, Result any](ctx context.Context, in evaluator, f script.Func[Args, Result], args Args) (Result, error) {
	p, err := in.start(f.Call(args))
	if err != nil {
		var none Result
		return none, err
	}
	return await(ctx, p, f)
}

// await waits for the answer of a call of f that was started.
func await[Args, Result any](ctx context.Context, p *scriptCall, _ script.Func[Args, Result]) (Result, error) {
	var result Result
	raw, err := p.finish(ctx)
	if err != nil {
		return result, err
	}
	return result, decoded(p.call.Function, raw, &result)
}

func decoded(function string, answer json.RawMessage, result any) error {
	if len(answer) == 0 {
		return nil
	}
	read := json.Unmarshal
	switch result.(type) {
	case *string, *script.Content: // as long as a page: jsonv2 reads it in half the time
		read = func(b []byte, v any) error { return cdp.Unmarshal(b, v) }
	}
	if err := read(answer, result); err != nil {
		return fmt.Errorf("decoding the answer of script %s: %w", function, err)
	}
	return nil
}

// scriptCall is a call of the page script that was sent.
type scriptCall struct {
	*cdp.Pending
	call  script.Call
	in    *document
	again func() *cdp.Pending // sends it once more
}

// start writes a call and does not wait for its answer, so that further commands can be written behind it.
func (d *document) start(call script.Call) (*scriptCall, error) {
	if call.Err != nil {
		return nil, call.Err
	}
	params := runtime.EvaluateParams{Expression: call.Expression, UniqueContextID: d.isolatedWorld, ReturnByValue: ptr(true)}
	if call.Promise {
		params.AwaitPromise = ptr(true)
	}
	send := func() *cdp.Pending { return d.cdp.Send(runtime.Evaluate.Method, params) }
	return &scriptCall{Pending: send(), call: call, in: d, again: send}, nil
}

// start writes a call for whatever document the frame has now.
func (f *frame) start(call script.Call) (*scriptCall, error) {
	d, err := f.document()
	if err != nil {
		return nil, err
	}
	return d.start(call)
}

// finish waits for the answer. When a page's scripts are ended (Runtime.terminateExecution)
// just as the next document takes its place, browserd's own is what is ended: it is run
// again then.
func (p *scriptCall) finish(ctx context.Context) (json.RawMessage, error) {
	var got evaluated
	t := p.in.frame.tab
	if err := t.wait(ctx, p.Pending, &got); err != nil {
		return nil, failure.Gone(err)
	}
	if e := got.ExceptionDetails; e != nil && script.Missing(e.Description()) {
		p.in.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{Expression: script.Source, UniqueContextID: p.in.isolatedWorld})
		got = evaluated{}
		if err := t.wait(ctx, p.again(), &got); err != nil {
			return nil, failure.Gone(err)
		}
	}
	if got.ExceptionDetails != nil {
		got.release(p.in.cdp)
		return nil, fmt.Errorf("script %s: %s", p.call.Function, got.ExceptionDetails.Description())
	}
	return json.RawMessage(got.Result.Value), nil
}

// evaluated is what browserd needs of the answer of Runtime.evaluate and Runtime.callFunctionOn.
type evaluated struct {
	Result struct {
		Value               jsonv2.Value           `json:"value"`
		UnserializableValue string                 `json:"unserializableValue"`
		ObjectID            runtime.RemoteObjectID `json:"objectId"`
	} `json:"result"`
	ExceptionDetails *report.Exception `json:"exceptionDetails"`
}

// release has Chromium let go of what the answer names.
func (e *evaluated) release(s *cdp.Session) {
	s.Release(e.Result.ObjectID, runtime.RemoteObjectID(e.ExceptionDetails.ObjectID()))
}

// wait waits for an answer while the tab lives.
func (t *tab) wait(ctx context.Context, p *cdp.Pending, result any) error {
	err := p.WaitWithin(ctx, t.life, result)
	if err == nil {
		return nil
	}
	return t.failure(ctx, err)
}

// failure returns the error of a call to the page that failed with err: where what it ran
// in has ended, the cause of that.
func (t *tab) failure(ctx context.Context, err error) error {
	if t.life.Err() != nil {
		return context.Cause(t.life)
	}
	if errors.Is(err, cdp.ErrGone) {
		return failure.Lost(err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e := (*cdp.Error)(nil); errors.As(err, &e) && e.Message == "Not attached to an active page" {
		// Its process has died, and the event that says why is on its way.
		select {
		case <-t.life.Done():
			return context.Cause(t.life)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * crashWait):
			return failure.DocumentGone()
		}
	}
	return err
}

// objectID hands a node of the script to CDP as a remote object, which the caller releases.
func (d *document) objectID(ctx context.Context, node int) (runtime.RemoteObjectID, error) {
	var got evaluated
	p := d.cdp.Send(runtime.Evaluate.Method, runtime.EvaluateParams{
		Expression: script.Node.Call(node).Expression, UniqueContextID: d.isolatedWorld,
	})
	if err := d.frame.tab.wait(ctx, p, &got); err != nil {
		return "", failure.Gone(err)
	}
	if got.Result.ObjectID == "" {
		return "", failure.DocumentGone()
	}
	return got.Result.ObjectID, nil
}

// forgetDeparted has refs let go of the documents that were left, and returns the selected tab.
func (c *Context) forgetDeparted(refs *snapshot.Refs) *tab {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, doc := range c.departedDocs {
		refs.Forget(doc)
	}
	c.departedDocs = nil
	return c.selected
}

// resolve finds what a ref stands for: unknown_ref, stale_ref, or the entry and the document that holds it.
func (c *Context) resolve(refs *snapshot.Refs, ref string) (snapshot.Entry, *document, error) {
	t := c.forgetDeparted(refs)
	e, err := refs.Lookup(ref)
	if err != nil {
		return e, nil, err
	}
	d := c.document(e.Key.Doc)
	switch {
	case d == nil:
		return e, nil, failure.DocumentLeft(e.Ref())
	case d.frame.tab != t:
		return e, nil, failure.OtherTab(e.Ref(), d.frame.tab.name)
	}
	return e, d, nil
}
