package html

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// FuzzSnapshot holds every document to what holds for all: it is read without a
// panic, what is written is within its budgets and is what the strict parser
// reads, it goes on after where it stopped, the same document gives the same
// text, and no question returns more than was asked for.
func FuzzSnapshot(f *testing.F) {
	for _, page := range hostile {
		f.Add(head(page, 3000), "a", true, 12000, 200, 200)
	}
	f.Add(`<style>p::before{content:"\201c" attr(title)}@media(max-width:9px){a{}}</style><p title=x>a<b>b</b><a href=x>c</a>`, "p > a", true, 400, 3, 5)
	f.Add(`<select multiple><optgroup label=g><option selected>x</select><input type=range min=9 max=1 value=x><table><caption>c<th>h`, "@e1", false, 90, 1, 0)
	f.Add("<svg><a xlink:href=x><title>t</title></a><foreignObject><p>x", ":not(", false, 12000, 200, 2)
	f.Add(strings.Repeat("<b>", 600)+"<a href=x>deep", "", true, 12000, 200, 200)
	f.Add("<details><summary>s</summary><p>x</details><dialog open>d</dialog><label for=i>l</label><input id=i aria-labelledby='i i'>", "", true, 300, 2, 9)
	f.Fuzz(func(t *testing.T, page, scope string, digest bool, maxChars, maxNodes, maxText int) {
		if len(page) > 1<<15 {
			return
		}
		o := snapshot.DefaultOptions()
		o.InteractiveOnly, o.JSON = digest, true
		o.MaxChars, o.MaxNodes, o.MaxText = bound(maxChars), bound(maxNodes), bound(maxText)
		s, view, err := snapshotOf(page, o)
		if err != nil {
			t.Fatal(err)
		}
		check(t, s, o)
		if again, _, _ := snapshotOf(page, o); again.Text != s.Text {
			t.Fatalf("the second time:\n%s\nthe first:\n%s", again.Text, s.Text)
		}
		for n, p := range view.doc.elements {
			if got := view.doc.Key(p).Node; got != n+1 {
				t.Fatalf("element %d has number %d", n+1, got)
			}
		}
		for _, n := range s.Nodes {
			if n.Ref == "" {
				continue
			}
			if _, _, _, err := view.read(n.Ref); err != nil {
				t.Fatalf("%s: %v", n.Ref, err)
			}
		}
		seen := map[string]bool{}
		for next := o; s.Stats.After != "" && len(seen) < 20; {
			if seen[s.Stats.After] {
				t.Fatalf("stopped at %s twice", s.Stats.After)
			}
			seen[s.Stats.After] = true
			next.After = s.Stats.After
			if s, err = view.snapshot(next); err != nil {
				t.Fatal(err)
			}
			check(t, s, next)
		}
		o.Scope = scope
		s, err = view.snapshot(o)
		if err != nil && protocol.CodeOf(err) == protocol.Internal {
			t.Fatal(err)
		}
		check(t, s, o)
		if _, err := view.doc.Find(t.Context(), protocol.Query{Text: head(scope, 20), Role: "link", Limit: 5}, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func bound(n int) int {
	if n < 0 {
		n = -(n + 1)
	}
	return n % 20000
}

// FuzzSheet holds the reading of style sheets to ending without a panic.
func FuzzSheet(f *testing.F) {
	f.Add("@media screen and (min-width:1px){a > b.c[d^='e']:not(.f,#g)::before{content:'\\41 x' / attr(y);display:var(--x, none)!important}}")
	f.Add("a{b:c;}}<!-- p{display:none} --> @import 'x'; /* q */ x\\:y{float:left")
	f.Fuzz(func(t *testing.T, css string) {
		if len(css) > 1<<14 {
			return
		}
		d, err := Parse(t.Context(), "<a id=g class='c f' href=x><b class=c d=e>text</b></a>", nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		d.sheet = &sheet{}
		d.sheet.read(stripComments(css), 0)
		k := d.resolver(nil)
		for n := d.root; n != nil; n = after(n, d.root) {
			if n.Type == html.ElementNode {
				k.style(n)
				k.name(n, k.role(n))
			}
		}
	})
}
