// Package readable turns the HTML of a page into the text or Markdown that a person would
// read: the article if the page has one, else the page without its boilerplate
// (navigation, headers, footers, controls). It owns that choice and the format of the
// text. It is pure: no network, no state, and any goroutine may use it.
//
// The article is the one that go-readability finds, if its text is at least 0.3 of the
// text of the page without boilerplate, or 0.1 of it on a page that declares itself an
// article; both figures were measured. From 2 MB of HTML on it does not look for an
// article. From 10 MB on, and where html.Parse gives up, it returns the text of the
// tokens in their order.
package readable

import (
	"context"
	"log/slog"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"

	"github.com/browserd/browserd/internal/ctxio"
)

const (
	articleLimit = 2 << 20  // bytes of HTML in which an article is looked for
	parseLimit   = 10 << 20 // bytes of HTML that are parsed
	// minShare is the least part of the page's text that an article must have.
	minShare = 0.3
	// declaredShare is that part for a page that declares itself an article, which may
	// have long comments after it. Such an article has at least minArticle characters.
	declaredShare = 0.1
	minArticle    = 250
)

// Page is the readable part of a page. One goroutine at a time may use it.
type Page struct {
	// Title is the title of the document, with single blanks.
	Title string
	base  *url.URL
	// node is the readable part; nil if only text is known.
	node    *html.Node
	text    string
	article bool // node is what readability found
	large   bool
}

// Parse returns the readable part of a page. at is the page's URL, nil if it is not known;
// links are relative to it and to the page's base element. Parse never fails, because all
// HTML has a meaning. If ctx ends first, the Page has its text only, or nothing.
func Parse(ctx context.Context, source string, at *url.URL) *Page {
	p := &Page{large: len(source) > articleLimit}
	if len(source) > parseLimit {
		p.Title, p.text = tokens(source)
		return p
	}
	doc, err := parse(ctx, source)
	if err != nil {
		p.Title, p.text = tokens(source)
		return p
	}
	p.Title, p.base = titleOf(doc), baseOf(doc, at)
	flatten(doc)
	if p.large {
		p.node = withoutBoilerplate(doc)
		return p
	}
	article, declared := articleOf(ctx, source, p.base), declaresArticle(doc)
	if ctx.Err() != nil {
		return p // the caller has given up
	}
	p.node = withoutBoilerplate(doc)
	if article == nil {
		return p
	}
	share := float64(textLength(article)) / max(float64(textLength(p.node)), 1)
	if share >= minShare || share >= declaredShare && declared && textLength(article) >= minArticle {
		p.node, p.article = article, true
	}
	return p
}

// Title returns the title of a page without parsing the rest, with single blanks.
func Title(source string) string {
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) != "title" {
				continue
			}
			if z.Next() == html.TextToken {
				return fold(string(z.Text()))
			}
			return ""
		}
	}
}

// Text returns the readable part as text: an empty line between paragraphs, a line for
// each list item and table row. It leaves out the captions of an article's pictures.
func (p *Page) Text() string {
	if p.node == nil {
		return p.text
	}
	return textOf(p.node, p.article)
}

// parse parses HTML as a browser without script does, until ctx ends.
func parse(ctx context.Context, source string) (*html.Node, error) {
	return html.ParseWithOptions(ctxio.Text(ctx, source), html.ParseOptionEnableScripting(false))
}

// articleOf returns the article that go-readability finds, nil if it finds none, panics, or
// is not done when ctx ends.
func articleOf(ctx context.Context, source string, base *url.URL) (article *html.Node) {
	defer func() {
		if recover() != nil {
			article = nil
		}
	}()
	doc, err := parse(ctx, source)
	if err != nil {
		return nil
	}
	flatten(doc)
	if base == nil {
		base = &url.URL{}
	}
	parser := readability.NewParser()
	parser.KeepClasses = true // language needs those of code
	parser.Logger = slog.New(cancelLogger{ctx})
	found, err := parser.ParseAndMutate(doc, base)
	if err != nil || found.Node == nil {
		return nil
	}
	cleanArticle(found.Node)
	return found.Node
}

// cancelLogger is a log handler that discards everything and panics when ctx has ended:
// go-readability accepts no context, but logs each element. articleOf recovers.
type cancelLogger struct{ ctx context.Context }

func (e cancelLogger) check() {
	if err := e.ctx.Err(); err != nil {
		panic(err)
	}
}

func (e cancelLogger) Enabled(context.Context, slog.Level) bool {
	e.check()
	return false
}

func (e cancelLogger) Handle(context.Context, slog.Record) error { return nil }

func (e cancelLogger) WithAttrs([]slog.Attr) slog.Handler {
	e.check()
	return e
}

func (e cancelLogger) WithGroup(string) slog.Handler { return e }

func titleOf(doc *html.Node) string {
	if t := first(doc, "title"); t != nil {
		return fold(rawText(t))
	}
	return ""
}
