package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Colours are read on white and on a dark page (the image has no background).
const (
	textColour   = "#727c86"
	accentColour = "#1f7ae0"
	dotColour    = "#8c959f"
	lineColour   = "#8c959f"
)

// Measures of the drawing, in its own units.
const (
	columns     = 2
	panelWidth  = 430.0
	panelHeight = 172.0
	labelWidth  = 160.0 // left of a panel's axis
	valueWidth  = 48.0  // right of it, for the figure beside the last dot
	rowHeight   = 22.0
	margin      = 14.0
	top         = 44.0
)

// draw draws each panel as dots on a logarithmic axis, browserd's in colour.
func draw(panels []panel, note string) []byte {
	rows := (len(panels) + columns - 1) / columns
	width, height := 2*margin+columns*panelWidth, top+float64(rows)*panelHeight+30
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="title description" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="13" fill="%s">`+"\n",
		n(width), n(height), n(width), n(height), textColour)
	fmt.Fprintf(&b, "<title id=\"title\">browserd beside its peers</title>\n<desc id=\"description\">%s</desc>\n", html.EscapeString(describe(panels)))
	text(&b, margin, 22, `font-size="14"`, "Further left is better. Logarithmic axes; the same pages, machine and Chromium in one run.")
	for i, p := range panels {
		p.draw(&b, margin+float64(i%columns)*panelWidth, top+float64(i/columns)*panelHeight)
	}
	text(&b, margin, height-14, `font-size="11"`, note)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (p panel) draw(b *bytes.Buffer, x, y float64) {
	title := p.title
	if p.unit != "" {
		title += ", " + p.unit
	}
	text(b, x, y+16, `font-weight="600"`, title)
	low, high := p.decades()
	left, right := x+labelWidth, x+panelWidth-valueWidth
	at := func(v float64) float64 { return left + (math.Log10(v)-low)/(high-low)*(right-left) }
	above, below := y+26, y+26+rowHeight*float64(len(p.values))
	for d := low; d <= high; d++ {
		line(b, at(math.Pow(10, d)), above, at(math.Pow(10, d)), below, 0.3)
		text(b, at(math.Pow(10, d)), below+13, `font-size="10" text-anchor="middle"`, grouped(math.Pow(10, d)))
	}
	for i, v := range p.values {
		middle, style, colour := above+rowHeight*(float64(i)+0.5), "", dotColour
		if v.tool == tools[0].name {
			style, colour = ` font-weight="600" fill="`+accentColour+`"`, accentColour
		}
		text(b, left-10, middle+4.5, `text-anchor="end"`+style, v.tool)
		line(b, left, middle, at(v.of), middle, 0.3)
		fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="5.5" fill="%s"/>`+"\n", n(at(v.of)), n(middle), colour)
		text(b, at(v.of)+11, middle+4.5, `font-size="12"`+style, grouped(v.of))
	}
}

// decades are the powers of ten between which the values lie.
func (p panel) decades() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range p.values {
		low, high = min(low, math.Floor(math.Log10(v.of))), max(high, math.Ceil(math.Log10(v.of)))
	}
	return low, high
}

// describe says the figures in words, for who cannot see the image.
func describe(panels []panel) string {
	var said []string
	for _, p := range panels {
		var values []string
		for _, v := range p.values {
			values = append(values, strings.TrimSpace(v.tool+" "+grouped(v.of)+" "+p.unit))
		}
		said = append(said, p.title+": "+strings.Join(values, ", ")+".")
	}
	return strings.Join(said, " ")
}

func text(b *bytes.Buffer, x, y float64, attributes, words string) {
	fmt.Fprintf(b, `<text x="%s" y="%s" %s>%s</text>`+"\n", n(x), n(y), attributes, html.EscapeString(words))
}

func line(b *bytes.Buffer, x1, y1, x2, y2, opacity float64) {
	fmt.Fprintf(b, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s" stroke-opacity="%s"/>`+"\n", n(x1), n(y1), n(x2), n(y2), lineColour, n(opacity))
}

// n writes a number without what a drawing does not need.
func n(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// grouped writes a figure with commas between its thousands.
func grouped(v float64) string {
	whole, part, found := strings.Cut(n(v), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		whole += "." + part
	}
	return whole
}
