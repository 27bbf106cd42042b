package html

import (
	"fmt"
	"strings"
	"testing"

	"github.com/browserd/browserd/snapshot"
)

// shopPage is a page of at least size bytes: a list of products with links,
// text and forms, and a style sheet of 200 rules.
func shopPage(size int) string {
	var b strings.Builder
	b.WriteString("<!doctype html><html><head><title>Shop</title><style>")
	for i := range 200 {
		fmt.Fprintf(&b, ".c%d > .x%d span, #i%d:hover { display: none } .card .t%d { text-transform: uppercase; color: #%06x }\n", i, i, i, i, i)
	}
	b.WriteString("</style></head><body><header><nav><a href=/>Home</a></nav></header><main><h1>Offers</h1><ul>")
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `<li class="card c%d"><article><h2 class="t%d"><a href="/p/%d" title="Product %d">Product number %d</a></h2>`+
			`<p>A product that is <b>quite</b> good, in stock since %d, delivered within %d days.</p>`+
			`<form action="/buy"><input type="hidden" name="id" value="%d"><label>Amount <input name="n" type="number" min="1" value="1"></label>`+
			`<button class="btn btn-primary">Buy</button></form></article></li>`+"\n", i%200, i%50, i, i, i, 1900+i%120, i%9, i)
	}
	b.WriteString("</ul></main></body></html>")
	return b.String()
}

func BenchmarkSnapshot(b *testing.B) {
	for _, size := range []int{60 << 10, 600 << 10, 20 << 20} {
		page := shopPage(size)
		b.Run(fmt.Sprintf("parse/%dKB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(b.Context(), page, nil, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
		d, err := Parse(b.Context(), page, nil, 1)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("capture/%dKB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				refs := snapshot.NewRefs()
				c, err := d.Capture(b.Context(), snapshot.DefaultOptions(), refs, nil)
				if err != nil {
					b.Fatal(err)
				}
				s, _ := snapshot.Render(c, snapshot.DefaultOptions(), refs)
				if !s.Stats.Truncated {
					b.Fatalf("%+v", s.Stats)
				}
			}
		})
	}
}

// BenchmarkRealPages reads the real pages and takes a snapshot of each.
func BenchmarkRealPages(b *testing.B) {
	var pages []string
	size := 0
	for _, p := range listedPages(b) {
		pages = append(pages, readPage(b, p))
		size += len(pages[len(pages)-1])
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, page := range pages {
			if _, _, err := snapshotOf(page, snapshot.DefaultOptions()); err != nil {
				b.Fatal(err)
			}
		}
	}
}
