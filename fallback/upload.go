package fallback

import (
	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
)

// upload sets the files of a file input: the element itself, or the one that it stands
// for. No files clear the input. Errors: those of a ref, not_actionable, invalid_params
// if there is no file input or it accepts only one file.
func (a *actor) upload(o protocol.Upload) (protocol.Effect, error) {
	el, err := a.usable(o.Ref)
	if err != nil {
		return protocol.Effect{}, err
	}
	if o.Drop {
		return protocol.Effect{}, protocol.Errorf(protocol.Unsupported, "files are dropped only on a page in Chromium").With("parameter", "drop").
			Then("leave drop out and use the ref of the file input")
	}
	d := a.history.now
	n := d.controlOf(el.Node, func(n *html.Node) bool { return form.Is(n, "input") && form.Type(n) == "file" })
	if n == nil {
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "ref %s has no file input", el.label).
			With("parameter", "ref").Then("use the ref of the file input")
	}
	if form.Disabled(n) {
		return protocol.Effect{}, protocol.Errorf(protocol.NotActionable, "the file input of %s is disabled", el.label).With("reason", "disabled")
	}
	if _, multiple := form.Attr(n, "multiple"); !multiple && len(o.Files) > 1 {
		return protocol.Effect{}, protocol.Errorf(protocol.InvalidParams, "files: %s accepts one file, not %d", el.label, len(o.Files)).With("parameter", "files")
	}
	d.controls.SetFiles(n, o.Files)
	return protocol.Effect{Hit: el.ref, Changed: true, Focused: d.focus(a.refs, n)}, nil
}
