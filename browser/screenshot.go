package browser

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	_ "image/jpeg" // the sizes of what Chromium returns
	"image/png"

	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// maxPixels bounds a picture, so that a page of endless height cannot take
// all memory.
const maxPixels = 64 << 20

// Screenshot pictures the viewport, an element, or the whole page
// (Page.captureScreenshot). Errors: those of a ref, too_large.
func (c *Context) Screenshot(ctx context.Context, refs *snapshot.Refs, o protocol.Screenshot) (protocol.Picture, error) {
	t, err := c.ready(ctx)
	if err != nil {
		return protocol.Picture{}, err
	}
	pic, err := c.screenshot(ctx, t, refs, o)
	if err != nil {
		t.recovery.notice(ctx, err)
	}
	return pic, err
}

func (c *Context) screenshot(ctx context.Context, t *tab, refs *snapshot.Refs, o protocol.Screenshot) (protocol.Picture, error) {
	if o.Scale == 0 {
		o.Scale = 1
	}
	drawn := o.Annotate != nil
	if drawn && o.Format == "webp" {
		return protocol.Picture{}, protocol.Errorf(protocol.InvalidParams, "format webp: refs are drawn on png and jpeg").With("parameter", "format")
	}
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormat(o.Format), OptimizeForSpeed: ptr(true)}
	if o.Format == "" || drawn {
		params.Format = "png"
	}
	if o.Quality == 0 {
		o.Quality = 80
	}
	if params.Format != "png" {
		params.Quality = ptr(int64(o.Quality))
	}
	var layout struct {
		CSSVisualViewport struct {
			PageX        float64 `json:"pageX"`
			PageY        float64 `json:"pageY"`
			ClientWidth  float64 `json:"clientWidth"`
			ClientHeight float64 `json:"clientHeight"`
		} `json:"cssVisualViewport"`
		CSSContentSize struct {
			Width  float64 `json:"width"`
			Height float64 `json:"height"`
		} `json:"cssContentSize"`
	}
	// What is pictured has to be known for a part of the page, and the size for a
	// format whose header is not read here.
	if o.Ref != "" || o.FullPage || o.Scale != 1 || o.Format == "webp" || drawn {
		if err := t.wait(ctx, t.cdp.Send("Page.getLayoutMetrics", struct{}{}), &layout); err != nil {
			return protocol.Picture{}, err
		}
	}
	v := layout.CSSVisualViewport
	clip := page.Viewport{X: v.PageX, Y: v.PageY, Width: v.ClientWidth, Height: v.ClientHeight, Scale: o.Scale}
	switch {
	case o.Ref != "":
		box, err := c.boxOf(ctx, refs, o.Ref)
		if err != nil {
			return protocol.Picture{}, err
		}
		// The element was scrolled into view: where the page is now counts.
		if err := t.wait(ctx, t.cdp.Send("Page.getLayoutMetrics", struct{}{}), &layout); err != nil {
			return protocol.Picture{}, err
		}
		v = layout.CSSVisualViewport
		clip.X, clip.Y, clip.Width, clip.Height = box[0]+v.PageX, box[1]+v.PageY, box[2], box[3]
		params.Clip = &clip
	case o.FullPage:
		s := layout.CSSContentSize
		clip.X, clip.Y, clip.Width, clip.Height = 0, 0, s.Width, s.Height
		params.Clip = &clip
	case o.Scale != 1:
		params.Clip = &clip
	}
	if params.Clip != nil {
		params.CaptureBeyondViewport = ptr(true)
		if pixels := clip.Width * clip.Height * clip.Scale * clip.Scale; pixels > maxPixels {
			return protocol.Picture{}, protocol.Errorf(protocol.TooLarge, "the picture would have %.0f million pixels", pixels/1e6).
				With("limit", maxPixels).With("size", int(pixels)).Then("picture the viewport or an element, or use a smaller scale")
		}
	}
	var at map[string]box
	if drawn {
		var err error
		if at, err = seenAt(ctx, t, refs, o.Annotate, params.Clip == nil || o.Scale != 1 && !o.FullPage && o.Ref == ""); err != nil {
			return protocol.Picture{}, err
		}
	}
	var got struct {
		Data string `json:"data"`
	}
	if err := t.wait(ctx, t.cdp.Send(page.CaptureScreenshot.Method, params), &got); err != nil {
		return protocol.Picture{}, misfit(err)
	}
	data, err := base64.StdEncoding.DecodeString(got.Data)
	if err != nil {
		return protocol.Picture{}, err
	}
	if drawn {
		return annotated(data, o, at, v.PageX-clip.X, v.PageY-clip.Y, clip.Width)
	}
	pic := protocol.Picture{Image: data}
	if i, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		pic.Width, pic.Height = i.Width, i.Height
	} else {
		pic.Width, pic.Height = int(clip.Width*clip.Scale), int(clip.Height*clip.Scale)
	}
	return pic, nil
}

