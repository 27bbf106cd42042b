// Package history follows a step in a tab's history, or a reload: which frames it
// moves, and when nothing of it is under way any more. It promises that a step is over
// only when each navigation that began for it was committed or has failed. It never
// sends anything to Chromium.
package history

import (
	"strings"

	cdproto "github.com/chromedp/cdproto/cdp"
)

// Step is what has become of a step in the history, or of a reload (HTML,
// apply the history step). Chromium answers the command before any of it, and the
// step moves the frames that it is about: not always the main one. Its
// owner guards it.
type Step struct {
	legs map[cdproto.LoaderID]*leg
}

// NewStep returns a step of which nothing has begun.
func NewStep() *Step { return &Step{legs: map[cdproto.LoaderID]*leg{}} }

// leg is what one frame has to do with a step.
type leg struct {
	frame  cdproto.FrameID
	done   bool
	failed string // net::ERR_…
}

// Begin takes it that a frame has begun a navigation of that kind
// (Page.frameStartedNavigating), which may be the step's.
func (h *Step) Begin(kind string, loader cdproto.LoaderID, frame cdproto.FrameID) {
	if h != nil && (strings.HasPrefix(kind, "history") || strings.HasPrefix(kind, "reload")) {
		h.legs[loader] = &leg{frame: frame}
	}
}

// Done takes it that a navigation of the frame is committed: the loader's, or,
// within a document, whichever is under way.
func (h *Step) Done(frame cdproto.FrameID, loader cdproto.LoaderID) {
	if h == nil {
		return
	}
	for id, l := range h.legs {
		if l.frame == frame && (loader == "" || id == loader) {
			l.done = true
		}
	}
}

// Failed takes it that a navigation came to nothing, or to a page that says why.
func (h *Step) Failed(loader cdproto.LoaderID, reason string) {
	if h != nil && h.legs[loader] != nil {
		h.legs[loader].failed = reason
	}
}

// Over says that nothing of the step is under way any more, and why it failed,
// where it did. stopped says that the main frame is loading nothing.
func (h *Step) Over(main cdproto.FrameID, stopped bool) (over bool, failed string) {
	for _, l := range h.legs {
		switch {
		case l.failed != "" && (l.done || l.frame != main || stopped):
			failed = l.failed
		case !l.done:
			return false, ""
		}
	}
	return len(h.legs) > 0, failed
}
