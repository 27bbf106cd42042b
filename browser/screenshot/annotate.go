package screenshot

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
	"slices"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// colours are the colours of the frames and labels, used in turn, so that neighbours
// differ. White text is legible on all of them.
var colours = []color.RGBA{
	{0xc6, 0x28, 0x28, 0xff}, {0x15, 0x65, 0xc0, 0xff}, {0x2e, 0x7d, 0x32, 0xff},
	{0x6a, 0x1b, 0x9a, 0xff}, {0xb4, 0x53, 0x09, 0xff}, {0x00, 0x69, 0x6b, 0xff},
}

// Of a label: the size of a letter of the face, and of what is around it.
const (
	letterWidth = 8
	labelHeight = 16
	labelMargin = 2
	frameWidth  = 2
)

// annotate draws a frame around each box of a picture, in its pixels, with the
// ref beside it, and encodes it again. Nothing is drawn in the page. It
// returns the boxes that it drew, cut off at the picture's edges.
func annotate(picture []byte, format string, quality int, boxes map[string]script.Box) (protocol.Picture, error) {
	from, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		return protocol.Picture{}, err
	}
	on := image.NewRGBA(image.Rect(0, 0, from.Bounds().Dx(), from.Bounds().Dy()))
	draw.Draw(on, on.Bounds(), from, from.Bounds().Min, draw.Src)

	drawn := make([]protocol.Marked, 0, len(boxes))
	var areas []image.Rectangle
	for ref, b := range boxes {
		area := image.Rect(int(math.Floor(b[0])), int(math.Floor(b[1])), int(math.Ceil(b[0]+b[2])), int(math.Ceil(b[1]+b[3]))).Intersect(on.Bounds())
		if !area.Empty() {
			drawn = append(drawn, protocol.Marked{Ref: ref, Box: [4]int{area.Min.X, area.Min.Y, area.Dx(), area.Dy()}})
		}
	}
	slices.SortFunc(drawn, func(a, b protocol.Marked) int {
		return cmp.Or(cmp.Compare(len(a.Ref), len(b.Ref)), cmp.Compare(a.Ref, b.Ref))
	})
	for _, m := range drawn {
		areas = append(areas, image.Rect(m.Box[0], m.Box[1], m.Box[0]+m.Box[2], m.Box[1]+m.Box[3]))
	}
	for i, a := range areas {
		outline(on, a, colours[i%len(colours)])
	}
	var labels []image.Rectangle
	for i, m := range drawn {
		text := strings.TrimPrefix(m.Ref, "@")
		at := placeLabel(on.Bounds(), areas, i, len(text)*letterWidth+2*labelMargin, labels)
		labels = append(labels, at)
		draw.Draw(on, at, image.NewUniform(colours[i%len(colours)]), image.Point{}, draw.Src)
		d := font.Drawer{Dst: on, Src: image.White, Face: inconsolata.Bold8x16, Dot: fixed.P(at.Min.X+labelMargin, at.Min.Y+13)}
		d.DrawString(text)
	}

	var out bytes.Buffer
	if format == "jpeg" {
		err = jpeg.Encode(&out, on, &jpeg.Options{Quality: quality})
	} else {
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, on)
	}
	return protocol.Picture{Image: out.Bytes(), Width: on.Bounds().Dx(), Height: on.Bounds().Dy(), Refs: drawn}, err
}

// outline draws the frame of an area, inside of it.
func outline(on *image.RGBA, a image.Rectangle, colour color.RGBA) {
	with := image.NewUniform(colour)
	w := min(frameWidth, a.Dx(), a.Dy())
	for _, side := range []image.Rectangle{
		{a.Min, image.Pt(a.Max.X, a.Min.Y+w)}, {image.Pt(a.Min.X, a.Max.Y-w), a.Max},
		{a.Min, image.Pt(a.Min.X+w, a.Max.Y)}, {image.Pt(a.Max.X-w, a.Min.Y), a.Max},
	} {
		draw.Draw(on, side, with, image.Point{}, draw.Src)
	}
}

// placeLabel finds where the label of area i goes: at the area, where it hides the
// least of other labels, of small areas, and of its own.
func placeLabel(bounds image.Rectangle, areas []image.Rectangle, i, width int, labels []image.Rectangle) image.Rectangle {
	a := areas[i]
	var best image.Rectangle
	least := math.MaxInt
	for n, at := range []image.Point{
		{a.Min.X, a.Min.Y - labelHeight}, {a.Min.X - width, a.Min.Y}, {a.Max.X - width, a.Min.Y - labelHeight}, {a.Max.X, a.Min.Y},
		{a.Min.X, a.Max.Y}, {a.Min.X, a.Min.Y}, {a.Max.X - width, a.Min.Y}, {a.Max.X - width, a.Max.Y - labelHeight},
	} {
		r := image.Rectangle{at, at.Add(image.Pt(width, labelHeight))}
		if !r.In(bounds) {
			// An area at the edge of the picture has its label on it.
			r = r.Add(image.Pt(max(bounds.Min.X-r.Min.X, 0)-max(r.Max.X-bounds.Max.X, 0), max(bounds.Min.Y-r.Min.Y, 0)-max(r.Max.Y-bounds.Max.Y, 0)))
		}
		hides := n
		for _, l := range labels {
			hides += 20 * size(r.Intersect(l))
		}
		for j, other := range areas {
			switch {
			case j == i:
				hides += size(r.Intersect(other))
			case size(other) < 40_000:
				hides += 2 * size(r.Intersect(other))
			}
		}
		if hides < least {
			best, least = r, hides
		}
	}
	return best
}

func size(r image.Rectangle) int { return r.Dx() * r.Dy() }
