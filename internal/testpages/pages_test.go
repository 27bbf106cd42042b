package testpages

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The figures are given per element, so the page must have as many as it says.
func TestPageHasAsManyElementsAsAskedFor(t *testing.T) {
	for _, want := range append([]int{31, 107, 1_234}, Sizes...) {
		text := Page(want)
		if text != Page(want) {
			t.Errorf("%d: two pages differ", want)
		}
		doc, err := html.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode {
				got++
			}
		}
		if got != want {
			t.Errorf("Page(%d) has %d elements", want, got)
		}
		for _, part := range []string{">Count</button>", "Search <input", "<nav", "<h1"} {
			if !strings.Contains(text, part) {
				t.Errorf("Page(%d) has no %s", want, part)
			}
		}
	}
	for _, part := range []string{"<table", "<select", "<textarea", `type="checkbox"`, "<li>"} {
		if !strings.Contains(Page(1_500), part) {
			t.Errorf("Page(1500) has no %s", part)
		}
	}
}

func TestDocPage(t *testing.T) {
	text := DocPage(40)
	if text != DocPage(40) {
		t.Error("two pages differ")
	}
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	targets, links := map[string]bool{}, 0
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" {
				targets["#"+a.Val] = true
			}
		}
	}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" {
				links++
				if !targets[a.Val] {
					t.Errorf("a link leads to %s, which is nowhere", a.Val)
				}
			}
		}
	}
	if want := 40 * 6; links != want {
		t.Errorf("%d links, want %d", links, want)
	}
}
