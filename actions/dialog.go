package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// DialogParams are the parameters of dialog.
type DialogParams struct {
	Accept bool   `json:"accept" required:"true" doc:"OK, or Cancel"`
	Text   string `json:"text" doc:"the answer to a prompt"`
}

// DialogResult is the answer of dialog.
type DialogResult struct {
	Result
	Dialog protocol.Dialog `json:"dialog"`
}

func dialog(ctx context.Context, c *Call, p *DialogParams) (DialogResult, error) {
	page, ok := c.Session.Page().(session.Live)
	if !ok {
		return DialogResult{}, protocol.Errorf(protocol.NotActionable, "no dialog is open").With("reason", "detached")
	}
	d, err := page.Dialog(ctx, p.Accept, p.Text)
	if err != nil {
		return DialogResult{}, err
	}
	r := Result{Session: c.Session.Name(), Page: c.Session.State(page), Effect: &protocol.Effect{Dialog: &d}}
	return DialogResult{r, d}, nil
}
