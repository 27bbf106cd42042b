package command

import (
	"context"
	"fmt"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"
	"github.com/browserd/browserd/snapshot"
)

// record records the beginning of a command, if the session is being recorded. l is its entry in the action
// log. The func that it returns, which is never nil, records how the command ended; l must have that by then.
func record(ctx context.Context, c *Call, recorder *recording.Recorder, l *logEntry) func(shown Result) {
	if !recorder.On() {
		return func(Result) {}
	}
	a := recording.Action{Command: l.Command, Began: l.Time, Params: l.Params}
	// Only the holder of the turn may ask the page.
	a.Harmless = func() bool {
		page := c.Session.Page()
		return page != nil && !c.Command.Is(Unqueued) && CheckPicture(ctx, c, page) == nil
	}
	if l.Ref != nil {
		a.Element = fmt.Sprintf("%s [%s] %s", l.Ref.Ref, l.Ref.Role, snapshot.Quote(l.Ref.Name))
	}
	step := recorder.Begin(ctx, recordedPage(c), a)
	if step == nil {
		return func(Result) {}
	}
	return func(shown Result) {
		o := recording.Outcome{Message: l.Message}
		if l.Code != "ok" {
			o.Code = l.Code
		}
		result := map[string]any{}
		if l.Run != "" {
			result["run"], result["step"] = l.Run, l.Step
		}
		if l.Page != nil {
			o.Tab = l.Page.Tab
			result["url"], result["title"] = l.Page.URL, protocol.MaskText(l.Page.Title)
		}
		if l.Effect != nil {
			result["effect"], o.Changed = l.Effect, l.Effect.Changed
		}
		o.Result = result
		switch {
		case shown.Snapshot != nil:
			o.Text, o.TextName = shown.Snapshot.Text, "snapshot"
		case shown.Delta != nil:
			o.Text, o.TextName = shown.Delta.Text, "delta"
		}
		page := recordedPage(c)
		if p := c.Session.Page(); p != nil && o.Tab == "" {
			o.Tab = p.State().Tab
		}
		step.End(ctx, page, o)
	}
}

// recordedPage returns the session's page for the recorder: nil, not a nil Page, if there is none.
func recordedPage(c *Call) any {
	if p := c.Session.Page(); p != nil {
		return p
	}
	return nil
}
