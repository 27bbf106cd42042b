package main

import (
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/browserd/browserd/bench/driver"
)

func playDragBox(p *play) {
	p.snapshot()
	p.drag(p.named("s"), p.named("L"))
	p.submit()
}

// playDragShape drags the one shape a little way.
func playDragShape(p *play) {
	way := p.match(`Drag the (?:circle|item) (\w+) then`)[0]
	p.snapshot()
	all := p.clickables()
	if len(all) == 0 {
		p.fail("nothing to drag")
		return
	}
	x, y := p.middle(all[0])
	d := map[string][2]float64{"left": {-50, 0}, "right": {50, 0}, "up": {0, -50}, "down": {0, 50}}[way]
	p.pull(x, y, x+d[0], y+d[1])
	p.submit()
}

var numberIn = regexp.MustCompile(`-?[\d.]+`)

// drawn are the shapes and the boxes of a drawing: its markup says where the
// boxes are, a shape's own place where the drawing is.
type drawn struct {
	shapes []shape
	boxes  [][4]float64 // x, y, w, h in the viewport
}

func (p *play) drawing() (d drawn) {
	d.shapes = p.shapes()
	if len(d.shapes) == 0 {
		p.fail("no shapes")
		return
	}
	html := p.read(Node{}, "html")
	attr := func(s, name string) float64 {
		m := regexp.MustCompile(`\s` + name + `="(-?[\d.]+)`).FindStringSubmatch(s)
		if m == nil {
			return 0
		}
		v, _ := strconv.ParseFloat(m[1], 64)
		return v
	}
	// Where the first shape is in the drawing, and where in the viewport.
	b := p.box(d.shapes[0].Node)
	var x, y float64
	for _, m := range regexp.MustCompile(`<(rect|circle|polygon)\b[^>]*>`).FindAllStringSubmatch(html, -1) {
		if strings.Contains(m[0], `fill="none"`) {
			d.boxes = append(d.boxes, [4]float64{attr(m[0], "x"), attr(m[0], "y"), attr(m[0], "width"), attr(m[0], "height")})
			continue
		}
		if x != 0 || y != 0 || m[1] != d.shapes[0].tag {
			continue
		}
		switch m[1] {
		case "rect":
			x, y = attr(m[0], "x"), attr(m[0], "y")
		case "circle":
			x, y = attr(m[0], "cx")-attr(m[0], "r"), attr(m[0], "cy")-attr(m[0], "r")
		case "polygon":
			n := numberIn.FindAllString(strings.SplitN(m[0], `points="`, 2)[1], 6)
			x, _ = strconv.ParseFloat(n[0], 64)
			y, _ = strconv.ParseFloat(n[3], 64)
		}
	}
	for i := range d.boxes {
		d.boxes[i][0] += b.X - x
		d.boxes[i][1] += b.Y - y
	}
	if len(d.boxes) == 0 {
		p.fail("no box is drawn")
	}
	return d
}

// into drags shapes into a box, side by side.
func (p *play) into(shapes []shape, b [4]float64) {
	for i, s := range shapes {
		x, y := p.middle(s.Node)
		at := float64(i) + 0.5
		p.pull(x, y, b[0]+12+(b[2]-24)*at/float64(len(shapes)), b[1]+b[3]/2)
	}
}

func playDragShapes(p *play) {
	kind := strings.TrimSuffix(p.match(`Drag all (\w+) into the black box`)[0], "s")
	p.snapshot()
	d := p.drawing()
	if !p.ok() {
		return
	}
	var in []shape
	for _, s := range d.shapes {
		if s.text == kind {
			in = append(in, s)
		}
	}
	p.into(in, d.boxes[0])
	p.submit()
}

func playDragShapes2(p *play) {
	what := p.match(`Drag all (\w+)(?: shapes)? into the left box`)[0]
	p.snapshot()
	d := p.drawing()
	if !p.ok() || len(d.boxes) < 2 {
		p.fail("%d boxes", len(d.boxes))
		return
	}
	var left, right []shape
	for _, s := range d.shapes {
		if s.text+"s" == what || s.color == what || what == "aqua" && s.color == "cyan" {
			left = append(left, s)
		} else {
			right = append(right, s)
		}
	}
	p.into(left, d.boxes[0])
	p.into(right, d.boxes[1])
	p.submit()
}

