package html

import (
	"context"
	"net/url"

	"github.com/browserd/browserd/snapshot"
)

// View is a document with the refs that were given out for it, for one client.
type View struct {
	Document *Document
	refs     *snapshot.Refs
}

// Snapshot reads HTML and returns its first snapshot, and the view in which its
// refs mean something.
func Snapshot(text string, o snapshot.Options) (snapshot.Snapshot, *View, error) {
	view, err := Open(text, nil)
	if err != nil {
		return snapshot.Snapshot{}, nil, err
	}
	s, err := view.Snapshot(o)
	return s, view, err
}

// Open reads HTML that came from location, nil where nobody knows.
func Open(text string, location *url.URL) (*View, error) {
	d, err := Parse(context.Background(), text, location, 1)
	if err != nil {
		return nil, err
	}
	return &View{Document: d, refs: snapshot.NewRefs()}, nil
}

// Snapshot takes a further snapshot: what comes after a ref, or what is within one.
func (v *View) Snapshot(o snapshot.Options) (snapshot.Snapshot, error) {
	c, err := v.Document.Capture(context.Background(), o, v.refs, nil)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	s, _ := snapshot.Render(c, o, v.refs)
	return s, nil
}

// read is what the element of a ref holds, as each of the three ways to read it.
func (v *View) read(ref string) (text, attributes, markup string, err error) {
	n, err := v.Document.Resolve(ref, v.refs)
	if err != nil {
		return "", "", "", err
	}
	return v.Document.Text(n, nil), v.Document.Attributes(n), v.Document.HTML(n), nil
}
