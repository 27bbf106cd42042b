// Package testpages makes the pages that tests and benchmarks measure on: pages
// of a given number of elements, a reference manual, and an app of custom
// elements. The generators are pure functions: the same number gives the same
// bytes.
package testpages

import (
	"fmt"
	"strings"
)

// Sizes are the pages that the figures are given for, in elements.
var Sizes = []int{30, 1_500, 10_000, 50_000}

// Page returns a page of exactly the given number of elements, html, head and
// all (at least 30): navigation, headings, paragraphs with links, a form, a
// table, and list rows with buttons, in the proportions of a shop's page. The
// same number gives the same bytes. The first button, called Count, changes
// one line of text; the first text field is called Search.
func Page(elements int) string {
	p := &pageWriter{}
	p.raw("<!doctype html>")
	p.open("html", `lang="en"`)
	p.open("head", "")
	p.leaf("meta", `charset="utf-8"`, "")
	p.leaf("title", "", fmt.Sprintf("A page of %d elements", elements))
	p.leaf("style", "", `body{font:14px sans-serif}li{display:flex;gap:8px}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:2px 6px}`)
	p.close("head")
	p.open("body", "")

	p.open("header", "")
	p.open("nav", `aria-label="Main"`)
	for _, name := range []string{"Home", "Offers", "Orders", "Help"} {
		p.leaf("a", `href="/`+strings.ToLower(name)+`"`, name)
	}
	p.close("nav")
	p.open("form", `role="search"`)
	p.open("label", "")
	p.raw("Search ")
	p.leaf("input", `name="q"`, "")
	p.close("label")
	p.leaf("button", `type="button"`, "Find")
	p.close("form")
	p.close("header")

	p.open("main", "")
	p.leaf("h1", "", "Everything in the shop")
	p.leaf("button", `type="button" onclick="n.textContent = Number(n.textContent) + 1"`, "Count")
	p.leaf("p", `id="n" role="status"`, "0")
	for section := 1; p.count+sectionCost <= elements; section++ {
		p.section(section)
	}
	for p.count < elements {
		p.leaf("p", "", fmt.Sprintf("Note %d: prices hold until midnight.", p.count))
	}
	p.close("main")
	p.close("body")
	p.close("html")
	return p.b.String()
}

// sectionCost is the number of elements that section writes.
const sectionCost = 2 + 3 + formCost + tableCost + 1 + rows*rowCost

const (
	rows      = 10 // list rows in a section
	rowCost   = 6
	tableRows = 3
	tableCost = 3 + 4 + tableRows*4 // table, caption, tbody; the head's row; the body's
	formCost  = 10
)

type pageWriter struct {
	b     strings.Builder
	count int
}

func (p *pageWriter) raw(s string) { p.b.WriteString(s) }

func (p *pageWriter) open(tag, attrs string) {
	p.count++
	p.b.WriteByte('<')
	p.b.WriteString(tag)
	if attrs != "" {
		p.b.WriteByte(' ')
		p.b.WriteString(attrs)
	}
	p.b.WriteByte('>')
}

func (p *pageWriter) close(tag string) { p.b.WriteString("</" + tag + ">\n") }

// leaf writes an element that holds only text; meta, input and img have no end.
func (p *pageWriter) leaf(tag, attrs, text string) {
	p.open(tag, attrs)
	p.raw(text)
	if tag != "meta" && tag != "input" && tag != "img" {
		p.close(tag)
	}
}

func (p *pageWriter) section(n int) {
	p.open("section", fmt.Sprintf(`aria-labelledby="s%d"`, n))
	p.leaf("h2", fmt.Sprintf(`id="s%d"`, n), fmt.Sprintf("Shelf %d", n))
	p.open("p", "")
	p.raw("What is on this shelf changes weekly; ")
	p.leaf("a", fmt.Sprintf(`href="/shelf/%d/history"`, n), "see what was here before")
	p.raw(", or ")
	p.leaf("a", fmt.Sprintf(`href="/shelf/%d/ask"`, n), "ask for something")
	p.raw(".")
	p.close("p")
	p.form(n)
	p.table(n)
	p.open("ul", fmt.Sprintf(`aria-label="Shelf %d"`, n))
	for i := 1; i <= rows; i++ {
		p.row(n, i)
	}
	p.close("ul")
	p.close("section")
}

func (p *pageWriter) row(section, i int) {
	thing := fmt.Sprintf("Thing %d.%d", section, i)
	p.open("li", "")
	p.leaf("a", fmt.Sprintf(`href="/thing/%d/%d"`, section, i), thing)
	p.leaf("span", "", fmt.Sprintf("%d.%02d kr", 10+(section*7+i*13)%90, (section+i*3)%100))
	p.leaf("input", fmt.Sprintf(`type="checkbox" aria-label="Choose %s"`, thing), "")
	p.leaf("button", `type="button"`, "Add")
	p.leaf("div", `class="stock"`, fmt.Sprintf("%d in stock", (section*i)%17))
	p.close("li")
}

func (p *pageWriter) form(n int) {
	p.open("form", "")
	p.open("label", "")
	p.raw("Amount ")
	p.leaf("input", `type="number" name="amount" value="1"`, "")
	p.close("label")
	p.open("label", "")
	p.raw("Size ")
	p.open("select", `name="size"`)
	for _, size := range []string{"Small", "Medium", "Large"} {
		p.leaf("option", "", size)
	}
	p.close("select")
	p.close("label")
	p.leaf("textarea", fmt.Sprintf(`aria-label="Note for shelf %d"`, n), "")
	p.leaf("button", `type="button"`, fmt.Sprintf("Reserve shelf %d", n))
	p.close("form")
}

func (p *pageWriter) table(n int) {
	p.open("table", "")
	p.leaf("caption", "", fmt.Sprintf("Sales of shelf %d", n))
	p.open("tbody", "")
	p.open("tr", "")
	for _, head := range []string{"Month", "Sold", "Left"} {
		p.leaf("th", "", head)
	}
	p.close("tr")
	for i, month := range []string{"March", "April", "May"} {
		p.open("tr", "")
		p.leaf("td", "", month)
		p.leaf("td", "", fmt.Sprint((n*31+i*17)%400))
		p.leaf("td", "", fmt.Sprint((n*13+i*29)%100))
		p.close("tr")
	}
	p.close("tbody")
	p.close("table")
}
