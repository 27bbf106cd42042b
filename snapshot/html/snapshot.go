package html

import (
	"context"
	"net/url"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// Options are the options of Snapshot and Page.More: the parameters of a session's
// snapshot (PROTOCOL.md section 5). The zero value is a snapshot without parameters.
type Options struct {
	// URL is the URL of the document, with which relative ones are completed. It stands in
	// the header. Empty is about:blank. Page.More ignores it.
	URL         string
	Scope       string   // a CSS selector or, for More, a ref; empty is the whole page
	AllElements bool     // every readable element (interactive_only: false)
	MaxChars    int      // characters of the text, header and [more] line included; 0 is 12000
	MaxNodes    int      // lines with a ref; 0 is 200
	MaxDepth    int      // deeper nodes are counted and not shown; 0 is 12
	MaxText     int      // characters of one name, text or value; 0 is 200
	Attrs       []string // the attributes shown; nil is those of snapshot.DefaultOptions
	RepeatText  bool     // show a text that a name already has (dedupe_text: false)
	After       string   // for More: continue after this ref
	JSON        bool     // fill Nodes as well
}

func (o Options) filled() snapshot.Options {
	s := snapshot.DefaultOptions()
	s.Scope, s.After, s.JSON = o.Scope, o.After, o.JSON
	s.InteractiveOnly, s.DedupeText = !o.AllElements, !o.RepeatText
	s.MaxChars, s.MaxNodes = limitOr(o.MaxChars, s.MaxChars), limitOr(o.MaxNodes, s.MaxNodes)
	s.MaxDepth, s.MaxText = limitOr(o.MaxDepth, s.MaxDepth), limitOr(o.MaxText, s.MaxText)
	if o.Attrs != nil {
		s.Attrs = o.Attrs
	}
	return s
}

// limitOr returns n, or preset if n is no limit: 0 or less.
func limitOr(n, preset int) int {
	if n <= 0 {
		return preset
	}
	return n
}

// Page is a document with its first snapshot and the refs that were given out for it. One
// goroutine at a time uses it.
type Page struct {
	snapshot.Snapshot // Text, Stats, and Nodes with Options.JSON

	doc  *Document
	refs *snapshot.Refs
}

// Snapshot takes a snapshot of the HTML in text, which is UTF-8. Its text is the one that a
// session without Chromium shows of this HTML at o.URL. Nothing is fetched and nothing is
// executed. The error is a *protocol.Error: invalid_params for a URL or a scope, unknown_ref
// for a ref, because none was given out yet.
func Snapshot(text string, o Options) (*Page, error) {
	var location *url.URL
	if o.URL != "" {
		var err error
		if location, err = url.Parse(o.URL); err != nil || !location.IsAbs() {
			return nil, protocol.Errorf(protocol.InvalidParams, "url %s: accepts an absolute URL", snapshot.Quote(snapshot.Cut(o.URL, 100))).With("parameter", "url")
		}
	}
	p, err := open(text, location)
	if err == nil {
		p.Snapshot, err = p.snapshot(o.filled())
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func open(text string, location *url.URL) (*Page, error) {
	d, err := Parse(context.Background(), text, location, 1)
	if err != nil {
		return nil, err
	}
	return &Page{doc: d, refs: snapshot.NewRefs()}, nil
}

// More takes a further snapshot of the page: what follows Options.After, such as Stats.After
// of a truncated one, or what is in Options.Scope. Refs given out before stay valid. The
// errors are those of Snapshot; unknown_ref is for a ref that was not given out.
func (p *Page) More(o Options) (snapshot.Snapshot, error) { return p.snapshot(o.filled()) }

func (p *Page) snapshot(o snapshot.Options) (snapshot.Snapshot, error) {
	c, err := p.doc.Capture(context.Background(), o, p.refs, nil)
	if err != nil {
		return snapshot.Snapshot{}, err
	}
	s, _ := snapshot.Render(c, o, p.refs)
	return s, nil
}

// Query returns what the element of a ref has, or the whole page if ref is empty. kind is
// text, its visible text; attr, its attributes as a JSON object; or html, its markup. Secrets
// are masked. What is longer than limit characters is cut and ends with "…"; 0 is 4000.
//
// The error is a *protocol.Error: unknown_ref for a ref that was not given out,
// invalid_params for another kind, and for kind attr without a ref.
func (p *Page) Query(ref, kind string, limit int) (string, error) {
	if ref == "" && kind == "attr" {
		return "", protocol.Errorf(protocol.InvalidParams, "kind attr: needs a ref").With("parameter", "ref")
	}
	n := p.doc.Root()
	if ref != "" {
		var err error
		if n, err = p.doc.Resolve(ref, p.refs); err != nil {
			return "", err
		}
	}
	content := ""
	switch kind {
	case "text":
		content = p.doc.Text(n, nil)
	case "attr":
		content = p.doc.Attributes(n)
	case "html":
		content = p.doc.HTML(n)
	default:
		return "", protocol.Errorf(protocol.InvalidParams, "kind %s: accepts text, attr, html", snapshot.Quote(snapshot.Cut(kind, 100))).With("parameter", "kind")
	}
	return snapshot.Cut(content, limitOr(limit, 4000)), nil
}
