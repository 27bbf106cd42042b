package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"

	"github.com/browserd/browserd/browser/event"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/input"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// chooserWait is how long a click may take to open a file chooser.
const chooserWait = 2 * time.Second

// upload gives files to a file input (DOM.setFileInputFiles): the element
// itself, hidden or not, or the one that it stands for (its label, the drop
// zone around it); or it clicks the element and answers the file chooser that
// opens. No files empty the input. Errors: those of a ref, not_actionable,
// invalid_params where there is no file input or it takes only one file.
func upload(o protocol.Upload) actionFunc {
	return func(ctx context.Context, a *action) error {
		if o.Drop {
			el, got, err := a.dropFiles(ctx, o.Ref, o.Files)
			return a.setReceiver(el, got, err)
		}
		return a.setHit(a.uploadTo(ctx, o.Ref, o.Files))
	}
}

// dropFiles drops files on an element, and returns what received them.
func (a *action) dropFiles(ctx context.Context, ref string, files []protocol.File) (el *element, got script.Hit, err error) {
	el, err = a.locate(ctx, ref, script.Lookup{Want: []string{wantVisible, wantStable, wantHit}})
	if err != nil {
		return nil, got, err
	}
	el.endHitTest()
	paths, err := store(a.c, files)
	if err != nil {
		return nil, got, err
	}
	got, err = el.dropOn(ctx, a.tab.pointer.DragFiles(a.tab.wait, el.point(), paths))
	return el, got, err
}

func (a *action) uploadTo(ctx context.Context, ref string, files []protocol.File) (*element, error) {
	el, err := a.locate(ctx, ref, script.Lookup{Want: []string{wantAttached, wantEnabled}, ElementCall: script.FileInput.With(script.FileInputArgs{Empty: len(files) == 0})})
	if err != nil {
		return nil, err
	}
	in, err := script.FileInput.Result(el.Then)
	if err != nil {
		return nil, err
	}
	who, err := failure.Describe(a.refs, ref)
	if err != nil {
		return nil, err
	}
	if in.Disabled {
		return nil, protocol.Errorf(protocol.NotActionable, "the file input of %s is disabled", who).With("reason", "disabled")
	}
	if in.Input != 0 && !in.Multiple && len(files) > 1 {
		return nil, failure.OnlyOneFile(who, len(files))
	}
	if in.Input != 0 && len(files) == 0 {
		return el, nil
	}
	paths, err := store(a.c, files)
	if err != nil {
		return nil, err
	}
	if in.Input == 0 {
		el, err := a.uploadByChooser(ctx, ref, who, paths)
		if code := protocol.CodeOf(err); code == protocol.InvalidParams || code == protocol.NotActionable {
			a.c.uploads.Discard(paths, files) // no page was given them
		}
		return el, err
	}
	object, err := el.in.objectID(ctx, in.Input)
	if err != nil {
		return nil, err
	}
	defer el.in.cdp.Release(object)
	params := dom.SetFileInputFilesParams{Files: paths, ObjectID: object}
	return el, el.frame.tab.wait(ctx, el.in.cdp.Send(dom.SetFileInputFiles.Method, params), nil)
}

// isSameOriginFrame reports whether the document in that frame is the document itself or has its
// origin. The pages around a frame may use a click in it to open a file chooser of
// their own.
func (d *document) isSameOriginFrame(ctx context.Context, id cdproto.FrameID) bool {
	for _, f := range d.frame.tab.frames.live() {
		if f.id != id {
			continue
		}
		if f == d.frame {
			return true
		}
		own, err := d.origin(ctx)
		if err != nil || own == "null" {
			return false
		}
		other, err := f.document()
		return err == nil && other.requireOrigin(ctx, own) == nil
	}
	return false
}

// uploadByChooser clicks what opens a file chooser, and gives it the files
// (Page.fileChooserOpened; the tab intercepts file choosers).
func (a *action) uploadByChooser(ctx context.Context, ref, who string, paths []string) (*element, error) {
	_, d, err := a.c.resolve(a.refs, ref)
	if err != nil {
		return nil, err
	}
	opened, stop := d.cdp.Subscribe("Page.fileChooserOpened")
	defer stop()
	el, err := a.clickOn(ctx, ref, input.LeftClick)
	if err != nil {
		return nil, err
	}
	timeout := time.After(min(chooserWait, max(locateTimeoutFor(ctx), 0)))
	for waits := true; waits; {
		select {
		case raw, ok := <-opened:
			if !ok { // the session that was to say it has ended
				return el, failure.Gone(d.frame.tab.failure(ctx, d.cdp.Conn().SubscriptionError()))
			}
			var e event.FileChooserOpened
			if err := json.Unmarshal(raw, &e); err != nil {
				return el, err
			}
			if e.BackendNodeID == 0 || !d.isSameOriginFrame(ctx, e.FrameID) {
				continue // showOpenFilePicker, which has no input, or another site's
			}
			if e.Mode == "selectSingle" && len(paths) > 1 {
				return nil, failure.OnlyOneFile(who, len(paths))
			}
			params := dom.SetFileInputFilesParams{Files: paths, BackendNodeID: e.BackendNodeID}
			return el, d.frame.tab.wait(ctx, d.cdp.Send(dom.SetFileInputFiles.Method, params), nil)
		case <-timeout:
			waits = false
		case <-ctx.Done():
			return el, context.Cause(ctx)
		case <-d.frame.tab.life.Done():
			return el, context.Cause(d.frame.tab.life)
		}
	}
	return nil, failure.NoFileInput(who)
}

// store writes the files to upload. Where that fails because the context has ended,
// which removes their directory, the error is what ended it.
func store(c *Context, files []protocol.File) ([]string, error) {
	paths, err := c.uploads.Store(files)
	switch {
	case err == nil:
		return paths, nil
	case c.life.Err() != nil:
		return nil, context.Cause(c.life)
	case c.host.conn.Err() != nil:
		return nil, failure.Lost(c.host.conn.Err())
	}
	if refused := (*protocol.Error)(nil); errors.As(err, &refused) {
		return nil, refused
	}
	return nil, fmt.Errorf("storing uploads: %w", err)
}
