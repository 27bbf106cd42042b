package actions

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"

	"github.com/browserd/browserd/actions/command"
)

// Wait is the command wait.
var Wait = command.Define(command.Row{
	Name: "wait", Summary: "Waits for an element, text, URL, state or expression.", Next: "Actions wait by themselves: this is for what comes later.", Main: "text",
	Flags:   command.Reads | command.Static | command.MCPDefault | command.MCPTimeout | command.URLPattern | command.ChecksScript | command.Inspects,
	Implied: []command.Implied{{Parameter: "expression", As: Eval}},
	Examples: []command.Example{
		{For: "Waits until the page shows a text", Params: `{"text": "Order"}`},
		{For: "Waits until a button is there", Params: `{"ref": {"role": "button", "name": "Send"}}`},
		{For: "Waits at most five seconds for an address", Params: `{"url": "*shop.example/*", "timeout_ms": 5000}`},
	},
}, wait)

// WaitParams are the parameters of wait; where several are given all must hold.
type WaitParams struct {
	Ref        protocol.Target `json:"ref" lazy:"true" doc:"the element is there and visible; with gone: is not"`
	Text       string          `json:"text" doc:"the page shows it; with gone: does not"`
	Gone       bool            `json:"gone" default:"false" doc:"wait for ref or text to go"`
	URL        string          `json:"url" doc:"contained in the URL, or a pattern with *"`
	State      string          `json:"state" seldom:"true" enum:",load,networkidle" doc:"how far the page is"`
	Expression string          `json:"expression" code:"true" seldom:"true" doc:"JavaScript that becomes true"`
	For        string          `json:"for" enum:",quiet" doc:"quiet: the page's requests are answered and it does not change"`
	MS         *int            `json:"ms" min:"0" max:"120000" doc:"milliseconds to wait"`
}

// WaitResult is the answer of wait.
type WaitResult struct {
	command.Result
	Seen map[string]any `json:"seen"`
}

func wait(ctx context.Context, c *command.Call, p *WaitParams) (WaitResult, error) {
	q := protocol.Wait{Ref: string(p.Ref), Text: p.Text, Gone: p.Gone, URL: p.URL, State: p.State, Expression: p.Expression, For: p.For}
	none := q == protocol.Wait{Gone: p.Gone}
	if none && p.MS == nil {
		return WaitResult{}, protocol.Errorf(protocol.InvalidParams, "wait needs one of ref, text, url, state, expression, for and ms").With("parameter", "text")
	}
	page, err := c.Page(ctx)
	if err != nil {
		return WaitResult{}, err
	}
	seen := map[string]any{}
	if p.MS != nil {
		pause := time.NewTimer(time.Duration(*p.MS) * time.Millisecond)
		defer pause.Stop()
		// What has not got its turn back by then answers for want of time.
		rested := c.Yield(ctx, func() {
			select {
			case <-pause.C:
				seen["ms"] = *p.MS
			case <-page.Done():
			case <-ctx.Done():
			}
		})
		switch {
		case rested != nil || ctx.Err() != nil && seen["ms"] == nil:
			if err := context.Cause(ctx); !errors.Is(err, command.ErrTimeout) {
				return WaitResult{}, err
			}
			return WaitResult{}, protocol.Errorf(protocol.Timeout, "the time of the command was over before %d ms had passed", *p.MS).
				With("waited_for", map[string]any{"ms": *p.MS}).Then("give it a timeout_ms that is longer")
		case seen["ms"] == nil:
			return WaitResult{}, lost(c, page, protocol.Errorf(protocol.BrowserLost, "Chromium died while the command ran"))
		}
	}
	if !none {
		found, err := page.Wait(ctx, c.Session.Refs(), q, func(origin string) error { return command.CheckScript(c, origin) }, c.Yield)
		if err != nil {
			return WaitResult{}, lost(c, page, err)
		}
		for k, v := range found {
			seen[k] = v
		}
	}
	return WaitResult{c.Result(page), seen}, nil
}

// lost completes the error of a page that was lost, where no command that ran meanwhile
// was told of it and has the next page already.
func lost(c *command.Call, page session.Page, err error) error {
	if c.Session.Page() != page {
		return err
	}
	return c.Session.DescribeLoss(err)
}
