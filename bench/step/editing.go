package main

import (
	"regexp"
	"strings"
	"time"

	"github.com/browserd/browserd/bench/driver"
)

// playHighlight selects a paragraph.
func playHighlight(p *play) {
	i := 1
	if m := regexp.MustCompile(`(\d+)(st|nd|rd|th)`).FindString(p.ask); m != "" {
		i = ordinal(m)
	}
	p.snapshot()
	var paragraphs []Node
	for _, n := range p.nodes {
		if n.Role != "button" && n.Role != "canvas" && len(n.Name) > 12 {
			paragraphs = append(paragraphs, n)
		}
	}
	if i > len(paragraphs) {
		p.fail("%d paragraphs", len(paragraphs))
		return
	}
	n := paragraphs[i-1]
	if n.Ref == "" {
		n = p.find(fold(n.Name))
	}
	t, ok := p.tool.(driver.TripleClicker)
	if !ok {
		p.fail("the tool does not click three times")
		return
	}
	p.do("triple click", func() error { return t.TripleClick(p.ctx, n.Ref) })
	p.submit()
}

func playTerminal(p *play) {
	ext := ""
	if m := regexp.MustCompile(`extension \.(\S+)`).FindStringSubmatch(p.ask); m != nil {
		ext = "." + m[1]
	}
	p.snapshot()
	field := p.nth(1, "textbox")
	p.keys(field, "ls")
	p.press("Enter")
	p.snapshot()
	said := strings.Join(p.texts(), " ")
	_, said, _ = strings.Cut(said, " ls ")
	for _, name := range strings.Fields(said) {
		if name == "user$" || !regexp.MustCompile(`^[\w-]+(\.[a-z0-9.]+)?$`).MatchString(name) {
			continue
		}
		if ext == "" && !strings.Contains(name, ".") || ext != "" && strings.HasSuffix(name, ext) {
			p.keys(field, "rm "+name)
			p.press("Enter")
			return
		}
	}
	p.fail("no file ends with %q in %q", ext, said)
}

func playTextEditor(p *play) {
	p.snapshot()
	editor := p.nth(1, "textbox")
	text := fold(editor.Value)
	if text == "" {
		text = fold(editor.Name)
	}
	word := text
	if m := regexp.MustCompile(`give the text (.*?),? the (style|color)`).FindStringSubmatch(p.ask); m != nil {
		word = m[1]
	}
	if i := strings.Index(p.ask, "give the text "); i >= 0 { // a comma may be the word's own
		rest := p.ask[i+len("give the text "):]
		if j := strings.Index(rest, " the style "); j >= 0 {
			word = rest[:j]
		} else if j := strings.Index(rest, " the color "); j >= 0 {
			word = rest[:j]
		}
	}
	start := strings.Index(text, word)
	for _, w := range [][]int{regexp.MustCompile(`(^|\s)` + regexp.QuoteMeta(word) + `(\s|$)`).FindStringIndex(text)} {
		if w != nil && word != text {
			start = w[0]
			if start > 0 {
				start++
			}
		}
	}
	if start < 0 {
		p.fail("%q is not in %q", word, text)
		return
	}
	p.focus(editor)
	p.press("Control+Home")
	for range start {
		p.press("ArrowRight")
	}
	if word == text {
		p.press("Control+a")
	} else {
		for range len(word) {
			p.press("Shift+ArrowRight")
		}
	}
	p.sleep(200 * time.Millisecond) // the editor learns of the selection in a turn of its own
	style := ""
	for _, s := range []string{"bold", "italic", "underline"} {
		if strings.Contains(p.ask, "style "+s) {
			style = s
		}
	}
	if style != "" {
		for _, n := range p.of("button", "generic") {
			if n.Acts() && strings.Contains(n.Name+p.appearance(n).class, style) {
				p.click(n)
				p.submit()
				return
			}
		}
		p.fail("no button for %s", style)
		return
	}
	color := p.match(`color (\w+)`)[0]
	hexes := map[string]string{"red": "#e60000", "orange": "#ff9900", "yellow": "#ffff00", "green": "#008a00", "blue": "#0066cc", "purple": "#9933ff"}
	for _, n := range p.nodes {
		if n.Acts() && n.Name == "" && (n.Role == "generic" || strings.Contains(p.appearance(n).class, "picker")) {
			p.click(n)
			break
		}
	}
	p.snapshot()
	want := rgbOf(hexes[color])
	for _, n := range p.nodes {
		if n.Acts() && n.Role != "textbox" && n.Role != "canvas" && fold(n.Name) != "Submit" && rgbOf(p.appearance(n).color) == want {
			p.click(n)
			p.snapshot()
			p.submit()
			return
		}
	}
	p.fail("no %s to choose", color)
}

func rgbOf(color string) [3]int {
	r, g, b, ok := rgb(color)
	if !ok {
		return [3]int{-1}
	}
	return [3]int{int(r), int(g), int(b)}
}
