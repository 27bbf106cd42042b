package actions

import (
	"context"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// PDFParams are the parameters of pdf.
type PDFParams struct {
	Options protocol.PDF `json:"options" doc:"landscape, print_background, scale, paper_width, paper_height, page_ranges"`
}

// PDFResult is the answer of pdf.
type PDFResult struct {
	Result
	PDF []byte `json:"pdf"` // base64
}

func pdf(ctx context.Context, c *Call, p *PDFParams) (PDFResult, error) {
	page, renderer, err := live[session.Renderer](ctx, c)
	if err != nil {
		return PDFResult{}, err
	}
	data, err := renderer.PDF(ctx, p.Options)
	if err != nil {
		return PDFResult{}, c.Session.Lost(err)
	}
	return PDFResult{c.result(page), data}, nil
}