// items returns what is in a list that can be sorted by dragging: an ordinary
// snapshot may show the list alone, the whole one has its items.
func (p *play) items(names []string) []Node {
	find := func() (out []Node) {
		for _, name := range names {
			for _, n := range p.all {
				if n.Ref != "" && fold(n.Name) == name && n.Role != "list" {
					out = append(out, n)
					break
				}
			}
		}
		return out
	}
	out := find()
	if len(out) < len(names) {
		p.do("whole snapshot", func() error {
			got, err := p.tool.Snapshot(p.ctx, driver.Whole)
			p.all = withText(got.Nodes)
			return err
		})
		out = find()
	}
	if len(out) < len(names) && p.ok() {
		p.fail("%q are not to be seen", names)
	}
	return out
}

// listed are the words of the list's items.
func (p *play) listed() []string {
	var out []string
	for _, n := range p.nodes {
		if n.fields() || n.Role == "canvas" {
			continue
		}
		for _, w := range strings.Fields(n.Name) {
			if len(out) == 0 || out[len(out)-1] != w {
				out = append(out, w)
			}
		}
	}
	return out
}

func playDragItems(p *play) {
	m := p.match(`Drag (\S+) (.*)\.`)
	p.snapshot()
	names := p.listed()
	p.dragTo(names, m[0], target(m[1], names, m[0], 1))
}

func playDragGrid(p *play) {
	m := p.match(`Drag (\S+) (.*)\.`)
	p.snapshot()
	names := p.listed()
	p.dragTo(names, m[0], target(m[1], names, m[0], 3))
}

// target is the place, from 0, that the words mean.
func target(words string, names []string, name string, columns int) int {
	at := indexOf(names, name)
	switch words {
	case "to the top":
		return 0
	case "to the bottom":
		return len(names) - 1
	case "up by one position", "up by one":
		return at - columns
	case "down by one position", "down by one":
		return at + columns
	case "left by one":
		return at - 1
	case "right by one":
		return at + 1
	case "to the center":
		return 4
	}
	if m := regexp.MustCompile(`to the (top|center|bottom) (left|center|right)`).FindStringSubmatch(words); m != nil {
		rows := map[string]int{"top": 0, "center": 1, "bottom": 2}
		cols := map[string]int{"left": 0, "center": 1, "right": 2}
		return 3*rows[m[1]] + cols[m[2]]
	}
	return ordinal(words) - 1
}

func indexOf(names []string, name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

func (p *play) dragTo(names []string, name string, to int) {
	at := indexOf(names, name)
	if at < 0 || to < 0 || to >= len(names) {
		p.fail("%s is not in %v, or has nowhere to go", name, names)
		return
	}
	if both := p.items([]string{name, names[to]}); len(both) == 2 {
		p.drag(both[0], both[1])
	}
}

func playSortNumbers(p *play) {
	for range 6 {
		p.snapshot()
		var names []string
		for _, w := range p.listed() {
			if integer.MatchString(w) {
				names = append(names, w)
			}
		}
		sorted := append([]string(nil), names...)
		sort.SliceStable(sorted, func(i, j int) bool {
			a, _ := strconv.Atoi(sorted[i])
			b, _ := strconv.Atoi(sorted[j])
			return a < b
		})
		wrong := -1
		for i := range names {
			if names[i] != sorted[i] {
				wrong = i
				break
			}
		}
		if wrong < 0 {
			break
		}
		p.dragTo(names, sorted[wrong], wrong)
	}
	p.submit()
}

// playResize pulls the text area by its corner.
func playResize(p *play) {
	m := p.match(`the (width|height) is (smaller|larger)`)
	p.snapshot()
	b := p.box(p.nth(1, "textbox"))
	x, y := b.X+b.Width-4, b.Y+b.Height-4
	d := 20.0
	if m[1] == "smaller" {
		d = -d
	}
	if m[0] == "width" {
		p.pull(x, y, x+d, y)
	} else {
		p.pull(x, y, x, y+d)
	}
	p.submit()
}
