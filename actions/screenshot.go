package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/snapshot"

	"github.com/browserd/browserd/actions/command"
)

// Screenshot is the command screenshot.
var Screenshot = command.Define(command.Row{
	Name: "screenshot", Summary: "Takes a screenshot of the viewport, of an element, or of the whole page.", Next: "For what the text does not tell.", Main: "ref",
	Flags: command.Reads | command.WritesFile | command.MCPDefault | command.MCPCode | command.Inspects,
	Examples: []command.Example{
		{For: "Takes a screenshot of the viewport with the refs drawn on it", Params: `{"annotate": true}`},
		{For: "Takes a screenshot of one element", Params: `{"ref": "@e13"}`},
	},
}, screenshot)

// ScreenshotParams are the parameters of screenshot.
type ScreenshotParams struct {
	Ref      protocol.Target `json:"ref" doc:"one element; left out: what is in view"`
	FullPage bool            `json:"full_page" default:"false" doc:"the whole page"`
	Annotate bool            `json:"annotate" default:"false" doc:"draw the refs of your last snapshot on it, or of a new one, which then comes with it"`
	Format   string          `json:"format" seldom:"true" default:"png" enum:"png,jpeg,webp" doc:"of the image"`
	Quality  int             `json:"quality" seldom:"true" default:"80" min:"1" max:"100" doc:"of jpeg and webp"`
	Scale    float64         `json:"scale" seldom:"true" default:"1" min:"0.05" max:"4" doc:"pixels for one CSS pixel"`
}

// ScreenshotResult is the answer of screenshot.
type ScreenshotResult struct {
	command.Result
	Image  []byte `json:"image"` // base64
	Format string `json:"format"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	// Refs are those that were drawn, with their boxes in the image's pixels.
	Refs []protocol.Marked `json:"refs,omitempty"`
}

func screenshot(ctx context.Context, c *command.Call, p *ScreenshotParams) (ScreenshotResult, error) {
	page, renderer, err := command.Live[session.Renderer](ctx, c)
	if err != nil {
		return ScreenshotResult{}, err
	}
	shot := protocol.Screenshot{Ref: string(p.Ref), FullPage: p.FullPage, Format: p.Format, Quality: p.Quality, Scale: p.Scale}
	var snap *snapshot.Snapshot
	view := command.View(c)
	restore := view.Preserve()
	if p.Annotate {
		var shown bool
		if shot.Annotate, shown = view.ShownRefs(page); !shown {
			taken, err := view.Snapshot(ctx, page, snapshot.DefaultOptions())
			if err != nil {
				return ScreenshotResult{}, c.Session.DescribeLoss(err)
			}
			snap = &taken
			shot.Annotate, _ = view.ShownRefs(page)
		}
		shot.Annotate = append([]string{}, shot.Annotate...) // not nil: a page without refs has none drawn
	}
	pic, err := renderer.Screenshot(ctx, c.Session.Refs(), shot)
	if err != nil {
		restore() // the snapshot is sent with the picture only
		return ScreenshotResult{}, c.Session.DescribeLoss(err)
	}
	if err := command.CheckPicture(ctx, c, page); err != nil {
		restore()
		return ScreenshotResult{}, err
	}
	r := c.Result(page)
	r.Snapshot = snap
	return ScreenshotResult{r, pic.Image, p.Format, pic.Width, pic.Height, pic.Refs}, nil
}
