package failure

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Choice returns the error of options of a select that were not selected, nil if they were.
// It lists the options.
func Choice(refs *snapshot.Refs, ref string, got script.Choice, values []string) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	switch {
	case got.Custom:
		return protocol.Errorf(protocol.Unsupported, "%s is no select of HTML", who).
			Then("click it, take a snapshot, and click the option that it shows")
	case got.Styled != nil:
		e, err := refs.Lookup(ref)
		if err != nil {
			return err
		}
		by := snapshot.RefOf(refs.Number(got.Styled.In(e.Key.Doc)))
		return protocol.Errorf(protocol.NotActionable, "%s is hidden: %s %s stands in its place", who, by, Spoken(got.Styled.Role, got.Styled.Name)).
			With("reason", "hidden").With("by", map[string]any{"ref": by, "role": got.Styled.Role, "name": got.Styled.Name, "tag": got.Styled.Tag}).
			Then("click %s, and the option that it shows", by)
	case got.Missing != nil:
		options := make([]string, 0, len(got.Options))
		for _, o := range got.Options {
			options = append(options, snapshot.Cut(o, 80))
		}
		list := options[:min(len(options), 12)]
		return protocol.Errorf(protocol.InvalidParams, "values: %s has no option %s", who, Quote(*got.Missing)).
			With("parameter", "values").With("options", options).With("count", got.Count).
			Then("its options are: %s", strings.Join(list, ", "))
	case got.Disabled != nil:
		return protocol.Errorf(protocol.NotActionable, "the option %s of %s is disabled", Quote(*got.Disabled), who).With("reason", "disabled")
	case got.Single:
		return protocol.Errorf(protocol.InvalidParams, "values: %s accepts one of its options, not %d", who, len(values)).With("parameter", "values")
	}
	return nil
}

// NotText returns the error of an element that accepts no text, or none like this.
func NotText(refs *snapshot.Refs, ref, text string, p script.Prepared) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	if p.Accepts != "" {
		return protocol.Errorf(protocol.InvalidParams, "text %s: %s accepts %s", Quote(text), who, p.Accepts).
			With("parameter", "text").With("takes", p.Accepts).Then("write %s", p.Accepts)
	}
	err2 := protocol.Errorf(protocol.InvalidParams, "ref %s accepts no text", who).With("parameter", "ref")
	if p.Textless != "none" {
		return err2.Then("use %s", p.Textless)
	}
	return err2.Then("use the ref of a textbox, or press to send keys")
}

// ClickedAway returns the error of a field that a click does not put the caret in.
// The focus went to another element of that document, nil if it went to none.
func ClickedAway(refs *snapshot.Refs, ref string, doc int, to *script.Element) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	if to == nil {
		return protocol.Errorf(protocol.NotActionable, "%s was clicked and did not take the focus; nothing was typed", who).
			With("reason", "covered").Then("take a snapshot: the click may have opened something else to type into")
	}
	by := snapshot.RefOf(refs.Number(to.In(doc)))
	return protocol.Errorf(protocol.NotActionable, "%s was clicked, and the focus went to %s %s; nothing was typed", who, by, Spoken(to.Role, to.Name)).
		With("reason", "covered").With("by", map[string]any{"ref": by, "role": to.Role, "name": to.Name, "tag": to.Tag}).
		Then("type into %s", by)
}

// NoField returns the error of a frame to type into that has several fields, or none, in the
// document with that number.
func NoField(refs *snapshot.Refs, ref string, doc int, several []script.Element) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	if len(several) == 0 {
		return protocol.Errorf(protocol.InvalidParams, "ref %s has nothing in it that accepts text", who).With("parameter", "ref").
			Then("click in it what opens a field, or use press to send keys to it")
	}
	var candidates []any
	var said []string
	for _, r := range several {
		one := snapshot.RefOf(refs.Number(r.In(doc)))
		candidates = append(candidates, map[string]any{"ref": one, "role": r.Role, "name": r.Name})
		said = append(said, one+" "+Spoken(r.Role, r.Name))
	}
	return protocol.Errorf(protocol.InvalidParams, "ref %s has several fields in it", who).With("parameter", "ref").
		With("candidates", candidates).Then("type into one of them: %s", strings.Join(said, ", "))
}

