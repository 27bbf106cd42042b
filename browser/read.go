package browser

import (
	"context"
	"slices"
	"strings"

	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// readKinds are the kinds of Read.
var readKinds = []string{"text", "markdown", "html", "value", "attrs", "article", "box"}

// maxFrames bounds how many frames one reading goes through.
const maxFrames = 50

// Read returns what is in an element, or without a ref in the whole page with
// its frames: its text as a person sees it; markdown; html; the value of a
// control, secrets masked; attrs, a JSON object of its attributes, or with attr
// that one; article, the main text as markdown; box, a JSON object that says where
// it is seen in the viewport, or would be after scrolling. It changes nothing and waits
// for nothing. Errors: those of a ref, invalid_params.
func (c *Context) Read(ctx context.Context, refs *snapshot.Refs, ref, kind, attr string) (string, error) {
	if kind == "" {
		kind = "text"
	}
	if !slices.Contains(readKinds, kind) {
		return "", protocol.Errorf(protocol.InvalidParams, "kind %q: takes %s", kind, strings.Join(readKinds, ", ")).With("parameter", "kind")
	}
	if ref == "" && (kind == "value" || kind == "attrs" || kind == "box") {
		return "", protocol.Errorf(protocol.InvalidParams, "kind %s: needs a ref", kind).With("parameter", "ref")
	}
	var content string
	err := c.look(ctx, func(ctx context.Context, t *tab) error {
		t.frames.findOwners(ctx, t.frames.live())
		var err error
		if kind == "box" {
			content, err = boxOf(ctx, t, refs, ref)
			return err
		}
		content, err = t.readRef(ctx, refs, ref, kind, attr)
		if err == errReadGone && ref != "" {
			// Where its element was made anew, the ref moves with it.
			if err = c.findAgain(ctx, refs, ref); err == nil {
				content, err = t.readRef(ctx, refs, ref, kind, attr)
			}
		}
		if err == errReadGone && ref == "" {
			return nil // a document without a body says nothing
		}
		e, lookup := refs.Lookup(ref)
		if lookup != nil {
			return err
		}
		switch err {
		case errReadGone:
			return staleError(refs, e, e.Key.Doc, nil)
		case errReadNone:
			if kind == "attrs" {
				return protocol.Errorf(protocol.InvalidParams, "attr %s: %s has no such attribute", quote(attr), e.Ref()).With("parameter", "attr").
					Then("read with kind attrs lists its attributes")
			}
			return protocol.Errorf(protocol.InvalidParams, "ref %s %s has no value", e.Ref(), spoken(e.Role, e.Name)).With("parameter", "ref").
				Then("read with kind text")
		}
		return err
	})
	return content, err
}

// readRef reads the element of a ref, or without one the page.
func (t *tab) readRef(ctx context.Context, refs *snapshot.Refs, ref, kind, attr string) (string, error) {
	q := script.ReadArgs{Kind: kind, Attr: attr}
	if ref == "" {
		return t.readFrame(ctx, t.frames.main, q, new(int))
	}
	e, d, err := t.c.resolve(refs, ref)
	if err != nil {
		return "", err
	}
	q.Node = e.Key.Node
	return t.read(ctx, d, q, new(int))
}

// errRead tells Read what the script answered in the place of content.
type errRead string

func (e errRead) Error() string { return string(e) }

const (
	errReadGone = errRead("gone")
	errReadNone = errRead("none")
)

// look runs what reads the page and changes nothing: a dialog that opens ends
// it with dialog_open. The title is asked for in front of it, so that it costs no
// round trip.
func (c *Context) look(ctx context.Context, do func(ctx context.Context, t *tab) error) error {
	t, err := c.ready(ctx)
	if err != nil {
		return err
	}
	doing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer t.dialogs.on(func() { cancel(errDialog) })()
	c.mu.Lock()
	t.nav.askTitle()
	c.mu.Unlock()
	err = do(doing, t)
	if err == nil {
		t.nav.awaitTitle(doing)
		return nil
	}
	if context.Cause(doing) == errDialog {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t.dialogs.open != nil {
			return dialogError(t.dialogs.open)
		}
	}
	t.recovery.notice(ctx, err)
	return err
}

// readFrame is read of whatever document the frame has now.
func (t *tab) readFrame(ctx context.Context, f *frame, q script.ReadArgs, frames *int) (string, error) {
	d, err := f.document()
	if err != nil {
		return "", err
	}
	return t.read(ctx, d, q, frames)
}

// read reads a node of a document and puts the content of the frames in it in
// their places.
func (t *tab) read(ctx context.Context, d *document, q script.ReadArgs, frames *int) (string, error) {
	got, err := evaluate(ctx, d, script.Read, q)
	if err != nil {
		return "", err
	}
	switch {
	case got.Gone:
		return "", errReadGone
	case got.None:
		return "", errReadNone
	}
	parts := make([]string, 0, len(got.Pieces))
	for _, piece := range got.Pieces {
		if piece.Frame == 0 {
			parts = append(parts, piece.Text)
			continue
		}
		child := t.frameIn(snapshot.Key{Doc: d.doc, Node: piece.Frame})
		if child == nil || *frames >= maxFrames {
			continue
		}
		*frames++
		// A frame that cannot be read costs its own content alone.
		s, err := t.readFrame(ctx, child, script.ReadArgs{Kind: q.Kind}, frames)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err == nil && s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n\n"), nil
}

// frameIn is the frame that an element holds, nil where it holds none.
func (t *tab) frameIn(owner snapshot.Key) *frame {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	for _, f := range t.frames.byID {
		if f.owner == owner && f.doc != 0 && owner.Node != 0 {
			return f
		}
	}
	return nil
}
