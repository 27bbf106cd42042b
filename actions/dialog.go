package actions

import (
	"context"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"

	"github.com/browserd/browserd/actions/command"
)

// Dialog is the command dialog.
var Dialog = command.Define(command.Row{
	Name: "dialog", Summary: "Answers the open JavaScript dialog.", Main: "accept",
	Flags: command.Unqueued | command.Acts | command.Unconfirmed | command.MCPDefault,
	Examples: []command.Example{
		{For: "Answers OK", Params: `{"accept": true}`},
	},
	At: func(any) protocol.Spot { return protocol.Spot{Dialog: true} },
}, dialog)

// DialogParams are the parameters of dialog.
type DialogParams struct {
	Accept bool   `json:"accept" required:"true" doc:"OK, or Cancel"`
	Text   string `json:"text" doc:"the answer to a prompt"`
	command.Shows
}

// DialogResult is the answer of dialog.
type DialogResult struct {
	command.Result
	Dialog protocol.Dialog `json:"dialog"`
}

// showWait is how long the page may take to be shown afterwards.
const showWait = 2 * time.Second

// dialog answers at once, also while another command of the session waits or hangs.
// Where none does, the page is followed for a moment, and what has changed is shown.
func dialog(ctx context.Context, c *command.Call, p *DialogParams) (DialogResult, error) {
	page := c.Session.Page()
	dialogs, ok := page.(session.Dialogs)
	if !ok {
		return DialogResult{}, protocol.Errorf(protocol.NotActionable, "no dialog is open").With("reason", "detached")
	}
	var refs *snapshot.Refs
	if turn := c.Session.TakeIdle(); turn != nil {
		defer turn.End()
		refs = c.Session.Refs()
	}
	d, effect, settled, err := dialogs.Dialog(ctx, refs, protocol.DialogAnswer{Accept: p.Accept, Text: p.Text, Unshown: p.Snapshot == "none"})
	if err != nil {
		return DialogResult{}, err
	}
	if settled {
		limited, cancel := context.WithTimeout(ctx, showWait)
		defer cancel()
		if r, err := c.Acted(limited, page, effect, nil, p.Shows); err == nil {
			return DialogResult{r, d}, nil
		}
	}
	return DialogResult{command.Result{Session: c.Session.Name(), Page: command.ReportState(c, page), Effect: &effect}, d}, nil
}
