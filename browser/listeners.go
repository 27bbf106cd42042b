package browser

import (
	"context"
	"strings"

	"github.com/browserd/browserd/browser/listeners"
	"github.com/browserd/browserd/browser/script"
)

// listening returns the document as package listeners asks about it.
func (d *document) listening() *listeners.Document {
	t := d.frame.tab
	return &listeners.Document{
		Session: d.cdp, IsolatedWorld: d.isolatedWorld, IsolatedWorldID: d.isolatedWorldID, MainWorld: d.mainWorld, MainWorldID: d.mainWorldID,
		Wait:      t.wait,
		OnlyFrame: func() bool { return t.frames.isOnlyFrame(d.frame, d.cdp) },
	}
}

// evaluateWithListeners is evaluate for a function that looks at the document as a person
// would. Before, the script is told which elements have listeners of their own
// for clicks and which closed shadow roots there are. Where no element has come since it
// was told last, all of it is one round trip. The function answers with no promise.
func evaluateWithListeners[Args, Result any](ctx context.Context, d *document, f script.Func[Args, Result], args Args) (result Result, err error) {
	if err := d.reported.Await(ctx); err != nil {
		return result, err
	}
	activity := d.frame.tab.activity.Load()
	asking, err := d.start(f.Unless(script.PendingListeners.Call(script.None{}), args))
	if err != nil {
		return result, err
	}
	request := d.reported.Ask(d.listening(), activity)
	raw, err := asking.finish(ctx)
	if err != nil {
		d.reported.Expire() // whether elements had come was said once
		return result, err
	}
	pending := strings.Trim(string(raw), `"`)
	come := pending == script.PendingElements || pending == script.PendingHosts
	reported := false
	if come || request.Sent() {
		if reported, err = request.Report(ctx, pending == script.PendingHosts); err != nil {
			return result, err
		}
	}
	if !come && !reported {
		return result, decoded(asking.call.Function, raw, &result)
	}
	return evaluate(ctx, d, f, args)
}
