package browser

import (
	"context"
	"encoding/base64"

	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/protocol"
)

// PDF prints the page (Page.printToPDF).
func (c *Context) PDF(ctx context.Context, o protocol.PDF) ([]byte, error) {
	t, err := c.ready(ctx)
	if err != nil {
		return nil, err
	}
	params := page.PrintToPDFParams{Landscape: &o.Landscape, PrintBackground: &o.PrintBackground, PageRanges: o.PageRanges,
		Scale: o.Scale, PaperWidth: o.PaperWidth, PaperHeight: o.PaperHeight}
	var got struct {
		Data string `json:"data"`
	}
	if err := t.wait(ctx, t.cdp.Send(page.PrintToPDF.Method, params), &got); err != nil {
		t.notice(ctx, err)
		return nil, misfit(err)
	}
	return base64.StdEncoding.DecodeString(got.Data)
}
