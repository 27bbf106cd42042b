package actions

import (
	"context"

	"github.com/browserd/browserd/policy"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// Open is the command open.
var Open = command.Define(command.Row{
	Name: "open", Summary: "Opens a URL and shows the page.", Next: "Then act on its refs.", Main: "url",
	Flags: command.BeginsSession | command.Acts | command.Static | command.ReadOnly | command.Unconfirmed | command.MCPDefault | command.MCPNonDestructive,
	Examples: []command.Example{
		{For: "Opens a page and shows it", Params: `{"url": "https://shop.example/"}`},
		{For: "Opens a page without showing it, and waits until it loads nothing more", Params: `{"url": "https://shop.example/", "wait_until": "networkidle", "snapshot": "none"}`},
	},
}, open)

// OpenParams are the parameters of open.
type OpenParams struct {
	URL       string `json:"url" required:"true" doc:"the whole address, http: or https:, or about:blank"`
	WaitUntil string `json:"wait_until" seldom:"true" default:"auto" enum:"auto,none,domcontentloaded,load,networkidle" doc:"how far the page must be; auto: its content is there and it is quiet"`
	Source    string `json:"source" seldom:"true" default:"auto" enum:"auto,chromium,http,jina" doc:"who serves the page"`
	Snapshot  string `json:"snapshot" seldom:"true" default:"full" enum:"delta,full,none" doc:"what is shown afterwards"`
}

func open(ctx context.Context, c *command.Call, p *OpenParams) (command.Result, error) {
	url, err := c.CheckURL(ctx, p.URL)
	if err != nil {
		return command.Result{}, err
	}
	if err := c.Session.Opening(ctx, policy.Origin(url)); err != nil {
		return command.Result{}, c.Session.DescribeLoss(err)
	}
	page, source, err := c.Session.PageForOpen(ctx, p.Source)
	if err != nil {
		return command.Result{}, c.Session.DescribeLoss(err)
	}
	var effect protocol.Effect
	if chain, ok := page.(session.SourceChain); ok {
		effect, err = chain.OpenFrom(ctx, source, url)
	} else {
		effect, err = page.Open(ctx, url, p.WaitUntil)
	}
	if err == nil {
		c.Session.Opened(url)
	}
	return c.Navigated(ctx, page, effect, err, p.Snapshot)
}
