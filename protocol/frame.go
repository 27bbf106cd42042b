package protocol

import "time"

// Frame is a picture of a tab that a recording gets.
type Frame struct {
	At            time.Time // when it came
	Image         []byte    // JPEG, or WebP where that was asked for
	Width, Height int       // of the viewport, in CSS pixels
}
