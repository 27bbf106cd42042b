package readable

import (
	"context"
	"strings"
	"testing"
)

// ends is a context that ends when it has been asked so many times whether it has.
type ends struct {
	context.Context
	left, asked int
}

func (e *ends) Err() error {
	e.asked++
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return nil
}

// Whoever asks for a page gives up, and the work on it ends: neither readability nor
// the converter to Markdown takes a context, but both look at it all along.
func TestReadingEndsWithItsContext(t *testing.T) {
	const paragraphs = 100
	words := strings.Repeat("Some words, that say a thing, and then <b>another</b> thing. ", 3)
	source := "<title>A</title><article>" + strings.Repeat("<p>"+words+"</p>", paragraphs) + "<table><tr><td>x</table></article>" + strings.Repeat("<div hidden>no</div>", paragraphs)
	read := func(left int) (e *ends, p *Page) {
		e = &ends{Context: t.Context(), left: left}
		return e, Parse(e, source, nil)
	}
	convert := func(left int) (e *ends, md string) {
		e = &ends{Context: t.Context(), left: left}
		return e, Parse(t.Context(), source, nil).Markdown(e)
	}
	all, p := read(1 << 30)
	if !p.article || all.asked < paragraphs {
		t.Fatalf("article %v, and its context was asked %d times", p.article, all.asked)
	}
	for left := range all.asked {
		e, p := read(left)
		if p.article {
			t.Errorf("ended at the %d. time it is an article", left+1)
		}
		if more := e.asked - left; more > 10 {
			t.Errorf("ended at the %d. time it was asked %d times more", left+1, more)
		}
	}
	all, md := convert(1 << 30)
	if !strings.Contains(md, "**another**") || all.asked < paragraphs {
		t.Fatalf("the context was asked %d times for %q", all.asked, md[:100])
	}
	for left := range all.asked {
		if e, md := convert(left); strings.Contains(md, "**") || e.asked > left+1 {
			t.Errorf("ended at the %d. time it was asked %d times, for %q", left+1, e.asked, md[:min(100, len(md))])
		}
	}
}
