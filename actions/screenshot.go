package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
)

// ScreenshotParams are the parameters of screenshot.
type ScreenshotParams struct {
	Ref      string  `json:"ref" doc:"one element; left out: what is in view"`
	FullPage bool    `json:"full_page" default:"false" doc:"the whole page"`
	Format   string  `json:"format" default:"png" enum:"png,jpeg,webp" doc:"of the image"`
	Quality  int     `json:"quality" default:"80" min:"1" max:"100" doc:"of jpeg and webp"`
	Scale    float64 `json:"scale" default:"1" min:"0.05" max:"4" doc:"pixels for one CSS pixel"`
}

// ScreenshotResult is the answer of screenshot.
type ScreenshotResult struct {
	Result
	Image  []byte `json:"image"` // base64
	Format string `json:"format"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

func screenshot(ctx context.Context, c *Call, p *ScreenshotParams) (ScreenshotResult, error) {
	page, err := c.live(ctx)
	if err != nil {
		return ScreenshotResult{}, err
	}
	pic, err := page.Screenshot(ctx, c.Session.Refs(), protocol.Screenshot{
		Ref: p.Ref, FullPage: p.FullPage, Format: p.Format, Quality: p.Quality, Scale: p.Scale,
	})
	if err != nil {
		return ScreenshotResult{}, c.Session.Lost(err)
	}
	return ScreenshotResult{c.result(page), pic.Image, p.Format, pic.Width, pic.Height}, nil
}
