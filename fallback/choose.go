package fallback

import (
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// selectOptions selects options of a select by their labels or values, all of them or
// none, and returns the labels of those that are selected then. No values clear
// a select that takes several. Errors: those of a ref, not_actionable,
// invalid_params which lists the options, unsupported for a list that is not a select.
func (p *Page) selectOptions(refs *snapshot.Refs, o protocol.Select) ([]string, protocol.Effect, error) {
	var none protocol.Effect
	el, err := p.usable(refs, o.Ref)
	if err != nil {
		return nil, none, err
	}
	d := p.history.now
	sel := d.standsFor(el.Node, func(n *html.Node) bool { return form.Is(n, "select") })
	if sel == nil {
		return nil, none, p.needsScript("choosing in " + el.who + ", which is no select of HTML,")
	}
	if err := el.enabled(sel); err != nil {
		return nil, none, err
	}
	options := form.Options(sel)
	picked, err := pick(el, options, o.Values)
	if err != nil {
		return nil, none, err
	}
	if _, multiple := form.Attr(sel, "multiple"); !multiple && len(picked) != 1 {
		return nil, none, protocol.Errorf(protocol.InvalidParams, "values: %s takes one of its options, not %d", el.who, len(o.Values)).With("parameter", "values")
	}
	before := d.selected(options)
	d.controls.Choose(sel, picked)
	selected := d.selected(options)
	return selected, protocol.Effect{Hit: el.ref, Changed: !slices.Equal(before, selected), Focused: d.focus(refs, sel)}, nil
}

func (d *document) selected(options []*html.Node) []string {
	labels := []string{}
	for _, o := range options {
		if on, _ := d.controls.Selected(o); on {
			labels = append(labels, form.OptionLabel(o))
		}
	}
	return labels
}

// pick finds the options that values name: by label, by value, or by label
// whatever its case.
func pick(el element, options []*html.Node, values []string) ([]*html.Node, error) {
	var picked []*html.Node
	for _, v := range values {
		by := func(fits func(o *html.Node) bool) *html.Node {
			for _, o := range options {
				if fits(o) && !slices.Contains(picked, o) {
					return o
				}
			}
			return nil
		}
		wanted := strings.Join(strings.Fields(v), " ")
		o := by(func(o *html.Node) bool { return form.OptionLabel(o) == wanted })
		if o == nil {
			o = by(func(o *html.Node) bool { return form.OptionValue(o) == v })
		}
		if o == nil {
			o = by(func(o *html.Node) bool { return strings.EqualFold(form.OptionLabel(o), wanted) })
		}
		if o == nil {
			return nil, noOption(el, options, v)
		}
		if form.Disabled(o) {
			return nil, protocol.Errorf(protocol.NotActionable, "the option %s of %s is disabled", quote(form.OptionLabel(o)), el.who).With("reason", "disabled")
		}
		picked = append(picked, o)
	}
	return picked, nil
}

func noOption(el element, options []*html.Node, value string) error {
	labels := []string{}
	for _, o := range options[:min(len(options), 50)] {
		labels = append(labels, snapshot.Cut(form.OptionLabel(o), 80))
	}
	return protocol.Errorf(protocol.InvalidParams, "values: %s has no option %s", el.who, quote(value)).
		With("parameter", "values").With("options", labels).With("count", len(options)).
		Then("its options are: %s", strings.Join(labels[:min(len(labels), 12)], ", "))
}

// check sees to it that a checkbox or radio button is checked, or is not; its
// label stands for it. Errors: those of a ref, not_actionable, invalid_params
// for what has no such state.
func (p *Page) check(refs *snapshot.Refs, o protocol.Check) (protocol.Effect, error) {
	el, err := p.usable(refs, o.Ref)
	if err != nil {
		return protocol.Effect{}, err
	}
	d := p.history.now
	n := d.standsFor(el.Node, form.IsChoice)
	if n == nil && scripted(el.Node) {
		return protocol.Effect{}, p.needsScript(el.who)
	}
	if n == nil {
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "ref %s can be neither checked nor unchecked", el.who).
			With("parameter", "ref").Then("use the ref of a checkbox or a radio button")
	}
	if err := el.enabled(n); err != nil {
		return protocol.Effect{}, err
	}
	on, _ := d.controls.Checked(n)
	if on == o.Checked {
		return protocol.Effect{Hit: el.ref}, nil
	}
	if form.Type(n) == "radio" && !o.Checked {
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "checked false: %s is a radio button, which is unchecked by checking another one", el.who).
			With("parameter", "checked").Then("check another radio button of its group")
	}
	d.controls.SetChecked(n, o.Checked)
	return protocol.Effect{Hit: el.ref, Changed: true, Focused: d.focus(refs, n)}, nil
}

// upload gives files to a file input: the element itself, or the one that it
// stands for. No files empty the input. Errors: those of a ref, not_actionable,
// invalid_params where there is no file input or it takes only one file.
func (p *Page) upload(refs *snapshot.Refs, o protocol.Upload) (protocol.Effect, error) {
	el, err := p.usable(refs, o.Ref)
	if err != nil {
		return protocol.Effect{}, err
	}
	d := p.history.now
	n := d.standsFor(el.Node, func(n *html.Node) bool { return form.Is(n, "input") && form.Type(n) == "file" })
	if n == nil {
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "ref %s has no file input", el.who).
			With("parameter", "ref").Then("use the ref of the file input")
	}
	if form.Disabled(n) {
		return protocol.Effect{}, protocol.Errorf(protocol.NotActionable, "the file input of %s is disabled", el.who).With("reason", "disabled")
	}
	if _, multiple := form.Attr(n, "multiple"); !multiple && len(o.Files) > 1 {
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "files: %s takes one file, not %d", el.who, len(o.Files)).With("parameter", "files")
	}
	d.controls.SetFiles(n, o.Files)
	return protocol.Effect{Hit: el.ref, Changed: true, Focused: d.focus(refs, n)}, nil
}
