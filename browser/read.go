package browser

import (
	"context"
	"slices"
	"strings"

	"github.com/browserd/browserd/browser/failure"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/browser/walk"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// readKinds are the kinds of Read.
var readKinds = []string{"text", "markdown", "html", "value", "attrs", "article", "box"}

// maxFrames bounds how many frames one reading goes through.
const maxFrames = 50

// Read returns what is in an element, or without a ref in the whole page with its frames: its text as a person sees
// it; markdown; html; the value of a control, secrets masked; attrs, a JSON object of its attributes, or with attr that
// one; article, the main text as markdown; box, a JSON object that says where it is seen in the viewport, or would be
// after scrolling. It changes nothing and waits for nothing. Errors: those of a ref, invalid_params.
func (c *Context) Read(ctx context.Context, refs *snapshot.Refs, ref, kind, attr string) (string, error) {
	if kind == "" {
		kind = "text"
	}
	if !slices.Contains(readKinds, kind) {
		return "", protocol.Errorf(protocol.InvalidParams, "kind %q: accepts %s", kind, strings.Join(readKinds, ", ")).With("parameter", "kind")
	}
	if ref == "" && (kind == "value" || kind == "attrs" || kind == "box") {
		return "", protocol.Errorf(protocol.InvalidParams, "kind %s: needs a ref", kind).With("parameter", "ref")
	}
	var content string
	err := inspect(ctx, c, func(ctx context.Context, t *tab) (err error) {
		t.frames.findOwners(ctx, t.frames.live())
		if kind == "box" {
			content, err = boxJSON(ctx, t, refs, ref)
			return err
		}
		content, err = readRef(ctx, t, refs, ref, kind, attr)
		if err == failure.ErrGone && ref != "" {
			// Where its element was re-created, the ref moves with it.
			if err = c.findAgain(ctx, refs, ref); err == nil {
				content, err = readRef(ctx, t, refs, ref, kind, attr)
			}
		}
		if err == failure.ErrGone && ref == "" {
			return nil // a document without a body says nothing
		}
		if e, lookup := refs.Lookup(ref); lookup == nil {
			return failure.NotRead(err, refs, e, kind, attr)
		}
		return err
	})
	return content, err
}

// drawn is the kind of reading of DrawnText.
const drawn = "drawn"

// DrawnText returns all text that a picture of the tab of that name may show, of all its frames; empty: the selected
// tab. It has secrets in clear where the page shows them. Errors: secret_denied of a frame that cannot be read.
func (l *tabList) DrawnText(ctx context.Context, name string) (text string, err error) {
	err = untilDialog(ctx, l.c, name, func(ctx context.Context, t *tab) (err error) {
		r := reader{tab: t}
		t.frames.findOwners(ctx, t.frames.live())
		text, err = walk.ReadAll(ctx, t.life, t.frames.all(), func(f *frame) (string, error) { return r.frame(ctx, f, script.ReadArgs{Kind: drawn}) }, t.frames.hasNoDocument)
		return err
	})
	return text, err
}

// readRef reads the element of a ref, or without one the page.
func readRef(ctx context.Context, t *tab, refs *snapshot.Refs, ref, kind, attr string) (string, error) {
	r := reader{tab: t}
	q := script.ReadArgs{Kind: kind, Attr: attr}
	if ref == "" {
		return r.frame(ctx, t.frames.main, q)
	}
	e, d, err := t.c.resolve(refs, ref)
	if err != nil {
		return "", err
	}
	q.Node = e.Key.Node
	return r.document(ctx, d, q)
}

// inspect runs what reads the page and changes nothing. It asks for the title in front of
// it, so that the title costs no round trip.
func inspect(ctx context.Context, c *Context, do func(ctx context.Context, t *tab) error) error {
	return untilDialog(ctx, c, "", func(ctx context.Context, t *tab) error {
		c.mu.Lock()
		t.nav.askTitle()
		c.mu.Unlock()
		err := do(ctx, t)
		if err == nil {
			t.nav.awaitTitle(ctx)
		}
		return err
	})
}

// reader is one reading of a tab's content, through its frames.
type reader struct {
	tab    *tab
	frames int // read so far, the first one apart; up to maxFrames
}

// frame reads whatever document the frame has now.
func (r *reader) frame(ctx context.Context, f *frame, q script.ReadArgs) (string, error) {
	d, err := f.document()
	if err != nil {
		return "", err
	}
	return r.document(ctx, d, q)
}

// document reads a node of a document, with the frames in it in their places.
func (r *reader) document(ctx context.Context, d *document, q script.ReadArgs) (string, error) {
	got, err := evaluateWithListeners(ctx, d, script.Read, q) // closed shadow trees among them
	if err != nil {
		return "", err
	}
	switch {
	case got.Gone:
		return "", failure.ErrGone
	case got.None:
		return "", failure.ErrNone
	}
	return walk.Content(ctx, got.Pieces, func(node int) (string, error) {
		child := r.tab.frameIn(snapshot.Key{Doc: d.doc, Node: node})
		if child == nil || r.frames >= maxFrames || q.Kind == drawn {
			return "", nil
		}
		r.frames++
		return r.frame(ctx, child, script.ReadArgs{Kind: q.Kind})
	})
}

// frameIn returns the frame that an element holds, nil if it holds none.
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
