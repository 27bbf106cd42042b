// Package readable makes the text or Markdown that a person would read on a
// page out of its HTML: the article where there is one, and otherwise the page
// without what surrounds it. It is pure: HTML in, text out, no network and no
// state, so any goroutine may use it.
//
// Which of the two it is follows a measured rule: the article that
// go-readability finds, where its text is at least 0.3 of the lean page's, or
// 0.1 of it on a page that says to be an article. Up
// to 2 MB of HTML go the whole way; to 10 MB it is the lean page alone; above
// that, and where html.Parse gives up, the tokens' text in their order.
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
	wholeLimit = 2 << 20  // bytes of HTML that go through the whole pipeline
	leanLimit  = 10 << 20 // bytes of HTML that are parsed at all
	// leastShare is the part of the lean page's text that an article must have.
	leastShare = 0.3
	// saidShare is that part, and leastArticle the text in characters, where the
	// page says itself that it is an article: what follows it may be long.
	saidShare    = 0.1
	leastArticle = 250
)

// Page is a page to be read.
type Page struct {
	// Title is the document's, folded.
	Title string
	base  *url.URL
	// node is what is read of the page; nil: text is.
	node    *html.Node
	text    string
	article bool // node is what readability found
	large   bool
}

// Parse chooses what is to be read of a page at that address, which may be nil:
// its links are relative to it, or to what the page's base element makes of it.
// It never fails: HTML always has a meaning. Where ctx ends first, it is the text alone, or nothing.
func Parse(ctx context.Context, source string, at *url.URL) *Page {
	p := &Page{large: len(source) > wholeLimit}
	if len(source) > leanLimit {
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
		p.node = lean(doc)
		return p
	}
	article, says := articleOf(ctx, source, p.base), saysArticle(doc)
	if ctx.Err() != nil {
		return p // nobody reads it any more
	}
	p.node = lean(doc)
	if article == nil {
		return p
	}
	share := float64(weight(article)) / max(float64(weight(p.node)), 1)
	if share >= leastShare || share >= saidShare && says && weight(article) >= leastArticle {
		p.node, p.article = article, true
	}
	return p
}

// Title is the title of a page that is not to be read otherwise, folded.
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

// Text is what is to be read, as text: paragraphs apart, list items and table
// rows on lines of their own; of an article without the captions of pictures
// that text does not show.
func (p *Page) Text() string {
	if p.node == nil {
		return p.text
	}
	return textOf(p.node, p.article)
}

// parse reads HTML as a browser without script does, until ctx ends.
func parse(ctx context.Context, source string) (*html.Node, error) {
	return html.ParseWithOptions(ctxio.Text(ctx, source), html.ParseOptionEnableScripting(false))
}

// articleOf is the article that readability finds, or nil. A page that it
// cannot cope with has none, nor has one with which it is not done when ctx ends.
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
	parser.KeepClasses = true // of code, for its language
	parser.Logger = slog.New(ending{ctx})
	found, err := parser.ParseAndMutate(doc, base)
	if err != nil || found.Node == nil {
		return nil
	}
	polish(found.Node)
	return found.Node
}

// ending is a log that says nothing and ends with ctx: readability takes no context,
// but tells its log of the elements that it looks at. articleOf recovers from the panic.
type ending struct{ ctx context.Context }

func (e ending) check() {
	if err := e.ctx.Err(); err != nil {
		panic(err)
	}
}

func (e ending) Enabled(context.Context, slog.Level) bool {
	e.check()
	return false
}

func (e ending) Handle(context.Context, slog.Record) error { return nil }

func (e ending) WithAttrs([]slog.Attr) slog.Handler {
	e.check()
	return e
}

func (e ending) WithGroup(string) slog.Handler { return e }

func titleOf(doc *html.Node) string {
	if t := first(doc, "title"); t != nil {
		return fold(rawText(t))
	}
	return ""
}
