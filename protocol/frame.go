package protocol

import "time"

// Frame is a picture of a tab that a recording gets.
type Frame struct {
	At            time.Time // when it came
	Image         []byte    // JPEG; nil: WebP is the picture
	WebP          []byte    // nil: Image is the picture
	Width, Height int       // of the viewport, in CSS pixels
}
