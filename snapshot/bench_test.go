package snapshot

import (
	"fmt"
	"testing"
)

// listing is a page like a shop's: n elements with a ref, texts between them.
func listing(n, round int) Capture {
	c := Capture{URL: "https://shop.example/list?page=1", Title: "Shop · 商店", Input: 3 * n, Visited: 3 * n}
	for i := range n {
		node := Node{Key: Key{1, i + 1}, Role: "link", Name: fmt.Sprintf("Product %d “Größe” 价格", i), Tag: "a", Depth: i % 4,
			Attrs: []Attr{{Key: "href", Value: fmt.Sprintf("/p/%d?ref=list&x=<y>", i)}}, Ident: "f00d", Context: "Product and its price"}
		if i%5 == 0 {
			node.Role, node.States = "button", []string{"disabled", "pressed"}
		}
		if i%50 == 0 {
			node.Name += fmt.Sprint(" ", round)
		}
		c.Nodes = append(c.Nodes, node)
		if i%3 == 0 {
			c.Nodes = append(c.Nodes, Node{Role: RoleText, Name: fmt.Sprintf("In stock: %d pieces, delivered tomorrow.", i), Depth: i % 4})
		}
	}
	return c
}

func benchmarkRender(b *testing.B, n int, o Options) {
	c := listing(n, 0)
	refs := NewRefs()
	Render(c, o, refs)
	b.ReportAllocs()
	for b.Loop() {
		Render(c, o, refs)
	}
}

func whole() Options {
	o := DefaultOptions()
	o.MaxChars, o.MaxNodes = 10_000_000, 100_000
	return o
}

func BenchmarkRender200(b *testing.B)         { benchmarkRender(b, 200, whole()) }
func BenchmarkRender10000(b *testing.B)       { benchmarkRender(b, 10000, whole()) }
func BenchmarkRender10000Budget(b *testing.B) { benchmarkRender(b, 10000, DefaultOptions()) }
func BenchmarkRender10000JSON(b *testing.B) {
	o := whole()
	o.JSON = true
	benchmarkRender(b, 10000, o)
}

// A page seen for the first time: every ref is new.
func BenchmarkRender10000New(b *testing.B) {
	c := listing(10000, 0)
	b.ReportAllocs()
	for b.Loop() {
		Render(c, whole(), NewRefs())
	}
}

func benchmarkDiff(b *testing.B, n int) {
	refs, o := NewRefs(), whole()
	_, prev := Render(listing(n, 0), o, refs)
	_, cur := Render(listing(n, 1), o, refs)
	b.ReportAllocs()
	for b.Loop() {
		Diff(prev, cur, o)
	}
}

func BenchmarkDiff200(b *testing.B)   { benchmarkDiff(b, 200) }
func BenchmarkDiff10000(b *testing.B) { benchmarkDiff(b, 10000) }

func BenchmarkDiffSortedGrid(b *testing.B) {
	refs, o := NewRefs(), whole()
	_, prev := Render(grid(20, 1), o, refs)
	_, cur := Render(grid(20, 3), o, refs)
	b.ReportAllocs()
	for b.Loop() {
		Diff(prev, cur, o)
	}
}
