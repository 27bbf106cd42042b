package fallback

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf16"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// typeText writes into a text control, behind what is there or with Clear in its
// place, as a person could: maxlength cuts, line breaks become blanks in one
// line. Dates, times, colours, ranges and numbers are set whole; a select
// selects. effect.Value is what the control holds where that is not what was
// asked for. With Submit, Enter is pressed. Errors: those of a ref,
// not_actionable, invalid_params for what takes no text, or none like this.
func (p *Page) typeText(ctx context.Context, refs *snapshot.Refs, o protocol.Type) (protocol.Effect, error) {
	el, err := p.usable(refs, o.Ref)
	if err != nil {
		return protocol.Effect{}, err
	}
	d := p.history.now
	n := d.standsFor(el.Node, func(n *html.Node) bool { return form.IsText(n) || form.Is(n, "select") })
	if n == nil {
		return protocol.Effect{}, p.textless(el)
	}
	if err := el.enabled(n); err != nil {
		return protocol.Effect{}, err
	}
	if form.Is(n, "select") {
		_, e, err := p.selectOptions(refs, protocol.Select{Ref: o.Ref, Values: []string{o.Text}})
		return e, err
	}
	if form.Readonly(n) {
		return protocol.Effect{}, el.not("readonly", "%s is readonly").Then("look for the control that changes it")
	}
	e := protocol.Effect{Hit: el.ref, Focused: d.focus(refs, n)}
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
	if now, _ := d.controls.Value(n); now != wholeWanted(n, before, o) {
		if now != "" && secret(n) {
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
	sent, err := p.enter(ctx, refs, el, n)
	sent.Hit, sent.Value, sent.Focused = el.ref, e.Value, ""
	sent.Changed = sent.Changed || e.Changed
	return sent, err
}

// wholeWanted is what a control would hold if all of it had been taken.
func wholeWanted(n *html.Node, before string, o protocol.Type) string {
	text := lines(n, o.Text)
	switch {
	case o.Text == "" && !o.Clear:
		return before
	case takes[form.Type(n)] != "" && form.Is(n, "input"):
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

// takes says what the inputs take whose value is set whole.
var takes = map[string]string{
	"date":           "a date such as 2026-03-31",
	"month":          "a month such as 2026-03",
	"week":           "a week such as 2026-W05",
	"time":           "a time such as 13:45",
	"datetime-local": "a date and time such as 2026-03-31T13:45",
	"color":          "a colour such as #1a2b3c",
	"range":          "a number",
	"number":         "a number",
}

// typed is what a control is to hold after o.
func typed(n *html.Node, el element, before string, o protocol.Type) (string, error) {
	wanted := wholeWanted(n, before, o)
	what := takes[form.Type(n)]
	if what != "" && form.Is(n, "input") {
		if wanted != "" && !form.Takes(n, wanted) {
			return "", protocol.Errorf(protocol.InvalidParams, "text %s: %s takes %s", quote(o.Text), el.who, what).
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
	if room := max(most, already); len(units) > room { // what the markup put there stays
		return string(utf16.Decode(units[:room])), nil
	}
	return wanted, nil
}

// lines is text as a control takes its line breaks.
func lines(n *html.Node, text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if !form.Is(n, "textarea") {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	return text
}

// secret says whether what a control holds is not to be shown.
func secret(n *html.Node) bool {
	if form.Is(n, "input") && form.Type(n) == "password" {
		return true
	}
	for _, w := range words(n, "autocomplete") {
		if w == "one-time-code" || strings.HasPrefix(w, "cc-") {
			return true
		}
	}
	return false
}

// standsFor is the control that n stands for: itself, its label's, or the only
// one in it; nil where there is none.
func (d *document) standsFor(n *html.Node, fits func(*html.Node) bool) *html.Node {
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

// textless is the error of an element that takes no text.
func (p *Page) textless(el element) error {
	n := el.Node
	if v, ok := form.Attr(n, "contenteditable"); ok && !strings.EqualFold(v, "false") {
		return p.needsScript(el.who)
	}
	err := protocol.Errorf(protocol.InvalidParams, "ref %s takes no text", el.who).With("parameter", "ref")
	switch kind := form.Type(n); {
	case form.IsChoice(n):
		return err.Then("use check")
	case form.Is(n, "input") && kind == "file":
		return err.Then("use upload")
	case form.Is(n, "button", "input"), form.Is(n, "a") && hasHref(n):
		return err.Then("use click")
	case scripted(n):
		return p.needsScript(fmt.Sprintf("typing into %s", el.who))
	}
	return err.Then("use the ref of a textbox")
}
