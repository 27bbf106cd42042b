package actions

import (
	"context"

	"github.com/browserd/browserd/recording"

	"github.com/browserd/browserd/actions/command"
)

// Video is the command video.
var Video = command.Define(command.Row{
	Name: "video", Summary: "Records what the session's pages show as a video with a chapter for each command.", Main: "action",
	Flags:  command.Unqueued | command.BeginsSession | command.ReadOnly | command.Unconfirmed | command.Unaudited | command.MCPNonDestructive | command.WritesFile,
	Queues: func(any) bool { return true },
	Examples: []command.Example{
		{For: "Films the selected tab from now on", Params: `{"action": "start"}`},
	},
}, func(ctx context.Context, c *command.Call, p *VideoParams) (RecordingResult, error) {
	return recordingDoes(ctx, c, recording.Video, p.Action)
})

// VideoParams are the parameters of video.
type VideoParams struct {
	Action string `json:"action" required:"true" enum:"start,stop" doc:"start, or stop: then recordings reads it by its name"`
}
