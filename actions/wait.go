package actions

import (
	"context"
	"errors"
	"time"

	"github.com/browserd/browserd/protocol"
)

// WaitParams are the parameters of wait; where several are given all must hold.
type WaitParams struct {
	Ref        string `json:"ref" doc:"the element is there and visible; with gone: is not"`
	Text       string `json:"text" doc:"the page shows it; with gone: does not"`
	Gone       bool   `json:"gone" default:"false" doc:"wait for ref or text to go"`
	URL        string `json:"url" doc:"contained in the URL, or a pattern with *"`
	State      string `json:"state" enum:",load,networkidle" doc:"how far the page is"`
	Expression string `json:"expression" doc:"JavaScript that becomes true"`
	MS         *int   `json:"ms" min:"0" max:"120000" doc:"milliseconds to wait"`
}

// WaitResult is the answer of wait.
type WaitResult struct {
	Result
	Seen map[string]any `json:"seen"`
}

func wait(ctx context.Context, c *Call, p *WaitParams) (WaitResult, error) {
	q := protocol.Wait{Ref: p.Ref, Text: p.Text, Gone: p.Gone, URL: p.URL, State: p.State, Expression: p.Expression}
	none := q == protocol.Wait{Gone: p.Gone}
	if none && p.MS == nil {
		return WaitResult{}, protocol.Errorf(protocol.InvalidParams, "wait needs one of ref, text, url, state, expression and ms").With("parameter", "text")
	}
	page, err := c.page(ctx)
	if err != nil {
		return WaitResult{}, err
	}
	seen := map[string]any{}
	if p.MS != nil {
		pause := time.NewTimer(time.Duration(*p.MS) * time.Millisecond)
		defer pause.Stop()
		select {
		case <-pause.C:
			seen["ms"] = *p.MS
		case <-page.Done():
			return WaitResult{}, c.Session.Lost(protocol.Errorf(protocol.BrowserLost, "Chromium died while the command ran"))
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, errTimeout) {
				return WaitResult{}, err
			}
			return WaitResult{}, protocol.Errorf(protocol.Timeout, "the time of the command was over before %d ms had passed", *p.MS).
				With("waited_for", map[string]any{"ms": *p.MS}).Then("give it a timeout_ms that is longer")
		}
	}
	if !none {
		found, err := page.Wait(ctx, c.Session.Refs(), q)
		if err != nil {
			return WaitResult{}, c.Session.Lost(err)
		}
		for k, v := range found {
			seen[k] = v
		}
	}
	return WaitResult{c.result(page), seen}, nil
}
