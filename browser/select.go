package browser

import (
	"context"
	"strings"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// selectOptions selects options of a select by their labels or values, all of them or
// none, and returns the labels of those that are selected afterwards. No values
// clear a select that takes several. Errors:
// those of a ref, not_actionable, invalid_params which lists the options,
// unsupported for a list that is not a select.
func selectOptions(o protocol.Select) step {
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
		a.outcome.Selected, err = chosen(a.refs, o.Ref, got, values)
		return a.hits(el, err)
	}
}

// selectIn selects in an element that was found already.
func (el *element) selectIn(ctx context.Context, ref string, values []string) ([]string, error) {
	got, err := evaluate(ctx, el.in, script.ChooseIn, script.ChooseInArgs{Node: el.Target, Values: values})
	if err != nil {
		return nil, err
	}
	return chosen(el.action.refs, ref, got, values)
}

// chosen reads what the script answers of a selection.
func chosen(refs *snapshot.Refs, ref string, got script.Choice, values []string) ([]string, error) {
	who, err := describe(refs, ref)
	if err != nil {
		return nil, err
	}
	switch {
	case got.Custom:
		return nil, protocol.Errorf(protocol.Unsupported, "%s is no select of HTML", who).
			Then("click it, take a snapshot, and click the option that it shows")
	case got.Missing != nil:
		options := make([]string, 0, len(got.Options))
		for _, o := range got.Options {
			options = append(options, snapshot.Cut(o, 80))
		}
		list := options[:min(len(options), 12)]
		return nil, protocol.Errorf(protocol.InvalidParams, "values: %s has no option %s", who, quote(*got.Missing)).
			With("parameter", "values").With("options", options).With("count", got.Count).
			Then("its options are: %s", strings.Join(list, ", "))
	case got.Disabled != nil:
		return nil, protocol.Errorf(protocol.NotActionable, "the option %s of %s is disabled", quote(*got.Disabled), who).With("reason", "disabled")
	case got.Single:
		return nil, protocol.Errorf(protocol.InvalidParams, "values: %s takes one of its options, not %d", who, len(values)).With("parameter", "values")
	}
	return got.Selected, nil
}
