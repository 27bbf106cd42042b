package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/browserd/browserd/bench/driver"
)

// appearance is what an element without text is told apart by.
type appearance struct {
	tag, class, id, color string
	size                  float64 // of a drawn shape, its larger side
}

var (
	htmlTag   = regexp.MustCompile(`^\s*<([a-zA-Z]+)`)
	htmlAttr  = regexp.MustCompile(`([a-zA-Z-]+)="([^"]*)"`)
	cssColor  = regexp.MustCompile(`background(?:-color)?:\s*([^;]+)`)
	cssNumber = regexp.MustCompile(`[\d.]+`)
)

// appearance says what an element looks like: from its line where the tool shows it
// there, otherwise from its markup.
func (p *play) appearance(n Node) appearance {
	l := appearance{tag: n.Attrs["tag"], class: n.Attrs["class"], id: n.Attrs["id"], color: n.Attrs["color"]}
	if s := n.Attrs["size"]; s != "" {
		var w, h float64
		fmt.Sscanf(s, "%gx%g", &w, &h)
		l.size = math.Max(w, h)
	}
	if l.class == "" && l.color == "" && l.tag == "" && l.id == "" && n.Ref != "" {
		if _, ok := p.tool.(driver.Reader); ok {
			l = marks(p.read(n, "html"))
		}
	}
	return l
}

// marks reads an appearance from markup.
func marks(html string) appearance {
	head, _, _ := strings.Cut(html, ">")
	var l appearance
	if m := htmlTag.FindStringSubmatch(head); m != nil {
		l.tag = strings.ToLower(m[1])
	}
	a := map[string]string{}
	for _, m := range htmlAttr.FindAllStringSubmatch(head, -1) {
		a[m[1]] = m[2]
	}
	l.class, l.id, l.color = a["class"], a["id"], a["fill"]
	if m := cssColor.FindStringSubmatch(a["style"]); m != nil {
		l.color = strings.TrimSpace(m[1])
	}
	num := func(k string) float64 {
		f, _ := strconv.ParseFloat(cssNumber.FindString(a[k]), 64)
		return f
	}
	switch l.tag {
	case "rect":
		l.size = num("width")
	case "circle":
		l.size = 2 * num("r")
	case "text":
		l.size = num("font-size")
	case "polygon":
		xs := cssNumber.FindAllString(a["points"], -1)
		if len(xs) >= 6 {
			a, _ := strconv.ParseFloat(xs[0], 64)
			b, _ := strconv.ParseFloat(xs[4], 64)
			l.size = math.Abs(b - a)
		}
	}
	return l
}

// colorNames are the colours that the tasks speak of.
var colorNames = map[string]string{
	"#ff0000": "red", "#0000ff": "blue", "#808000": "olive", "#00ff00": "lime", "#000000": "black", "#ffffff": "white",
	"#808080": "grey", "#800080": "purple", "#ffa500": "orange", "#ffff00": "yellow", "#00ffff": "cyan", "#ffc0cb": "pink",
	"#ff00ff": "magenta", "#008000": "green", "#a52a2a": "brown",
}

// cssNames are further colours that one can be asked for.
var cssNames = map[string]string{
	"aqua": "#00ffff", "gray": "#808080", "maroon": "#800000", "navy": "#000080", "silver": "#c0c0c0", "teal": "#008080", "gold": "#ffd700",
}

// named returns the name of a colour, which may be one already.
func named(color string) string {
	if r, g, b, ok := rgb(color); ok {
		hex := fmt.Sprintf("#%02x%02x%02x", int(r), int(g), int(b))
		if name := colorNames[hex]; name != "" {
			return name
		}
	}
	return color
}

// rgb reads #rrggbb, rgb() and hsl().
func rgb(color string) (r, g, b float64, ok bool) {
	if strings.HasPrefix(color, "#") && len(color) == 7 {
		v, err := strconv.ParseUint(color[1:], 16, 32)
		return float64(v >> 16), float64(v >> 8 & 255), float64(v & 255), err == nil
	}
	n := cssNumber.FindAllString(color, -1)
	if len(n) < 3 {
		for hex, name := range colorNames {
			if name == color || name == "cyan" && color == "aqua" {
				return rgb(hex)
			}
		}
		return 0, 0, 0, false
	}
	f := func(i int) float64 { v, _ := strconv.ParseFloat(n[i], 64); return v }
	if strings.HasPrefix(color, "hsl") {
		return hsl(f(0), f(1)/100, f(2)/100)
	}
	return f(0), f(1), f(2), strings.HasPrefix(color, "rgb")
}

// hsl is CSS Color 4, 7.1.
func hsl(h, s, l float64) (r, g, b float64, ok bool) {
	f := func(n float64) float64 {
		k := math.Mod(n+h/30, 12)
		return 255 * (l - s*math.Min(l, 1-l)*math.Max(-1, math.Min(k-3, math.Min(9-k, 1))))
	}
	return f(0), f(8), f(4), true
}
