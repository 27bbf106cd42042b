package browser

import (
	"context"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
)

// selectOptions selects options of a select by their labels or values, all of them or
// none, and returns the labels of those that are selected afterwards. No values
// clear a select that takes several. Errors:
// those of a ref, not_actionable, invalid_params which lists the options,
// unsupported for a list that is not a select.
func selectOptions(o protocol.Select) actionFunc {
	values := o.Values
	if values == nil {
		values = []string{} // null to the script otherwise
	}
	return func(ctx context.Context, a *action) error {
		el, err := a.locate(ctx, o.Ref, script.Lookup{
			Want: []string{wantVisible, wantEnabled}, Control: "select", ElementCall: script.Choose.With(script.ChooseArgs{Values: values}),
		})
		if err != nil {
			return err
		}
		got, err := script.Choose.Result(el.Then)
		if err != nil {
			return err
		}
		if err = failure.Choice(a.refs, o.Ref, got, values); err == nil {
			a.outcome.Selected = got.Selected
		}
		return a.setHit(el, err)
	}
}

// choose selects options of a select that was found already.
func (el *element) choose(ctx context.Context, ref string, values []string) error {
	got, err := evaluate(ctx, el.in, script.ChooseIn, script.ChooseInArgs{Node: el.Target, Values: values})
	if err != nil {
		return err
	}
	return failure.Choice(el.action.refs, ref, got, values)
}