// LostFocus returns the error of an element that lost the focus while the text, or with an empty
// one a key, went to it. What was left came to nothing. by is what a key came to, to the field
// that has the focus, where got has them.
func LostFocus(refs *snapshot.Refs, ref string, got script.KeysResulted, by, to snapshot.Node, text string) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	what, next := "nothing was typed", "take a snapshot to see what has the focus and what the field holds"
	left := utf8.RuneCountInString(text) - got.Chars
	if got.Got > 0 {
		what = "the rest of the input was withheld"
	}
	if got.Chars > 0 && left > 0 {
		what = fmt.Sprintf("the last %d of %d characters were withheld", left, left+got.Chars)
	}
	lost := protocol.Errorf(protocol.NotActionable, "%s lost the focus while it was typed into; %s", who, what)
	if got.By == nil {
		by = to
	}
	if got.By != nil || got.To != nil {
		ref := snapshot.RefOf(refs.Number(by))
		lost = protocol.Errorf(protocol.NotActionable, "%s lost the focus to %s %s while it was typed into; %s", who, ref, Spoken(by.Role, by.Name), what).
			With("by", map[string]any{"ref": ref, "role": by.Role, "name": by.Name, "tag": by.Tag})
		next = fmt.Sprintf("take a snapshot: the page moves the focus; type the rest into %s only if that is meant", ref)
		if got.Chars > 0 && left > 0 {
			next = fmt.Sprintf("the page moves the focus: if the text goes on there, as in the boxes of a code, type its last %d characters into %s", left, ref)
		}
	}
	if left > 0 && text != "" {
		lost = lost.With("left", left)
	}
	return lost.With("reason", "focus").Then("%s", next)
}

// Unaccounted returns the error of a press that was sent and that no document has seen.
func Unaccounted(refs *snapshot.Refs, ref string) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	return protocol.Errorf(protocol.NotActionable, "%s was to be pressed, and no document of the tab saw the press; it is not repeated", who).
		With("reason", "unseen").Then("take a snapshot to see whether something has happened before you click again")
}

// PressedFewer returns the error of a press that the ref's element received fewer times than it was
// sent, where no document has seen the others.
func PressedFewer(refs *snapshot.Refs, ref string, presses, sent int) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	return pressedFewer(who, presses, sent)
}

// PointPressedFewer is PressedFewer for what is at a point.
func PointPressedFewer(x, y float64, presses, sent int) error {
	return pressedFewer(fmt.Sprintf("what is at %g, %g", x, y), presses, sent)
}

func pressedFewer(who string, presses, sent int) error {
	return protocol.Errorf(protocol.NotActionable, "%s was to be pressed %d times, and received %d; no document of the tab saw the rest, and it is not repeated", who, sent, presses).
		With("reason", "unseen").With("pressed", true).Then("take a snapshot to see what the press has done before you press again")
}

// NoCheckbox returns the error of an element that has no state to check.
func NoCheckbox(who string) error {
	return protocol.Errorf(protocol.InvalidParams, "ref %s can be neither checked nor unchecked", who).
		With("parameter", "ref").Then("use the ref of a checkbox, a radio button or a switch")
}

// KeepsChecked returns the error of a radio button that was to be unchecked.
func KeepsChecked(who string) error {
	return protocol.Errorf(protocol.InvalidParams, "checked false: %s is a radio button, which is unchecked by checking another one", who).
		With("parameter", "checked").Then("check another radio button of its group")
}

// NoFocus returns the error of an element that cannot have the focus.
func NoFocus(who string) error {
	return protocol.Errorf(protocol.NotActionable, "%s does not take the focus", who).
		With("reason", "disabled").With("because", "not focusable").Then("click it, or focus a control in it")
}

// Unguarded returns the error of a secret that was not typed since another document of the tab did not say that it
// refuses keys.
func Unguarded(refs *snapshot.Refs, ref string) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	return protocol.Errorf(protocol.NotActionable, "%s is given no secret while another frame of the page is busy: it could take the focus, and the secret with it", who).
		With("reason", "unguarded").Then("send the command again when the page has become quiet")
}

// SecretInFrame is the error of a secret for a frame, in which another site may be.
func SecretInFrame(ref string) error {
	return protocol.Errorf(protocol.SecretDenied, "%s is a frame: a secret is given to a field only", ref).
		With("reason", "frame").With("ref", ref).Then("use the ref of the field in it")
}
