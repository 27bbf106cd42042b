package fallback

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// typeText writes into a text control, after its text or, with Clear, in place of it. As for a
// person, maxlength cuts the text, and line breaks become blanks in a single-line field.
// It replaces dates, times, colours, ranges and numbers as a whole, and selects in a
// select. effect.Value is set if the control then holds something else than was asked
// for. With Submit it presses Enter. Errors: those of a ref, not_actionable,
// invalid_params for an element that accepts no text, or not this one.
func (a *actor) typeText(ctx context.Context, o protocol.Type) (protocol.Effect, error) {
	el, err := a.usable(o.Ref)
	if err != nil {
		return protocol.Effect{}, err
	}
	d := a.history.now
	n := d.controlOf(el.Node, func(n *html.Node) bool { return form.IsText(n) || form.Is(n, "select") })
	if n == nil {
		return protocol.Effect{}, a.noText(el)
	}
	if err := el.enabled(n); err != nil {
		return protocol.Effect{}, err
	}
	if form.Is(n, "select") {
		_, e, err := a.selectOptions(protocol.Select{Ref: o.Ref, Values: []string{o.Text}})
		return e, err
	}
	if form.Readonly(n) {
		return protocol.Effect{}, el.not("readonly", "%s is readonly").Then("look for the control that changes it")
	}
	if o.Secret {
		snaphtml.KeepSecret(d.tree, n)
	}
	e := protocol.Effect{Hit: el.ref, Focused: d.focus(a.refs, n)}
	before, _ := d.controls.Value(n)
	wanted, err := typed(n, el, before, o)
	if err != nil {
		return protocol.Effect{}, err
	}
	if o.Text != "" || o.Clear {
		if now := d.controls.SetValue(n, wanted); now != before {
			e.Changed = true
		}
	}
	if now, _ := d.controls.Value(n); now != requested(n, before, o) {
		if now != "" && d.tree.Secret(n) {
			now = "•••"
		}
		e.Value = &now
	}
	if !o.Submit {
		return e, nil
	}
	if form.Is(n, "textarea") {
		v, _ := d.controls.Value(n) // Enter is a line break there
		d.controls.SetValue(n, v+"\n")
		e.Changed = true
		return e, nil
	}
	sent, err := a.enter(ctx, el, n)
	sent.Hit, sent.Value, sent.Focused = el.ref, e.Value, ""
	sent.Changed = sent.Changed || e.Changed
	return sent, err
}

// requested returns what a control would hold if it accepted all of the text.
func requested(n *html.Node, before string, o protocol.Type) string {
	text := lines(n, o.Text)
	switch {
	case o.Text == "" && !o.Clear:
		return before
	case accepts[form.Type(n)] != "" && form.Is(n, "input"):
		if form.Type(n) == "color" {
			return strings.ToLower(text)
		}
		if form.Type(n) == "datetime-local" {
			return strings.Replace(text, " ", "T", 1)
		}
		if form.Type(n) == "number" && !o.Clear {
			return before + text
		}
		return text
	case o.Clear:
		return text
	}
	return before + text
}

// accepts describes the values of the inputs whose value is set as a whole.
var accepts = map[string]string{
	"date":           "a date such as 2026-03-31",
	"month":          "a month such as 2026-03",
	"week":           "a week such as 2026-W05",
	"time":           "a time such as 13:45",
	"datetime-local": "a date and time such as 2026-03-31T13:45",
	"color":          "a colour such as #1a2b3c",
	"range":          "a number",
	"number":         "a number",
}

// typed returns what a control holds after o.
func typed(n *html.Node, el element, before string, o protocol.Type) (string, error) {
	wanted := requested(n, before, o)
	what := accepts[form.Type(n)]
	if what != "" && form.Is(n, "input") {
		if wanted != "" && !form.Takes(n, wanted) {
			return "", protocol.Errorf(protocol.InvalidParams, "text %s: %s accepts %s", quote(o.Text), el.label, what).
				With("parameter", "text").With("takes", what).Then("write %s", what)
		}
		return wanted, nil
	}
	most, ok := form.MaxLength(n)
	if !ok {
		return wanted, nil
	}
	units := utf16.Encode([]rune(wanted))
	already := 0
	if !o.Clear {
		already = len(utf16.Encode([]rune(before)))
	}
	if length := max(most, already); len(units) > length { // a longer value of the markup stays
		return string(utf16.Decode(units[:length])), nil
	}
	return wanted, nil
}

// lines returns text with the line breaks that a control accepts.
func lines(n *html.Node, text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if !form.Is(n, "textarea") {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	return text
}

// controlOf returns the control that n stands for: n itself, the control that it labels,
// or the only one in it; nil for none.
func (d *document) controlOf(n *html.Node, fits func(*html.Node) bool) *html.Node {
	if fits(n) {
		return n
	}
	if form.Is(n, "label") {
		if c := d.controls.Labelled(n); c != nil && fits(c) {
			return c
		}
	}
	var found *html.Node
	count := 0
	form.Elements(n, func(c *html.Node) bool {
		if fits(c) {
			found = c
			count++
		}
		return count < 2
	})
	if count == 1 {
		return found
	}
	return nil
}

// noText returns the error for an element that accepts no text.
func (a *actor) noText(el element) error {
	n := el.Node
	if v, ok := form.Attr(n, "contenteditable"); ok && !strings.EqualFold(v, "false") {
		return a.needsScript(el.label)
	}
	err := protocol.Errorf(protocol.InvalidParams, "ref %s accepts no text", el.label).With("parameter", "ref")
	switch kind := form.Type(n); {
	case form.IsChoice(n):
		return err.Then("use check")
	case form.Is(n, "input") && kind == "file":
		return err.Then("use upload")
	case form.Is(n, "button", "input"), form.Is(n, "a") && hasHref(n):
		return err.Then("use click")
	case scripted(n):
		return a.needsScript(fmt.Sprintf("typing into %s", el.label))
	}
	return err.Then("use the ref of a textbox")
}
