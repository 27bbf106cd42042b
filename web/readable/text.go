package readable

import (
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// gaps is how many line breaks are around an element. Others are inline.
var gaps = map[string]int{
	"p": 2, "h1": 2, "h2": 2, "h3": 2, "h4": 2, "h5": 2, "h6": 2, "pre": 2, "blockquote": 2, "table": 2, "ul": 2, "ol": 2, "dl": 2, "figure": 2, "hr": 2,
	"address": 1, "article": 1, "aside": 1, "body": 1, "caption": 1, "center": 1, "dd": 1, "details": 1, "dialog": 1, "div": 1, "dt": 1, "fieldset": 1,
	"figcaption": 1, "footer": 1, "form": 1, "header": 1, "hgroup": 1, "legend": 1, "li": 1, "main": 1, "menu": 1, "nav": 1, "noscript": 1, "search": 1,
	"section": 1, "summary": 1, "tbody": 1, "tfoot": 1, "thead": 1, "tr": 1,
}

// textOf returns the text of n, with or without captions.
func textOf(n *html.Node, noCaptions bool) string {
	w := &writer{noCaptions: noCaptions}
	w.node(n)
	return strings.TrimSpace(placeholders.Replace(w.b.String()))
}

// writer writes text. It folds white space, except in pre, and writes the line breaks
// between two blocks when the second one has text.
type writer struct {
	b     strings.Builder
	lines int  // line breaks before the next text
	blank bool // a blank before the next text
	depth int  // of lists
	pre   int

	headed     bool // in a table with headings
	row, cells int  // offset at which the row begins, and its cells so far

	item bool // the last thing written is the mark of a list item

	noCaptions bool
}

func (w *writer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.text(n.Data)
		return
	case html.ElementNode, html.DocumentNode:
	default:
		return
	}
	if w.noCaptions && n.Data == "figcaption" {
		return
	}
	gap := gaps[n.Data]
	if gap == 2 && w.depth > 0 {
		gap = 1
	}
	w.lines = max(w.lines, gap)
	switch n.Data {
	case "br":
		w.lines = max(w.lines, 1)
	case "table":
		defer func(outer bool) { w.headed = outer }(w.headed)
		w.headed = headed(n)
	case "tr":
		defer func(outer int) { w.row = outer }(w.row)
		w.row = w.b.Len()
		w.cells = 0
	case "td", "th":
		if w.cells++; w.cells > 1 && w.headed && w.b.Len() == w.row {
			w.text("| ") // keeps the next cell under its own heading
		} else if n.PrevSibling != nil && w.lines == 0 && w.b.Len() > 0 {
			w.text(" | ")
		}
	case "ul", "ol", "menu":
		w.depth++
		defer func() { w.depth-- }()
	case "li":
		w.writeGap()
		w.b.WriteString(strings.Repeat("  ", max(w.depth-1, 0)) + "- ")
		w.item = true // no line break between the mark and its text
	case "pre":
		w.pre++
		defer func() { w.pre-- }()
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
	w.lines = max(w.lines, gap)
}

// headed reports whether a table has headings of its own, not only those of a table within
// it.
func headed(table *html.Node) bool {
	for n := range table.Descendants() {
		if !isElement(n, "th") {
			continue
		}
		of := n.Parent
		for !isElement(of, "table") {
			of = of.Parent
		}
		if of == table {
			return true
		}
	}
	return false
}

func (w *writer) text(s string) {
	if w.pre > 0 {
		w.writeGap()
		w.b.WriteString(s)
		return
	}
	for _, r := range s {
		if unicode.IsSpace(r) {
			w.blank = true
			continue
		}
		w.writeGap()
		w.b.WriteRune(r)
	}
}

// writeGap writes the line breaks or the blank before the next text.
func (w *writer) writeGap() {
	switch {
	case w.b.Len() == 0 || w.item:
	case w.lines > 0:
		w.b.WriteString("\n\n"[:min(w.lines, 2)])
	case w.blank:
		w.b.WriteByte(' ')
	}
	w.lines, w.blank, w.item = 0, false, false
}

// tokens returns the title and text of HTML without parsing it: its text tokens in their
// order, without script and style, a line for each block.
func tokens(source string) (title, text string) {
	z := html.NewTokenizer(strings.NewReader(source))
	w := &writer{}
	skip := ""
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return title, strings.TrimSpace(w.b.String())
		case html.TextToken:
			switch skip {
			case "":
				w.text(string(z.Text()))
			case "title":
				title = fold(title + " " + html.UnescapeString(string(z.Raw())))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			raw, _ := z.TagName()
			name := string(raw)
			w.lines = max(w.lines, gaps[name])
			switch {
			case name == "br":
				w.lines = max(w.lines, 1)
			case kind == html.StartTagToken && skip == "" && (name == "td" || name == "th"):
				if w.lines == 0 && w.b.Len() > 0 {
					w.text(" | ")
				}
			}
			switch {
			case kind == html.StartTagToken && skip == "" && (name == "script" || name == "style" || name == "title" && title == "" || name == "svg" || name == "textarea" || name == "select"):
				skip = name
			case kind == html.EndTagToken && name == skip:
				skip = ""
			}
		}
	}
}
