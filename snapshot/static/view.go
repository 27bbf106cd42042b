package static

import (
	"context"
	"net/url"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// View is a document with the refs that were given out for it: the face of this
// package for those who have no daemon. Not safe for use by several goroutines at
// a time.
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

// The kinds of Query.
const (
	KindText  = "text"  // what it shows, line by line
	KindAttrs = "attrs" // its attributes, as a JSON object
	KindHTML  = "html"  // its markup
)

// maxQuery is how many characters Query returns where no limit is given.
const maxQuery = 4000

// Query returns what the element of a ref holds, in at most limit characters
// (4000 where limit is below 1); cut says that there is more. Secrets are masked.
// Errors are *protocol.Error: unknown_ref, invalid_params.
func (v *View) Query(ref, kind string, limit int) (text string, cut bool, err error) {
	n, err := v.Document.Resolve(ref, v.refs)
	if err != nil {
		return "", false, err
	}
	if limit < 1 {
		limit = maxQuery
	}
	switch kind {
	case KindText:
		text, cut = v.Document.Text(n, nil, limit)
	case KindAttrs:
		text, cut = v.Document.Attributes(n, limit)
	case KindHTML:
		text, cut = v.Document.HTML(n, limit)
	default:
		return "", false, protocol.Errorf(protocol.InvalidParams, "kind %s: takes text, attrs or html", snapshot.Quote(snapshot.Cut(kind, 100))).With("parameter", "kind")
	}
	return text, cut, nil
}
