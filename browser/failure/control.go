package failure

import (
	"strings"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Choice is the error of options of a select that were not selected, nil where they were.
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
		return protocol.Errorf(protocol.InvalidParams, "values: %s takes one of its options, not %d", who, len(values)).With("parameter", "values")
	}
	return nil
}

// KeptState is the error of a checkbox that was clicked and kept its state.
func KeptState(who string, checked bool) error {
	word := "unchecked"
	if !checked {
		word = "checked"
	}
	return protocol.Errorf(protocol.NotActionable, "%s was clicked, and the page kept it %s", who, word).
		With("reason", "readonly").Then("take a snapshot to see why")
}

// NotText is the error of an element that takes no text, or none like this.
func NotText(refs *snapshot.Refs, ref, text string, p script.Prepared) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	if p.Accepts != "" {
		return protocol.Errorf(protocol.InvalidParams, "text %s: %s takes %s", Quote(text), who, p.Accepts).
			With("parameter", "text").With("takes", p.Accepts).Then("write %s", p.Accepts)
	}
	err2 := protocol.Errorf(protocol.InvalidParams, "ref %s takes no text", who).With("parameter", "ref")
	if p.Textless != "none" {
		return err2.Then("use %s", p.Textless)
	}
	return err2.Then("use the ref of a textbox, or press to send keys")
}

// ClickedAway is the error of a field that a click does not put the caret in.
// The focus went to another element of that document, nil where it went to none.
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

// NoField is the error of a frame to type into that has several fields, or none, in the
// document with that number.
func NoField(refs *snapshot.Refs, ref string, doc int, several []script.Element) error {
	who, err := Describe(refs, ref)
	if err != nil {
		return err
	}
	if len(several) == 0 {
		return protocol.Errorf(protocol.InvalidParams, "ref %s has nothing in it that takes text", who).With("parameter", "ref").
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
