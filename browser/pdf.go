package browser

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/protocol"
)

// PDF prints the page (Page.printToPDF).
func (c *Context) PDF(ctx context.Context, o protocol.PDF) ([]byte, error) {
	t, err := c.ready(ctx, "")
	if err != nil {
		return nil, err
	}
	params := page.PrintToPDFParams{Landscape: &o.Landscape, PrintBackground: &o.PrintBackground, PageRanges: o.PageRanges,
		Scale: o.Scale, PaperWidth: o.PaperWidth, PaperHeight: o.PaperHeight}
	var got struct {
		Data string `json:"data"`
	}
	err = t.wait(ctx, t.cdp.Send(page.PrintToPDF.Method, params), &got)
	if e := (*cdp.Error)(nil); errors.As(err, &e) && e.Message == "Printing failed" {
		// A process that draws a part of the page has died. Where it was the page's
		// own, the event that says so is on its way.
		select {
		case <-t.life.Done():
			return nil, context.Cause(t.life)
		case <-ctx.Done():
		case <-time.After(2 * crashWait):
		}
		err = t.wait(ctx, t.cdp.Send(page.PrintToPDF.Method, params), &got)
	}
	if err != nil {
		t.recovery.Notice(ctx, err)
		return nil, failure.PDF(err, o)
	}
	return base64.StdEncoding.DecodeString(got.Data)
}
