package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/recording"

	"github.com/browserd/browserd/actions/command"
)

// Trace is the command trace.
var Trace = command.Define(command.Row{
	Name: "trace", Summary: "Records what the session does as a trace for Playwright's trace viewer.", Main: "action",
	Flags: command.Unqueued | command.BeginsSession | command.Static | command.ReadOnly | command.Unconfirmed | command.Unaudited | command.MCPNonDestructive | command.WritesFile,
	// Both wait for the commands before them.
	Queues: func(any) bool { return true },
	Examples: []command.Example{
		{For: "Records from now on: commands, pictures, requests, console", Params: `{"action": "start"}`},
	},
}, trace)

// TraceParams are the parameters of trace.
type TraceParams struct {
	Action string `json:"action" required:"true" enum:"start,stop" doc:"start, or stop: then recordings reads it by its name"`
}

// RecordingResult is the answer of trace and video.
type RecordingResult struct {
	Session string `json:"session"`
	// Recording is what is recorded, or, after stop, what can be read.
	Recording recording.Recorded `json:"recording"`
	Actions   *int               `json:"actions,omitempty"` // that it holds, after stop
}

func trace(ctx context.Context, c *command.Call, p *TraceParams) (RecordingResult, error) {
	return recordingDoes(ctx, c, recording.Trace, p.Action)
}

// recordingDoes starts or stops a recording of the call's session.
func recordingDoes(ctx context.Context, c *command.Call, kind recording.Kind, action string) (RecordingResult, error) {
	r := RecordingResult{Session: c.Session.Name()}
	recorder := c.Runtime.Sessions.Recorder(c.Session)
	if recorder == nil {
		return r, protocol.Errorf(protocol.Unsupported, "there is nowhere to keep recordings: the daemon has no state directory")
	}
	if action == "stop" {
		stopped, err := recorder.Stop(ctx, kind)
		r.Recording, r.Actions = stopped.Recorded, &stopped.Actions
		return r, err
	}
	var page any
	if is := c.Session.Page(); is != nil {
		page = is
	}
	var err error
	r.Recording, err = recorder.Start(ctx, kind, page)
	return r, err
}
