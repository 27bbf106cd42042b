package main

import (
	"regexp"
	"strings"

	"github.com/browserd/browserd/bench/driver"
)

func playCopyPaste(p *play) {
	p.snapshot()
	i := 1
	if m := regexp.MustCompile(`(\d+)(st|nd|rd|th)`).FindString(p.ask); m != "" {
		i = ordinal(m)
	}
	from, to := p.areas()
	if i > len(from) || len(to) == 0 {
		p.fail("no text area %d", i)
		return
	}
	p.write(to[0], p.value(from[i-1]))
	p.submit()
}

// areas are the text areas and the one-line fields: the tool says which is
// which, or what is written in them does.
func (p *play) areas() (areas, fields []Node) {
	for _, n := range p.of("textbox") {
		if n.Has("multiline") || n.Value != "" {
			areas = append(areas, n)
		} else {
			fields = append(fields, n)
		}
	}
	return areas, fields
}

// value is the whole value of a field.
func (p *play) value(n Node) string {
	if _, ok := p.tool.(driver.Reader); ok {
		return p.read(n, "value")
	}
	return n.Value
}

func playScrollText(p *play) {
	p.snapshot()
	from, to := p.areas()
	if len(from) == 0 || len(to) == 0 {
		p.fail("no text area")
		return
	}
	words := strings.Fields(p.value(from[0]))
	if len(words) == 0 {
		p.fail("the text area shows nothing")
		return
	}
	p.write(to[0], strings.TrimRight(words[len(words)-1], "."))
	p.submit()
}

// toEnd scrolls a text area to its end.
func (p *play) toEnd(n Node) {
	if s, ok := p.tool.(driver.Scroller); ok {
		p.do("scroll", func() error { return s.ScrollToEnd(p.ctx, n.Ref) })
		return
	}
	p.focus(n)
	p.press("Control+End")
}

func playScrollText2(p *play) {
	p.snapshot()
	n := p.nth(1, "textbox")
	if strings.Contains(p.ask, "top") {
		p.focus(n)
		p.press("Control+Home")
	} else {
		p.toEnd(n)
	}
	p.submit()
}

func playAgreement(p *play) {
	p.snapshot()
	if strings.Contains(p.ask, "Click the cancel") {
		p.click(p.named("Cancel", "button"))
		return
	}
	q := p.quoted()
	p.toEnd(p.nth(1, "textbox"))
	p.await(func() bool { return !p.nth(2, "textbox").Has("disabled") })
	p.write(p.nth(2, "textbox"), q[0])
	p.snapshot()
	p.click(p.named(q[1], "button"))
}
