package actions

import (
	"context"

	"github.com/browserd/browserd/actions/command"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/session"
)

// PDF is the command pdf.
var PDF = command.Define(command.Row{
	Name: "pdf", Summary: "Prints the page to PDF.", Main: "options",
	Flags: command.WritesFile | command.Inspects,
	Examples: []command.Example{
		{For: "Prints the page on A4 in landscape", Params: `{"options": {"landscape": true, "paper_width": 8.27, "paper_height": 11.69}}`},
	},
}, printPDF)

// PDFParams are the parameters of pdf.
type PDFParams struct {
	Options protocol.PDF `json:"options" doc:"landscape, print_background, scale, paper_width, paper_height, page_ranges"`
}

// PDFResult is the answer of pdf.
type PDFResult struct {
	command.Result
	PDF []byte `json:"pdf"` // base64
}

func printPDF(ctx context.Context, c *command.Call, p *PDFParams) (PDFResult, error) {
	page, renderer, err := command.Live[session.Renderer](ctx, c)
	if err != nil {
		return PDFResult{}, err
	}
	data, err := renderer.PDF(ctx, p.Options)
	if err != nil {
		return PDFResult{}, c.Session.DescribeLoss(err)
	}
	if err := command.CheckPicture(ctx, c, page); err != nil {
		return PDFResult{}, err
	}
	return PDFResult{c.Result(page), data}, nil
}
