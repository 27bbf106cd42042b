package readable

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

const (
	spanMax   = 50     // most columns that one cell spans
	filledMax = 20_000 // most empty cells added to one table
)

// fillSpans replaces colspan and rowspan by empty cells (HTML 4.9.12.1, forming a table):
// the converter does not know where a group of rows ends, and has no limit for a span.
func fillSpans(table *html.Node) {
	rows, left := rowsOf(table), filledMax
	var until []int // for each column, the row to which a cell above has it
	var group *html.Node
	for y, row := range rows {
		if row.Parent != group {
			group, until = row.Parent, nil
		}
		x := 0
		fill := func(before *html.Node) {
			if left > 0 {
				row.InsertBefore(&html.Node{Type: html.ElementNode, Data: "td"}, before)
				left--
			}
		}
		pass := func(before *html.Node) {
			for ; left > 0 && x < len(until) && until[x] > y; x++ {
				fill(before)
			}
		}
		for _, cell := range cellsOf(row) {
			pass(cell)
			wide, end := span(cell, "colspan"), len(rows)
			if high := span(cell, "rowspan"); high > 0 {
				end = y + high
			}
			after := cell.NextSibling
			for i := range min(max(wide, 1), spanMax) {
				if x == len(until) {
					until = append(until, 0)
				}
				until[x] = max(until[x], end)
				x++
				if i > 0 {
					fill(after)
				}
			}
		}
		pass(nil)
	}
}

// span returns the columns or rows that a cell spans, and sets the attribute to 1.
func span(cell *html.Node, key string) int {
	if !has(cell, key) {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimSpace(attr(cell, key)))
	set(cell, key, "1")
	if err != nil || n < 0 {
		return 1
	}
	return min(n, 65534)
}

// rowsOf returns the rows of a table, without those of tables within it.
func rowsOf(table *html.Node) (rows []*html.Node) {
	for c := range table.ChildNodes() {
		switch {
		case isElement(c, "tr"):
			rows = append(rows, c)
		case isElement(c, "thead", "tbody", "tfoot"):
			rows = append(rows, rowsOf(c)...)
		}
	}
	return rows
}

func cellsOf(row *html.Node) (cells []*html.Node) {
	for c := range row.ChildNodes() {
		if isElement(c, "td", "th") {
			cells = append(cells, c)
		}
	}
	return cells
}
