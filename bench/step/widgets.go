package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// handles are the handles of sliders: what can be focused or clicked and has no words.
func (p *play) handles() []Node {
	var out []Node
	for _, n := range p.nodes {
		if n.Role == "slider" || n.Acts() && n.Name == "" && !n.fields() && n.Role != "canvas" {
			out = append(out, n)
		}
	}
	return out
}

var integer = regexp.MustCompile(`^-?\d+$`)

// numbers are the lines that are a whole number.
func (p *play) numbers() []int {
	var out []int
	for _, s := range p.texts() {
		if integer.MatchString(s) {
			n, _ := strconv.Atoi(s)
			out = append(out, n)
		}
	}
	return out
}

// slide moves the ith slider to a value by the arrow keys, and looks at the
// figure beside it.
func (p *play) slide(i, want int) {
	for range 3 {
		h := p.handles()
		if i >= len(h) {
			p.fail("slider %d is not to be seen", i+1)
			return
		}
		p.focus(h[i])
		p.snapshot() // a click may have moved it
		shown := p.numbers()
		if i >= len(shown) || !p.ok() || shown[i] == want {
			return
		}
		key := "ArrowRight"
		if shown[i] > want {
			key = "ArrowLeft"
		}
		for range max(want-shown[i], shown[i]-want) {
			p.press(key)
		}
		p.snapshot()
		if shown = p.numbers(); i < len(shown) && shown[i] == want {
			return
		}
	}
}

func playSlider(p *play) {
	want, _ := strconv.Atoi(p.match(`Select (-?\d+) with the slider`)[0])
	p.snapshot()
	p.slide(0, want)
	p.submit()
}

func playSliders(p *play) {
	m := p.match(`\[(\d+),(\d+),(\d+)\]`)
	p.snapshot()
	for i, s := range m {
		want, _ := strconv.Atoi(s)
		p.slide(i, want)
	}
	p.submit()
}

func playSpinner(p *play) {
	want, _ := strconv.Atoi(p.match(`Select (-?\d+) with the spinner`)[0])
	p.snapshot()
	field := p.nth(1, "spinbutton", "textbox")
	up, down := Node{}, Node{}
	i := slices.IndexFunc(p.nodes, func(n Node) bool { return n.Ref == field.Ref })
	for _, n := range p.nodes[max(i+1, 0):] {
		if n.Role != "button" && !n.Acts() || fold(n.Name) == "Submit" || n.Role == "canvas" {
			continue
		}
		if !up.Is() {
			up = n
		} else if !down.Is() {
			down = n
		}
	}
	button := up
	if want < 0 {
		button = down
	}
	if button.Ref == "" {
		key := "ArrowUp"
		if want < 0 {
			key = "ArrowDown"
		}
		p.focus(field)
		for range max(want, -want) {
			p.press(key)
		}
		p.submit()
		return
	}
	for range max(want, -want) {
		p.click(button)
	}
	p.submit()
}

func playAutocomplete(p *play) {
	q := p.quoted()
	p.snapshot()
	field := p.nth(1, fields...)
	p.keys(field, q[0])
	want := func(s string) bool {
		return strings.HasPrefix(s, q[0]) && (len(q) < 2 || strings.HasSuffix(s, q[1]))
	}
	var found Node
	p.await(func() bool {
		for _, n := range p.nodes {
			if n.Ref != "" && n.Ref != field.Ref && n.Role != "list" && n.Role != "menu" && n.Role != "listbox" && want(fold(n.Name)) {
				found = n
				return true
			}
		}
		return false
	})
	p.click(found)
	p.sleep(50 * time.Millisecond)
	p.snapshot()
	p.submit()
}

func playColorwheel(p *play) {
	p.snapshot()
	colors := map[string]string{}
	for hex, name := range colorNames {
		colors[name] = hex
	}
	color := ""
	if m := regexp.MustCompile(`Select (\w+) with the color picker`).FindStringSubmatch(p.ask); m != nil {
		color = colors[m[1]]
	} else if m := regexp.MustCompile(`class="cc"[^>]*background-color:\s*([^;"]+)`).FindStringSubmatch(p.read(Node{}, "html")); m != nil {
		color = m[1]
	}
	if color == "" && regexp.MustCompile(`Select \w+ with`).MatchString(p.ask) {
		color = cssNames[p.match(`Select (\w+) with`)[0]]
	}
	if color == "" {
		p.fail("the colour is not to be seen")
		return
	}
	if r, g, b, ok := rgb(color); ok {
		color = "#" + hex2(r) + hex2(g) + hex2(b)
	}
	p.write(p.nth(1, "textbox"), strings.ToUpper(strings.TrimPrefix(color, "#")))
	if n := p.find("with the color picker and hit Submit."); n.Ref != "" {
		p.click(n) // the palette is open over the button until one clicks elsewhere
	} else {
		p.err = nil
		p.press("Tab")
	}
	p.snapshot()
	p.submit()
}

func hex2(v float64) string {
	s := strconv.FormatInt(int64(v), 16)
	if len(s) < 2 {
		s = "0" + s
	}
	return s
}
