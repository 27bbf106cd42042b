package recording

import (
	"fmt"
	"strings"
	"time"

	"github.com/browserd/browserd/protocol"
)

// video writes a WebM film of a session: a frame for each change, a chapter for each action. One
// goroutine at a time uses it.
type video struct {
	file     *file
	webm     webm
	app      string
	redact   Redact
	began    time.Time
	chapters []chapter
	full     bool
}

func newVideo(f *file, version string, redact Redact, began time.Time) *video {
	return &video{file: f, app: "browserd " + version, redact: redact, began: began, webm: webm{to: f, patch: f.f}}
}

// frame adds a picture. What is no key frame of VP8, and what there is no room for, is left out.
func (v *video) frame(f protocol.Frame) {
	frame, width, height, err := frameOf(f.Image)
	if err != nil || v.full {
		return
	}
	if v.webm.width == 0 && v.webm.begin(width, height, v.app, v.file.entry.Session) != nil {
		v.end()
		return
	}
	if int64(len(frame)+len(v.webm.held)+v.webm.ending(v.chapters)) > v.file.left() || v.webm.add(frame, f.At.Sub(v.began)) != nil {
		v.end()
	}
}

func (v *video) end() { v.full, v.file.entry.Full = true, true }

// action adds a chapter.
func (v *video) action(s *Step) {
	text := s.Command
	if s.Element != "" {
		text += " " + s.Element
	}
	if s.Code != "" {
		text += ": " + s.Code
	}
	c := chapter{text: strings.ToValidUTF8(v.redact.Text(text), "\ufffd"), from: s.Began.Sub(v.began), to: s.ended.Sub(v.began)}
	if !v.full && int64(len(v.webm.held)+v.webm.ending(append(v.chapters, c))) < v.file.left() {
		v.chapters = append(v.chapters, c)
	}
}

// close writes the rest. Errors: unsupported where there was no picture.
func (v *video) close() error {
	if v.webm.width == 0 {
		return protocol.Errorf(protocol.Unsupported, "the video is empty: no page in Chromium was shown").Then("open a page with source chromium, and begin again with %s", fmt.Sprint(Video)+" start")
	}
	return v.webm.end(time.Since(v.began), v.chapters)
}
