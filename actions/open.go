package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"
)

// OpenParams are the parameters of open.
type OpenParams struct {
	URL       string `json:"url" required:"true" doc:"the whole address, http: or https:, or about:blank"`
	WaitUntil string `json:"wait_until" default:"auto" enum:"auto,none,domcontentloaded,load,networkidle" doc:"how far the page must be; auto: its content is there and it is quiet"`
	Source    string `json:"source" default:"auto" enum:"auto,chromium,http,jina" doc:"who serves the page"`
	Snapshot  string `json:"snapshot" default:"full" enum:"delta,full,none" doc:"what is shown afterwards"`
}

func open(ctx context.Context, c *Call, p *OpenParams) (Result, error) {
	url, err := c.checkURL(ctx, p.URL)
	if err != nil {
		return Result{}, err
	}
	page, source, err := c.Session.For(ctx, p.Source)
	if err != nil {
		return Result{}, c.Session.Lost(err)
	}
	var effect protocol.Effect
	if ladder, ok := page.(session.SourceChain); ok {
		effect, err = ladder.OpenFrom(ctx, source, url)
	} else {
		effect, err = page.Open(ctx, url, p.WaitUntil)
	}
	if err == nil {
		c.Session.Opened(url)
	}
	return c.navigated(ctx, page, effect, err, p.Snapshot)
}

// navigated completes the answer of a command that loads a document: its
// snapshot, and an effect only where there is more to say than that.
func (c *Call) navigated(ctx context.Context, page session.Page, e protocol.Effect, err error, show string) (Result, error) {
	if err != nil {
		return Result{}, c.Session.Lost(err)
	}
	if show != "none" && (e.Dialog == nil || e.Dialog.Answer != "open") {
		var snap snapshot.Snapshot
		if snap, err = c.Session.Snapshot(ctx, page, snapshot.DefaultOptions()); err == nil {
			return Result{Session: c.Session.Name(), Page: c.Session.State(page), Effect: &e, Snapshot: &snap, Attempts: attempts(page, e)}, nil
		}
	}
	// The page is open; a dialog that holds it now is told by the next command.
	if err != nil && protocol.CodeOf(err) != protocol.DialogOpen {
		return Result{}, c.Session.Lost(err)
	}
	return Result{Session: c.Session.Name(), Page: c.Session.State(page), Effect: &e, Attempts: attempts(page, e)}, nil
}
