package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// InitScript is the command init_script.
var InitScript = command.Define(command.Row{
	Name: "init_script", Summary: "Runs JavaScript in every document that the session's pages load from now on, before the page's own.", Main: "script",
	Flags:   command.SessionWide,
	Implied: []command.Implied{{Parameter: "script", As: Eval}},
	Examples: []command.Example{
		{For: "Gives pages a fixed random number", Params: `{"script": "Math.random = () => 0.5"}`},
	},
}, initScript)

// InitScriptParams are the parameters of init_script.
type InitScriptParams struct {
	Script string `json:"script" code:"true" required:"true" doc:"JavaScript; it runs in frames too, and not in the document that is open or in workers"`
}

// Limits of what a session's documents begin with.
const (
	maxInitScripts     = 20
	maxInitScriptBytes = 1 << 20 // of one
)

func initScript(ctx context.Context, c *command.Call, p *InitScriptParams) (command.Result, error) {
	page, device, err := command.Live[session.Device](ctx, c)
	if err != nil {
		return command.Result{}, err
	}
	switch n := c.Session.InitScripts(); {
	case n >= maxInitScripts:
		return command.Result{}, protocol.Errorf(protocol.TooLarge, "script: the session has %d init scripts already", n).
			With("limit", maxInitScripts).With("size", n+1).Then("put what is left into fewer scripts, in a new session")
	case len(p.Script) > maxInitScriptBytes:
		return command.Result{}, protocol.Errorf(protocol.TooLarge, "script: it has more than %d bytes", maxInitScriptBytes).
			With("limit", maxInitScriptBytes).With("size", len(p.Script))
	}
	e := protocol.Emulation{InitScripts: []string{p.Script}}
	if err := device.Emulate(ctx, e); err != nil {
		return command.Result{}, c.Session.DescribeLoss(err)
	}
	c.Session.RecordEmulation(e)
	return c.Result(page), nil
}
