package person

import (
	"bytes"
	"image"
	"image/jpeg"

	"golang.org/x/image/draw"
)

// Carded returns a frame as a card shows it: itself, or, where somebody watches the tab in a larger size, a smaller
// picture of the same. nil: its picture cannot be read.
func Carded(f *Frame) *Frame {
	is, err := jpeg.DecodeConfig(bytes.NewReader(f.JPEG))
	width, height := int64(is.Width), int64(is.Height)
	switch {
	case err != nil || width > Whole.Width || height > Whole.Height:
		return nil
	case width <= Card.Width && height <= Card.Height:
		return f
	}
	from, err := jpeg.Decode(bytes.NewReader(f.JPEG))
	if err != nil {
		return nil
	}
	to := image.Rect(0, 0, int(Card.Width), int(max(1, height*Card.Width/width)))
	if height*Card.Width > width*Card.Height {
		to = image.Rect(0, 0, int(max(1, width*Card.Height/height)), int(Card.Height))
	}
	small := image.NewRGBA(to)
	draw.ApproxBiLinear.Scale(small, to, from, from.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	for _, quality := range Card.qualities() {
		out.Reset()
		if jpeg.Encode(&out, small, &jpeg.Options{Quality: int(quality)}) != nil {
			return nil
		}
		if out.Len() <= cardBytes {
			break
		}
	}
	return &Frame{JPEG: out.Bytes(), Width: f.Width, Height: f.Height, Number: f.Number}
}
