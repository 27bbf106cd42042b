package screenshot

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	_ "image/jpeg" // the sizes of what Chromium returns
	"image/png"

	"github.com/chromedp/cdproto/page"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// The pixels that a picture may have. Chromium encodes it on the thread that serves all
// sessions: 0.02 s for a million pixels as PNG or JPEG, 0.08 s as WebP, where 64 million
// had Chromium say nothing for 10 s. What refs are drawn on takes browserd's own memory,
// twice four bytes for a pixel.
const (
	maxPixels    = 32 << 20
	maxWebP      = 8 << 20
	maxAnnotated = 16 << 20
)

// maxSide is the most pixels in a row or column that a format can hold; Chromium answers
// with an empty picture where there are more.
var maxSide = map[page.CaptureScreenshotFormat]float64{"jpeg": 65535, "webp": 16383}

// Shot is one screenshot that is being taken.
type Shot struct {
	Params page.CaptureScreenshotParams

	o            protocol.Screenshot // with the defaults in the place of zeros
	clip         page.Viewport       // the part of the page that is shown
	pageX, pageY float64             // where the viewport stands in the page
	density      float64             // device pixels for one CSS pixel, as emulated
}

// Layout is what a shot needs of the answer of Page.getLayoutMetrics, in CSS pixels.
type Layout struct {
	Viewport struct {
		PageX        float64 `json:"pageX"`
		PageY        float64 `json:"pageY"`
		ClientWidth  float64 `json:"clientWidth"`
		ClientHeight float64 `json:"clientHeight"`
	} `json:"cssVisualViewport"`
	Content struct {
		Width  float64 `json:"width"`
		Height float64 `json:"height"`
	} `json:"cssContentSize"`
}

// New reads what is to be taken of a page that is shown with e. Errors: invalid_params,
// too_large.
func New(o protocol.Screenshot, e protocol.Emulation) (*Shot, error) {
	if o.Scale == 0 {
		o.Scale = 1
	}
	s := &Shot{o: o, density: 1}
	if e.Scale != nil {
		s.density = *e.Scale
	}
	if s.Annotated() && o.Format == "webp" {
		return nil, protocol.Errorf(protocol.InvalidParams, "format webp: refs are drawn on png and jpeg").With("parameter", "format")
	}
	fast := true
	s.Params = page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormat(o.Format), OptimizeForSpeed: &fast}
	if o.Format == "" || s.Annotated() {
		s.Params.Format = "png"
	}
	if s.o.Quality == 0 {
		s.o.Quality = 80
	}
	if s.Params.Format != "png" {
		quality := int64(s.o.Quality)
		s.Params.Quality = &quality
	}
	if s.ViewportOnly() && e.Width != nil && e.Height != nil {
		return s, s.fits(float64(*e.Width), float64(*e.Height))
	}
	return s, nil
}

// fits refuses a part of the page, in CSS pixels, of which the picture would be too large.
func (s *Shot) fits(width, height float64) error {
	limit, density := maxPixels, s.o.Scale*s.density
	switch {
	case s.Annotated():
		limit = maxAnnotated
	case s.o.Format == "webp":
		limit = maxWebP
	}
	width, height = width*density, height*density
	e := protocol.Errorf(protocol.TooLarge, "the picture would have %.0f by %.0f pixels", width, height).
		Then("take the viewport or an element, or use a smaller scale, here or in emulate")
	if side, known := maxSide[s.Params.Format]; known && max(width, height) > side {
		return e.With("limit", int(side)).With("size", int(max(width, height)))
	}
	if width*height > float64(limit) {
		return e.With("limit", limit).With("size", int(width*height))
	}
	return nil
}

// Annotated reports whether refs are drawn on it.
func (s *Shot) Annotated() bool { return s.o.Annotate != nil }

// NeedsLayout reports whether SetLayout has to be called: for a part of the page, and for a
// format whose size is not read from its header.
func (s *Shot) NeedsLayout() bool {
	return s.o.Ref != "" || s.o.FullPage || s.o.Scale != 1 || s.o.Format == "webp" || s.Annotated()
}

// ViewportOnly reports whether the viewport is shown and nothing beyond it.
func (s *Shot) ViewportOnly() bool { return !s.o.FullPage && s.o.Ref == "" }

// SetLayout sets which part of the page is shown: that of the element's box in the
// viewport if there is one, else the viewport or the whole page. Errors: too_large.
func (s *Shot) SetLayout(l Layout, element *script.Box) error {
	v := l.Viewport
	s.pageX, s.pageY = v.PageX, v.PageY
	s.clip = page.Viewport{X: v.PageX, Y: v.PageY, Width: v.ClientWidth, Height: v.ClientHeight, Scale: s.o.Scale}
	switch {
	case element != nil:
		s.clip.X, s.clip.Y, s.clip.Width, s.clip.Height = element[0]+v.PageX, element[1]+v.PageY, element[2], element[3]
	case s.o.FullPage:
		s.clip.X, s.clip.Y, s.clip.Width, s.clip.Height = 0, 0, l.Content.Width, l.Content.Height
	case s.o.Scale == 1:
		return nil // Chromium shows the viewport by itself
	}
	beyond := true
	s.Params.Clip, s.Params.CaptureBeyondViewport = &s.clip, &beyond
	return s.fits(s.clip.Width, s.clip.Height)
}

// Picture returns what Chromium answered (base64) as the client gets it. boxes are the boxes
// of the refs to draw, in the viewport; they are changed.
func (s *Shot) Picture(encoded string, boxes map[string]script.Box) (protocol.Picture, error) {
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return protocol.Picture{}, err
	}
	if s.Annotated() {
		return s.annotated(data, boxes)
	}
	pic := protocol.Picture{Image: data}
	if i, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		pic.Width, pic.Height = i.Width, i.Height
	} else {
		pic.Width, pic.Height = int(s.clip.Width*s.clip.Scale), int(s.clip.Height*s.clip.Scale)
	}
	return pic, nil
}

// annotated takes boxes of the viewport to pixels of the picture and draws them.
func (s *Shot) annotated(data []byte, boxes map[string]script.Box) (protocol.Picture, error) {
	i, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || s.clip.Width <= 0 {
		return protocol.Picture{}, errors.Join(errors.New("a picture without a size"), err)
	}
	dx, dy := s.pageX-s.clip.X, s.pageY-s.clip.Y
	factor := float64(i.Width) / s.clip.Width
	for ref, b := range boxes {
		boxes[ref] = script.Box{(b[0] + dx) * factor, (b[1] + dy) * factor, b[2] * factor, b[3] * factor}
	}
	return annotate(data, s.o.Format, s.o.Quality, boxes)
}
