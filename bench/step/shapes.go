package main

import (
	"regexp"
	"strconv"
	"strings"
)

// shape is one drawn thing of the page.
type shape struct {
	Node
	appearance
	kind, text string // shape, letter or digit, and which
}

var digit = regexp.MustCompile(`^\d$`)

// shapes returns what is drawn: it can be clicked, and is no button.
func (p *play) shapes() []shape {
	var out []shape
	for _, n := range p.nodes {
		if !n.Acts() || n.fields() || n.Role == "canvas" {
			continue
		}
		s := shape{Node: n, appearance: p.appearance(n)}
		s.color = named(s.color)
		switch name := fold(n.Name); {
		case s.tag == "circle":
			s.kind, s.text = "shape", "circle"
		case s.tag == "rect":
			s.kind, s.text = "shape", "rectangle"
		case s.tag == "polygon":
			s.kind, s.text = "shape", "triangle"
		case digit.MatchString(name):
			s.kind, s.text = "digit", name
		case len(name) == 1:
			s.kind, s.text = "letter", name
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// fits tells whether a shape is what the words describe: size, colour, kind.
func (s shape) fits(desc string) bool {
	for _, w := range strings.Fields(desc) {
		switch w {
		case "small":
			if s.size > 15 {
				return false
			}
		case "large":
			if s.size <= 15 {
				return false
			}
		case "red", "green", "blue", "aqua", "black", "magenta", "yellow":
			if s.color != w && !(w == "aqua" && s.color == "cyan") {
				return false
			}
		case "item", "items":
		default:
			if s.text != w && s.kind != w {
				return false
			}
		}
	}
	return true
}

func playClickShape(p *play) {
	desc := strings.TrimPrefix(strings.TrimPrefix(p.match(`Click on (.*)`)[0], "a "), "an ")
	p.snapshot()
	for _, s := range p.shapes() {
		if s.fits(desc) {
			p.click(s.Node)
			return
		}
	}
	p.fail("no %s", desc)
}

func playCountShape(p *play) {
	desc := p.match(`How many (.*?)s are there`)[0]
	p.snapshot()
	n := 0
	for _, s := range p.shapes() {
		if s.fits(desc) {
			n++
		}
	}
	p.click(p.named(strconv.Itoa(n), "button"))
}

func playIdentifyShape(p *play) {
	p.snapshot()
	all := p.shapes()
	if len(all) == 0 { // not to be clicked: only the markup has it
		_, html, _ := strings.Cut(p.read(Node{}, "html"), "<body")
		for tag, text := range map[string]string{"rect": "rectangle", "circle": "circle", "polygon": "triangle"} {
			if strings.Contains(html, "<"+tag+" ") {
				all = append(all, shape{text: text})
			}
		}
		if m := regexp.MustCompile(`<text [^>]*>(.)</text>`).FindStringSubmatch(html); m != nil {
			all = append(all, shape{kind: "letter"})
			if digit.MatchString(m[1]) {
				all[0].kind = "digit"
			}
		}
	}
	if len(all) == 0 {
		p.fail("no shape")
		return
	}
	name := map[string]string{"rectangle": "Rectangle", "circle": "Circle", "triangle": "Triangle"}[all[0].text]
	if all[0].kind == "letter" {
		name = "Letter"
	} else if all[0].kind == "digit" {
		name = "Number"
	}
	p.click(p.named(name, "button"))
}

func playGrid(p *play) {
	m := p.match(`grid coordinate \((-?\d),(-?\d)\)`)
	p.snapshot()
	points := p.clickables()
	if len(points) < 25 {
		p.fail("%d points", len(points))
		return
	}
	x, _ := strconv.Atoi(m[0])
	y, _ := strconv.Atoi(m[1])
	for _, n := range points {
		if n.Attrs["id"] == "("+m[0]+","+m[1]+")" {
			p.click(n)
			return
		}
	}
	p.click(points[(x+2)*5+2-y]) // column by column, from the top
}

// playFindGreatest picks the card with the greatest number.
func playFindGreatest(p *play) {
	p.snapshot()
	cards := p.clickables()
	greatest, at := -1, Node{}
	for _, c := range cards {
		p.click(c)
		for _, n := range p.snapshot() {
			if n.Ref == c.Ref && integer.MatchString(n.Name) {
				if v, _ := strconv.Atoi(n.Name); v > greatest {
					greatest, at = v, n
				}
			}
		}
	}
	p.click(at)
	p.submit()
}
