package fallback

import (
	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
)

// check checks or unchecks a checkbox or radio button, or the one that a label labels.
// Errors: those of a ref, not_actionable, invalid_params for an element that has no such
// state.
func (a *actor) check(o protocol.Check) (protocol.Effect, error) {
	el, err := a.usable(o.Ref)
	if err != nil {
		return protocol.Effect{}, err
	}
	d := a.history.now
	n := d.controlOf(el.Node, form.IsChoice)
	if n == nil && scripted(el.Node) {
		return protocol.Effect{}, a.needsScript(el.label)
	}
	if n == nil {
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "ref %s can be neither checked nor unchecked", el.label).
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
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "checked false: %s is a radio button, which is unchecked by checking another one", el.label).
			With("parameter", "checked").Then("check another radio button of its group")
	}
	d.controls.SetChecked(n, o.Checked)
	return protocol.Effect{Hit: el.ref, Changed: true, Focused: d.focus(a.refs, n)}, nil
}
