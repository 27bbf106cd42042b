package fallback

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// source is a document as it was fetched, from which it can be loaded again.
type source struct {
	at      address // zero for about:blank
	text    string
	charset string
	status  int
	name    string // http or jina
	header  http.Header
	pdf     bool // text is what the bytes of a PDF hold
}

// document is a loaded document: its tree and what its controls hold.
type document struct {
	source
	tree     *snaphtml.Document
	controls *form.Controls
	base     address
	policy   string // the referrer policy of its requests
}

// load parses a document and gives it a number of its own. The error is ctx's, or
// too_large.
func (p *Page) load(ctx context.Context, s source) (*document, error) {
	done, err := p.o.Sources.memory.reserve(len(s.text))
	if err != nil {
		return nil, err
	}
	defer done()
	p.mu.Lock()
	p.state.Document++
	number := p.state.Document
	p.mu.Unlock()
	return read(ctx, s, number)
}

// read parses a document, with its base URL, referrer policy and autofocus.
func read(ctx context.Context, s source, number int) (*document, error) {
	var at *url.URL
	if s.at.scheme != "" {
		at, _ = url.Parse(s.at.String()) // nil for a URL that net/url refuses
	}
	tree, err := snaphtml.Parse(ctx, s.text, at, number)
	if err != nil {
		return nil, err
	}
	d := &document{source: s, tree: tree, controls: form.NewControls(ctx, tree.Root()), base: s.at, policy: policyOf(tree.Root(), s.header)}
	if href, ok := baseHref(tree.Root()); ok && s.at.scheme != "" {
		if base, other := s.at.resolve(href, s.charset); other == "" {
			d.base = base
		}
	}
	form.Elements(tree.Root(), func(n *html.Node) bool {
		if _, auto := form.Attr(n, "autofocus"); auto && !form.Disabled(n) && tree.Rendered(n) {
			d.controls.Focus(n)
			return false
		}
		return ctx.Err() == nil
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return d, nil
}

// empty returns the document of about:blank, under the number of the last document.
func (p *Page) empty() *document {
	at := p.State()
	d, err := read(context.Background(), source{charset: "utf-8", name: at.Source}, at.Document)
	if err != nil { // nothing to parse
		panic(err)
	}
	return d
}

// show makes d the page's document, at a URL that may have another fragment than d.
func (p *Page) show(d *document, at address) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = protocol.Page{
		Tab: "t1", URL: blank, Title: d.tree.Title(), Status: d.status, Source: d.name, Ready: "complete", Document: d.tree.Number(),
	}
	if at.scheme != "" {
		p.state.URL = at.String()
	}
	if d.pdf {
		p.state.Type = protocol.TypePDF
	}
}

// baseHref returns the first href of a base element (HTML 4.2.3).
func baseHref(root *html.Node) (href string, ok bool) {
	form.Elements(root, func(n *html.Node) bool {
		if form.Is(n, "base") {
			href, ok = form.Attr(n, "href")
		}
		return !ok
	})
	return href, ok
}

// soon is the longest delay of a refresh that counts as a redirect. Chromium replaces the
// history entry up to this delay.
const soon = time.Second

// refresh returns the address to which a document redirects, by its meta element or its
// header Refresh (HTML 4.2.5.3).
func (d *document) refresh() (to address, ok bool) {
	content := d.header.Get("Refresh")
	form.Elements(d.tree.Root(), func(n *html.Node) bool {
		if equiv, _ := form.Attr(n, "http-equiv"); content == "" && form.Is(n, "meta") && strings.EqualFold(equiv, "refresh") {
			content, _ = form.Attr(n, "content")
		}
		return content == ""
	})
	after, ref, ok := parseRefresh(content)
	if !ok || after > soon || d.at.scheme == "" {
		return address{}, false
	}
	to, other := d.base.resolve(ref, d.charset)
	return to, other == ""
}

// parseRefresh parses the content of a refresh, such as "0; url=next". ok is false if it
// has no URL.
func parseRefresh(s string) (after time.Duration, ref string, ok bool) {
	s = strings.TrimSpace(s)
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return 0, "", false
	}
	seconds, err := strconv.Atoi(s[:end])
	if err != nil && !strings.HasPrefix(s, ".") {
		return 0, "", false
	}
	rest := strings.TrimLeft(s[end:], "0123456789.")
	rest = strings.TrimLeft(rest, " \t\n\f\r;,")
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if after := strings.TrimLeft(rest[3:], " \t\n\f\r"); strings.HasPrefix(after, "=") {
			rest = strings.TrimLeft(after[1:], " \t\n\f\r")
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	}
	return time.Duration(min(seconds, 1<<20)) * time.Second, rest, rest != ""
}
