package readable

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Private-use characters that stand, during the conversion, for what the converter would
// escape. Those of the page itself are removed first.
const (
	boxDone = "\uf8f0"
	boxOpen = "\uf8f1"
	bar     = "\uf8f2"
)

var (
	placeholders   = strings.NewReplacer(boxDone, "[x]", boxOpen, "[ ]", bar, `\|`)
	noPlaceholders = strings.NewReplacer(boxDone, "", boxOpen, "", bar, "")
)

// flatten replaces by text what the conversion would lose: the check boxes of task lists,
// which are form controls, and lists in table cells, which have one line.
func flatten(root *html.Node) {
	var boxes, lists []*html.Node
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode:
			n.Data = noPlaceholders.Replace(n.Data)
		case isElement(n, "input") && strings.EqualFold(attr(n, "type"), "checkbox") && within(n, "li"):
			boxes = append(boxes, n)
		case isElement(n, "ul", "ol") && within(n, "td", "th") && !within(n, "ul", "ol"):
			lists = append(lists, n)
		}
	}
	for _, n := range boxes {
		mark := boxOpen
		if has(n, "checked") {
			mark = boxDone
		}
		replaceWithText(n, mark+" ")
	}
	for _, n := range lists {
		replaceWithText(n, itemsOf(n))
	}
}

// prepareMarkdown changes what the Markdown converter would break: bars in code in table
// cells, data: pictures, the languages of code, cells that span, and block elements that
// the converter treats as inline.
func prepareMarkdown(root *html.Node) {
	var pictures, pres, tables []*html.Node
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode:
			if strings.Contains(n.Data, "|") && within(n, "code", "pre", "kbd", "samp") && within(n, "td", "th") {
				n.Data = strings.ReplaceAll(n.Data, "|", bar)
			}
		case isElement(n, "img") && strings.HasPrefix(strings.TrimSpace(attr(n, "src")), "data:"):
			pictures = append(pictures, n)
		case isElement(n, "summary", "legend", "center", "search"):
			n.Data, n.DataAtom = "div", atom.Div
		case isElement(n, "menu"):
			n.Data, n.DataAtom = "ul", atom.Ul
		case isElement(n, "pre"):
			pres = append(pres, n)
		case isElement(n, "table"):
			tables = append(tables, n)
		}
	}
	for _, n := range pictures {
		replaceWithText(n, attr(n, "alt"))
	}
	for _, n := range pres {
		setLanguage(n)
	}
	for _, n := range tables {
		fillSpans(n)
	}
}

// itemsOf returns a list as one line, for a table cell.
func itemsOf(list *html.Node) string {
	var items []string
	for n := range list.Descendants() {
		if !isElement(n, "li") {
			continue
		}
		own := ""
		for c := range n.ChildNodes() {
			if !isElement(c, "ul", "ol") {
				own += " " + strings.ReplaceAll(textOf(c, false), "\n", " ")
			}
		}
		if own = fold(own); own != "" {
			items = append(items, own)
		}
	}
	return " " + strings.Join(items, "; ") + " "
}

// setLanguage sets the class in which the converter looks for the language of a pre.
func setLanguage(pre *html.Node) {
	code := first(pre, "code")
	candidates := []*html.Node{code, pre, pre.Parent}
	if pre.Parent != nil {
		candidates = append(candidates, pre.Parent.Parent)
	}
	for _, n := range candidates {
		if n == nil || n.Type != html.ElementNode {
			continue
		}
		if lang := language(n); lang != "" {
			set(pre, "class", "language-"+lang)
			if code != nil {
				set(code, "class", "language-"+lang)
			}
			return
		}
	}
	if code != nil {
		set(code, "class", "")
	}
	set(pre, "class", "")
}

// language returns the language of code by the attributes that highlighters use.
func language(n *html.Node) string {
	for _, key := range []string{"data-lang", "data-language", "lang-name"} {
		if v := attr(n, key); v != "" {
			return plainWord(v)
		}
	}
	words := strings.Fields(attr(n, "class"))
	for i, word := range words {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-", "brush:"} {
			if rest, ok := strings.CutPrefix(word, prefix); ok {
				if rest == "" && i+1 < len(words) {
					rest = words[i+1]
				}
				return plainWord(rest)
			}
		}
	}
	return ""
}

// plainWord returns a language's name without characters that have a meaning in Markdown.
func plainWord(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+#-._", r))
	})
	if end >= 0 {
		s = s[:end]
	}
	return strings.ToLower(s[:min(len(s), 30)])
}
