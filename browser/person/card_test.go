package person

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"math/rand/v2"
	"testing"
)

// A frame that is larger than a card becomes one, whatever it shows and however long it is.
func TestCarded(t *testing.T) {
	for _, test := range []struct{ width, height, cardWidth, cardHeight int }{
		{640, 360, 640, 360}, {300, 200, 300, 200}, {1280, 720, 640, 360}, {1280, 1600, 288, 360}, {1280, 40, 640, 20}, {641, 1, 640, 1}, {1, 1600, 1, 360}, {1281, 720, 0, 0}, {1280, 1601, 0, 0},
	} {
		shown := image.NewRGBA(image.Rect(0, 0, test.width, test.height))
		seed := rand.New(rand.NewPCG(1, 2))
		for i := range shown.Pix { // what takes the most bytes
			shown.Pix[i] = byte(seed.Uint32())
		}
		right := image.Rect(test.width/2, 0, test.width, test.height)
		draw.Draw(shown, right, image.NewUniform(color.RGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
		var whole bytes.Buffer
		if err := jpeg.Encode(&whole, shown, &jpeg.Options{Quality: 70}); err != nil {
			t.Fatal(err)
		}
		f := &Frame{JPEG: whole.Bytes(), Width: 1000, Height: 500, Number: 7}
		c := Carded(f)
		if test.cardWidth == 0 {
			if c != nil {
				t.Errorf("%+v: there is a card", test)
			}
			continue
		}
		if c == nil {
			t.Errorf("%+v: there is no card", test)
			continue
		}
		is, err := jpeg.Decode(bytes.NewReader(c.JPEG))
		if err != nil {
			t.Fatal(err)
		}
		b := is.Bounds()
		if b.Dx() != test.cardWidth || b.Dy() != test.cardHeight || c.Width != 1000 || c.Height != 500 || c.Number != 7 {
			t.Errorf("%+v: it is %v, of %v by %v", test, b, c.Width, c.Height)
		}
		if same := c == f; same != (test.width <= 640 && test.height <= 360) {
			t.Errorf("%+v: it is the frame itself: %v", test, same)
		}
		if c != f && len(c.JPEG) > cardBytes {
			t.Errorf("%+v: %d bytes of %d", test, len(c.JPEG), whole.Len())
		}
		if r, g, _, _ := is.At(b.Dx()*3/4, b.Dy()/2).RGBA(); r < 0xc000 || g > 0x4000 {
			t.Errorf("%+v: its right half is not red", test)
		}
		t.Logf("%dx%d, %d bytes: %v, %d bytes", test.width, test.height, whole.Len(), b, len(c.JPEG))
	}
	for _, no := range []string{"", "no picture"} {
		if c := Carded(&Frame{JPEG: []byte(no)}); c != nil {
			t.Errorf("%q is %+v", no, c)
		}
	}
}