// annotated draws boxes of the viewport on a picture of the page that begins
// dx and dy before it and is width wide, in CSS pixels.
func annotated(data []byte, o protocol.Screenshot, at map[string]box, dx, dy, width float64) (protocol.Picture, error) {
	i, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || width <= 0 {
		return protocol.Picture{}, errors.Join(errors.New("a picture without a size"), err)
	}
	factor := float64(i.Width) / width
	for ref, b := range at {
		at[ref] = box{(b[0] + dx) * factor, (b[1] + dy) * factor, b[2] * factor, b[3] * factor}
	}
	return annotate(data, o.Format, o.Quality, at)
}

// boxOf brings a ref's element into view and returns its box in the tab's
// viewport: x, y, width, height in CSS pixels.
func (c *Context) boxOf(ctx context.Context, refs *snapshot.Refs, ref string) ([4]float64, error) {
	var box [4]float64
	e, d, err := c.resolve(refs, ref)
	if err != nil {
		return box, err
	}
	object, err := d.objectID(ctx, e.Key.Node)
	if err != nil {
		return box, err
	}
	d.cdp.Send("DOM.scrollIntoViewIfNeeded", map[string]any{"objectId": object})
	var quads struct {
		Quads [][8]float64 `json:"quads"`
	}
	if err := d.frame.tab.wait(ctx, d.cdp.Send("DOM.getContentQuads", map[string]any{"objectId": object}), &quads); err != nil || len(quads.Quads) == 0 {
		return box, protocol.Errorf(protocol.NotActionable, "%s has no box on the page", e.Ref()).With("reason", "hidden")
	}
	x0, y0, x1, y1 := quads.Quads[0][0], quads.Quads[0][1], quads.Quads[0][0], quads.Quads[0][1]
	for _, q := range quads.Quads {
		for i := 0; i < 8; i += 2 {
			x0, x1, y0, y1 = min(x0, q[i]), max(x1, q[i]), min(y0, q[i+1]), max(y1, q[i+1])
		}
	}
	dx, dy, err := d.frame.tab.cornerOf(ctx, d.frame)
	if err != nil {
		return box, err
	}
	x0, x1, y0, y1 = x0+dx, x1+dx, y0+dy, y1+dy
	return [4]float64{x0, y0, max(x1-x0, 1), max(y1-y0, 1)}, nil
}

// cornerOf is where the corner of the target that a frame lives in stands in
// the tab's viewport: an out-of-process frame counts from its own.
func (t *tab) cornerOf(ctx context.Context, f *frame) (x, y float64, err error) {
	for f.cdp.ID() != t.cdp.ID() {
		owner, parent := t.ownerAt(ctx, f)
		if parent == nil {
			return 0, 0, errDocumentGone()
		}
		if parent.cdp.ID() != f.cdp.ID() {
			object, err := parent.objectID(ctx, owner.Node)
			if err != nil {
				return 0, 0, err
			}
			var box struct {
				Model struct {
					Content [8]float64 `json:"content"`
				} `json:"model"`
			}
			if err := t.wait(ctx, parent.cdp.Send("DOM.getBoxModel", map[string]any{"objectId": object}), &box); err != nil {
				return 0, 0, err
			}
			x, y = x+box.Model.Content[0], y+box.Model.Content[1]
		}
		f = parent.frame
	}
	return x, y, nil
}

// refusal is what Chromium says where it refuses a parameter; empty for other
// errors.
func refusal(err error) string {
	var e *cdp.Error
	if errors.As(err, &e) && (e.Code == -32602 || e.Code == -32000) {
		return e.Message
	}
	return ""
}

// misfit gives Chromium's refusal of a parameter the code that fits it.
func misfit(err error) error {
	var e *cdp.Error
	if errors.As(err, &e) && e.Code == -32602 {
		return protocol.Errorf(protocol.InvalidParams, "Chromium refuses that: %s", e.Message)
	}
	return err
}
