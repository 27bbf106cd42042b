package fallback

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
)

// maxInvalid is how many fields an error names.
const maxInvalid = 20

// submit submits a form (HTML 4.10.22.3). The error is not_actionable if a control does not
// satisfy its constraints.
func (a *actor) submit(ctx context.Context, f, submitter *html.Node, at form.Point, el element) (protocol.Effect, error) {
	d := a.history.now
	if form.Checked(f, submitter) {
		if err := a.invalid(f); err != nil {
			return protocol.Effect{}, err
		}
	}
	s := d.controls.Submit(f, submitter, at, d.charset)
	if s.Method == "DIALOG" {
		return protocol.Effect{}, a.needsScript("the dialog that " + el.label + " closes")
	}
	action := d.at // an empty action is the document's own address, not its base
	if s.Action != "" {
		var err error
		if action, err = a.refer(d, s.Action, el); err != nil {
			return protocol.Effect{}, err
		}
	}
	r := request{method: s.Method, to: action, contentType: s.ContentType, body: s.Body, from: d.at, policy: d.policy}
	if r.method == http.MethodGet {
		r.to.query = "?" + escape(clean(s.Query), querySet)
	}
	// Chromium uses a form's rel only if the form opens another tab.
	if t := strings.ToLower(s.Target); slices.Contains(s.Rel, "noreferrer") && t != "" && t != "_self" && t != "_parent" && t != "_top" {
		r.policy = noReferrer
	}
	return a.follow(ctx, r, el.ref)
}

// invalid returns the error for a form with invalid fields, nil if all are valid. It
// focuses the first one, as a browser does.
func (a *actor) invalid(f *html.Node) error {
	d := a.history.now
	list := d.controls.Invalids(f)
	if len(list) == 0 {
		return nil
	}
	d.focus(a.refs, list[0].Node)
	fields := []map[string]any{}
	for _, i := range list[:min(len(list), maxInvalid)] {
		ref, name := d.nameOf(a.refs, i.Node)
		field := map[string]any{"name": name, "problem": i.Problem, "why": i.Why}
		if ref != "" {
			field["ref"] = ref
		}
		fields = append(fields, field)
	}
	ref, name := d.nameOf(a.refs, list[0].Node)
	who := quote(name)
	if ref != "" {
		who = ref + " " + who
	}
	return protocol.Errorf(protocol.NotActionable, "the form was not submitted: %s is not valid: %s", who, list[0].Why).
		With("reason", "invalid").With("fields", fields).Then("correct the fields in details.fields, then click again")
}

// enter presses the Enter key in a field: it submits the field's form with the form's
// default button, or without one if the form has only one text field (HTML 4.10.22.2).
func (a *actor) enter(ctx context.Context, el element, n *html.Node) (protocol.Effect, error) {
	c := a.history.now.controls
	f := c.Owner(n)
	if f == nil {
		return protocol.Effect{}, a.needsScript("Enter in " + el.label + ", which belongs to no form,")
	}
	button := c.Default(f)
	switch {
	case button != nil && form.Disabled(button):
		return protocol.Effect{}, el.not("disabled", "%s belongs to a form whose submit button is disabled")
	case button == nil && !c.Implicit(f):
		return protocol.Effect{}, a.needsScript("Enter in " + el.label + ", whose form has no submit button,")
	}
	return a.submit(ctx, f, button, form.Point{}, el)
}
