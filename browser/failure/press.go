package failure

import (
	"fmt"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// PressOf returns the error of a press of the ref's element that came to something else.
func PressOf(refs *snapshot.Refs, ref string, got script.Hit) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	return notPressed(refs, who, got)
}

// FrameNotActionable returns the error of the ref's element where a frame around it is covered,
// or is nowhere to be seen, in the document with that number.
func FrameNotActionable(refs *snapshot.Refs, ref string, doc int, reason string, by *script.Element) error {
	e, err := refs.Lookup(ref)
	if err != nil {
		return err
	}
	return NotActionable(refs, e, doc, script.Located{Reason: reason, By: by})
}

// Missed returns the error of input that did not reach the ref's element, which is in the
// document with that number, although it may have been tried again. got says what was last in
// the way, if anything was.
func Missed(refs *snapshot.Refs, ref string, doc int, got script.Hit) error {
	e, err := refs.Lookup(ref)
	if err != nil {
		return err
	}
	if got.By != nil {
		return NotActionable(refs, e, got.ByDoc, script.Located{Reason: "covered", By: got.By})
	}
	return NotActionable(refs, e, doc, script.Located{Reason: "moving"})
}

// PointNotPressed is PressOf for what is at a point.
func PointNotPressed(refs *snapshot.Refs, x, y float64, got script.Hit) error {
	return notPressed(refs, fmt.Sprintf("what is at %g, %g", x, y), got)
}

// OutsideViewport returns the error of a point outside of the viewport, which has that size.
func OutsideViewport(x, y float64, width, height int) error {
	return protocol.Errorf(protocol.InvalidParams, "x, y: %g, %g lies outside of the viewport, which has %d by %d pixels", x, y, width, height).
		With("parameter", "x").With("width", width).With("height", height).Then("scroll there first")
}

// notPressed returns the error of a press, drag or drop, for what who says, that came to something
// else (got.By), which was kept from it. Where got.Hit says so, it had begun where it was meant.
func notPressed(refs *snapshot.Refs, who string, got script.Hit) error {
	by, details := between(refs, got.By, got.ByDoc)
	if !got.Hit {
		return protocol.Errorf(protocol.NotActionable, "%s was not pressed: %s has come between, and was kept from the press", who, by).
			With("reason", "covered").With("by", details).Then("take a snapshot, and deal with what covers it first: details.by")
	}
	return protocol.Errorf(protocol.NotActionable, "%s was pressed, and %s came between before the press was over: the rest was kept from it, and is not repeated", who, by).
		With("reason", "covered").With("by", details).With("pressed", true).Then("take a snapshot to see what the press has done before you press again")
}

// KeptState returns the error of a checkbox that was pressed and kept its state. Where got.To
// says so, something else of its page received the release.
func KeptState(refs *snapshot.Refs, who string, checked bool, got script.Hit) error {
	word := "unchecked"
	if !checked {
		word = "checked"
	}
	if got.To != nil {
		by, details := between(refs, got.To, got.ToDoc)
		return protocol.Errorf(protocol.NotActionable, "%s was pressed, and is still %s: %s came between, and received the release", who, word, by).
			With("reason", "covered").With("by", details).With("pressed", true).Then("take a snapshot, and deal with what covers it first: details.by")
	}
	return protocol.Errorf(protocol.NotActionable, "%s was clicked, and the page kept it %s", who, word).
		With("reason", "readonly").Then("take a snapshot to see why")
}

// between returns how an error names what came between, and its details.by.
func between(refs *snapshot.Refs, e *script.Element, doc int) (spoken string, details map[string]any) {
	n := e.In(doc)
	by := snapshot.RefOf(refs.Number(n))
	details = map[string]any{"ref": by, "role": n.Role, "name": n.Name, "tag": n.Tag}
	if e.Says != "" {
		details["says"] = e.Says
	}
	return by + " " + Spoken(n.Role, n.Name), details
}
