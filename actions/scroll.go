package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// ScrollParams are the parameters of scroll.
type ScrollParams struct {
	Ref       string `json:"ref" doc:"the element to bring into view, or whose scroller to scroll; left out: the page"`
	Direction string `json:"direction" enum:",up,down,left,right" doc:"which way"`
	Pixels    int    `json:"pixels" min:"0" doc:"how far; left out: nine tenths of what is in view"`
	To        string `json:"to" enum:",top,bottom" doc:"an end of the scroller"`
	Shows
}

// ScrollResult is the answer of scroll.
type ScrollResult struct {
	Result
	Position protocol.Position `json:"position"`
}

func scroll(ctx context.Context, c *Call, p *ScrollParams) (ScrollResult, error) {
	page, err := c.live(ctx)
	if err != nil {
		return ScrollResult{}, err
	}
	done, err := page.Act(ctx, c.Session.Refs(), p.act(protocol.Scroll{Ref: p.Ref, Direction: p.Direction, Pixels: p.Pixels, To: p.To}))
	r, err := c.acted(ctx, page, done.Effect, err, p.Shows)
	return ScrollResult{r, done.Position}, err
}
