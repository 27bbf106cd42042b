package bench

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
