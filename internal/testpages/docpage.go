package testpages

import (
	_ "embed"
	"fmt"
	"strings"
)

// SPA is an app of custom elements in open and closed shadow roots, with rows
// made by script, listeners instead of roles, and a frame whose document is at
// "frame" beside it. A button called Count changes one line of text.
//
//go:embed testdata/spa.html
var SPA string

// SPAFrame is the document of the SPA's frame.
const SPAFrame = `<!doctype html><meta charset="utf-8"><title>Preview</title><h2>Preview</h2><p>Nothing is chosen.</p>` +
	`<label>Answer <textarea name="answer"></textarea></label> <button type="button">Send</button>`

// DocPage returns a reference manual on one page, as programming languages and
// libraries have them: a table of contents, and for each of so many entries a
// heading with its anchor, prose with links, code, and a table of parameters.
// It has a search field called Search and a button called Count, which changes
// one line of text. The same number gives the same bytes; an entry is some 35
// elements.
func DocPage(entries int) string {
	p := &pageWriter{}
	p.raw("<!doctype html>")
	p.open("html", `lang="en"`)
	p.open("head", "")
	p.leaf("meta", `charset="utf-8"`, "")
	p.leaf("title", "", "Reference manual")
	p.leaf("style", "", `body{font:15px serif;display:grid;grid-template-columns:240px 1fr}pre{background:#f4f4f4;padding:6px}td,th{border:1px solid #ccc;padding:2px 6px}`)
	p.close("head")
	p.open("body", "")
	p.open("nav", `aria-label="Contents"`)
	p.raw(`<input type="search" aria-label="Search">`)
	p.open("ul", "")
	for i := 1; i <= entries; i++ {
		p.open("li", "")
		p.leaf("a", fmt.Sprintf(`href="#f%d"`, i), fmt.Sprintf("function_%d", i))
		p.close("li")
	}
	p.close("ul")
	p.close("nav")
	p.open("main", "")
	p.leaf("h1", "", "Reference manual")
	p.leaf("button", `type="button" onclick="n.textContent = Number(n.textContent) + 1"`, "Count")
	p.leaf("p", `id="n" role="status"`, "0")
	for i := 1; i <= entries; i++ {
		p.entry(i, entries)
	}
	p.close("main")
	p.close("body")
	p.close("html")
	return p.b.String()
}

func (p *pageWriter) entry(i, entries int) {
	other := func(by int) int { return (i*by)%entries + 1 }
	p.open("section", fmt.Sprintf(`id="f%d"`, i))
	p.open("h2", "")
	p.leaf("code", "", fmt.Sprintf("function_%d(value, options)", i))
	p.leaf("a", fmt.Sprintf(`href="#f%d" aria-label="Link to function_%d"`, i, i), "¶")
	p.close("h2")
	for paragraph := range 2 {
		p.open("p", "")
		p.raw(fmt.Sprintf("Returns the value number %d of the series, rounded to %d digits. Where the series has ended, the answer is the one that ", i, paragraph+2))
		p.leaf("a", fmt.Sprintf(`href="#f%d"`, other(7+paragraph)), fmt.Sprintf("function_%d", other(7+paragraph)))
		p.raw(" gives for an empty one; see also ")
		p.leaf("a", fmt.Sprintf(`href="#f%d"`, other(11+paragraph)), fmt.Sprintf("function_%d", other(11+paragraph)))
		p.raw(". It never blocks, and it may be called while another call is under way.")
		p.close("p")
	}
	p.leaf("pre", "", strings.Repeat(fmt.Sprintf("result = function_%d(%d, {digits: 2})\n", i, i), 4))
	p.open("table", "")
	p.open("tbody", "")
	for row, name := range []string{"value", "options", "digits", "default"} {
		p.open("tr", "")
		p.leaf("td", "", name)
		p.leaf("td", "", []string{"number", "object", "number", "any"}[row])
		p.leaf("td", "", fmt.Sprintf("The %s of function_%d, as it is when the call begins.", name, i))
		p.close("tr")
	}
	p.close("tbody")
	p.close("table")
	p.close("section")
}
