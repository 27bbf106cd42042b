package fallback

import (
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// selectOptions selects options of a select by their labels or values, all of them or none, and
// returns the labels of the selected options. No values clear a select with multiple.
// Errors: those of a ref, not_actionable, invalid_params with the options, unsupported
// for a list that is not a select.
func (a *actor) selectOptions(o protocol.Select) ([]string, protocol.Effect, error) {
	var none protocol.Effect
	el, err := a.usable(o.Ref)
	if err != nil {
		return nil, none, err
	}
	d := a.history.now
	sel := d.controlOf(el.Node, func(n *html.Node) bool { return form.Is(n, "select") })
	if sel == nil {
		return nil, none, a.needsScript("choosing in " + el.label + ", which is no select of HTML,")
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
		return nil, none, protocol.Errorf(protocol.InvalidParams, "values: %s accepts one of its options, not %d", el.label, len(o.Values)).With("parameter", "values")
	}
	before := d.selected(options)
	d.controls.Choose(sel, picked)
	selected := d.selected(options)
	return selected, protocol.Effect{Hit: el.ref, Changed: !slices.Equal(before, selected), Focused: d.focus(a.refs, sel)}, nil
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

// pick returns the options that values name: by label, by value, or by label without
// regard to case.
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
			o = by(func(o *html.Node) bool {
				l, ok := form.Attr(o, "aria-label")
				return ok && strings.Join(strings.Fields(l), " ") == wanted
			})
		}
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
			return nil, protocol.Errorf(protocol.NotActionable, "the option %s of %s is disabled", quote(form.OptionLabel(o)), el.label).With("reason", "disabled")
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
	return protocol.Errorf(protocol.InvalidParams, "values: %s has no option %s", el.label, quote(value)).
		With("parameter", "values").With("options", labels).With("count", len(options)).
		Then("its options are: %s", strings.Join(labels[:min(len(labels), 12)], ", "))
}
