package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// display is what CSS's display comes to here.
type display uint8

const (
	inline display = iota
	inlineBlock
	block
	tableCell
	contents
	none
)

// style is what is known of how an element is laid out, from the user agent's
// style sheet (HTML, 15), the sheets within the document and its own attribute.
type style struct {
	display display
	casing  casing // inherited
	gone    bool   // has no box, by itself or by what is around it
	hidden  bool   // visibility is not visible; inherited
	clear   bool   // opacity 0, here or around
	cut     bool   // cut away, here or around: kept for screen readers
	through bool   // lets clicks through; inherited
	pointer bool   // the cursor says that it can be clicked; inherited
	skips   bool   // does not lay out what it contains
	unread  bool   // text is indented out of sight; inherited
	tiny    bool   // text of no size; inherited
	inkless bool   // text of no colour; inherited
}

// casing is what text-transform does.
type casing uint8

const (
	asIs casing = iota
	upper
	lower
	capital
)

var blockTags = words("address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure " +
	"footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu nav ol optgroup option p plaintext pre " +
	"search section summary ul xmp table caption thead tbody tfoot tr colgroup col rt")
var inlineBlockTags = words("input select button textarea meter progress marquee")
var noBoxTags = words("head script style template title meta link base datalist noframes param rp area source track noembed")

// userAgent is the display that HTML gives n without any author.
func userAgent(n *html.Node) display {
	if !isHTML(n) {
		if n.Namespace == "svg" && (n.Data == "text" || n.Data == "foreignObject") {
			return block
		}
		return inline
	}
	tag := n.Data
	switch {
	case has(n, "hidden"):
		return none
	case tag == "td" || tag == "th":
		return tableCell
	case tag == "slot":
		return contents
	case tag == "dialog" && !has(n, "open"), has(n, "popover") && !has(n, PopoverOpen) && !(tag == "dialog" && has(n, "open")), tag == "audio" && !has(n, "controls"),
		tag == "input" && strings.EqualFold(attr(n, "type"), "hidden"), noBoxTags[tag]:
		return none
	case blockTags[tag]:
		return block
	case inlineBlockTags[tag]:
		return inlineBlock
	}
	return inline
}

// style returns the computed style of n, remembered for this look.
func (k *look) style(n *html.Node) style {
	if s, ok := k.styles[n]; ok {
		return s
	}
	var around style
	p := k.d.around(n)
	if p != nil {
		around = k.style(p)
	} else if n.Parent != nil && n.Parent.Type == html.ElementNode {
		around.gone = true // no slot shows it
	}
	s := k.compute(n, p, around)
	k.styles[n] = s
	return s
}

func (k *look) compute(n, p *html.Node, around style) style {
	s := around
	s.display = userAgent(n)
	s.gone = s.gone || s.skips
	s.skips = false
	if n.Namespace == "" {
		switch n.DataAtom {
		case atom.Button, atom.Input, atom.Select, atom.Textarea: // text-transform: none and cursor: default (HTML, 15.5.2)
			s.casing, s.pointer, s.unread, s.tiny, s.inkless = asIs, false, false, false, false
		case atom.A, atom.Area:
			s.pointer = s.pointer || has(n, "href")
		}
	}
	s.apply(k.declared(n))
	if s.display == none {
		s.gone = true
	}
	if p != nil && is(p, atom.Details) && !has(p, "open") && !isSummary(n) {
		s.gone = true
	}
	return s
}

// rendered tells whether n has a box or shows its children, and is not
// visibility:hidden.
func (k *look) rendered(n *html.Node) bool {
	if image := k.d.imageOf(n); image != nil {
		n = image
	}
	s := k.style(n)
	return !s.gone && !s.hidden
}

// unseen tells whether a person could not see n although it is rendered.
func (k *look) unseen(n *html.Node) bool {
	if image := k.d.imageOf(n); image != nil {
		n = image
	}
	s := k.style(n)
	return s.clear || s.cut
}

func (k *look) visible(n *html.Node) bool { return k.rendered(n) && !k.unseen(n) }

// inlined tells whether n's display begins with "inline" or shows only its children.
func (s style) inlined() bool {
	return s.display == inline || s.display == inlineBlock || s.display == contents
}

// isSummary tells whether n is the summary that opens its details.
func isSummary(n *html.Node) bool {
	p := parent(n)
	if p == nil || !is(p, atom.Details) || !is(n, atom.Summary) {
		return false
	}
	c := firstElement(p)
	for c != nil && c.DataAtom != atom.Summary {
		c = nextElement(c)
	}
	return c == n
}

// apply adds what the document's author declared of an element to its style.
func (s *style) apply(own map[string]string) {
	if len(own) == 0 {
		return
	}
	out := own["position"] == "absolute" || own["position"] == "fixed"
	for property, v := range own {
		switch property {
		case "display":
			s.display = displayOf(v, s.display)
		case "visibility":
			switch v {
			case "hidden", "collapse":
				s.hidden = true
			case "visible", "initial":
				s.hidden = false
			}
		case "opacity":
			if f, ok := pixels(strings.TrimSuffix(v, "%")); ok && f == 0 {
				s.clear = true
			}
		case "pointer-events":
			s.through = v == "none" || s.through && v == "inherit"
		case "cursor":
			s.pointer = cursors[v]
		case "text-transform":
			s.casing = casings[v]
		case "content-visibility":
			s.skips = v == "hidden"
		}
	}
	if (out || own["float"] == "left" || own["float"] == "right") && (s.display == inline || s.display == inlineBlock) {
		s.display = block // blockified (CSS Display, 2.7)
	}
	s.cut = s.cut || cutAway(own, out, s.display)
	if s.display != inline {
		if px, ok := pixels(own["text-indent"]); ok {
			s.unread = px <= -500
		}
	}
	if v, ok := own["font-size"]; ok {
		px, known := pixels(v)
		s.tiny = known && px < 2 || s.tiny && strings.HasSuffix(v, "em") && !strings.HasSuffix(v, "rem")
	}
	if v, ok := own["color"]; ok {
		s.inkless = noInk(v)
	}
	if v, ok := own["-webkit-text-fill-color"]; ok {
		s.inkless = noInk(v)
	}
	if own["background-clip"] == "text" || own["-webkit-background-clip"] == "text" {
		s.inkless = false // painted by its background
	}
}

var cursors = words("pointer grab -webkit-grab move zoom-in")

var casings = map[string]casing{"uppercase": upper, "lowercase": lower, "capitalize": capital}

func noInk(v string) bool {
	v = strings.ReplaceAll(v, " ", "")
	return v == "transparent" || strings.HasPrefix(v, "rgba") && (strings.HasSuffix(v, ",0)") || strings.HasSuffix(v, ",.0)") || strings.HasSuffix(v, ",0.0)"))
}

func displayOf(v string, was display) display {
	switch v {
	case "none":
		return none
	case "inline":
		return inline
	case "contents":
		return contents
	case "table-cell":
		return tableCell
	case "block", "flex", "grid", "table", "list-item", "flow-root", "table-row", "table-row-group", "table-header-group",
		"table-footer-group", "table-caption", "table-column", "table-column-group", "-webkit-box", "-webkit-flex":
		return block
	case "inline-block", "inline-flex", "inline-grid", "inline-table", "-webkit-inline-box", "-webkit-inline-flex", "ruby", "initial":
		if v == "initial" {
			return inline
		}
		return inlineBlock
	}
	return was
}

// cutAway tells whether an element's own style shows nothing of what it contains:
// the ways in which text is kept for screen readers only.
func cutAway(own map[string]string, out bool, d display) bool {
	if strings.Contains(own["transform"], "scale(0)") {
		return true
	}
	small := func(property string) bool {
		px, ok := pixels(own[property])
		return ok && px <= 1
	}
	overflow := own["overflow"]
	if v, ok := own["overflow-x"]; ok {
		overflow = v
	}
	shown := overflow == "" || overflow == "visible"
	if !out && shown {
		return false
	}
	if out {
		for _, side := range []string{"left", "right", "top"} {
			if px, ok := pixels(own[side]); ok && px <= -900 {
				return true
			}
		}
		if c, ok := strings.CutPrefix(own["clip"], "rect("); ok {
			n := strings.FieldsFunc(strings.TrimSuffix(c, ")"), func(r rune) bool { return r == ',' || r == ' ' })
			if len(n) == 4 {
				t, ok1 := pixels(n[0])
				r, ok2 := pixels(n[1])
				b, ok3 := pixels(n[2])
				l, ok4 := pixels(n[3])
				if ok1 && ok2 && ok3 && ok4 && (r-l <= 1 || b-t <= 1) {
					return true
				}
			}
		}
	}
	if p := strings.ReplaceAll(own["clip-path"], " ", ""); strings.HasPrefix(p, "inset(100%") || strings.HasPrefix(p, "inset(50%") || strings.HasPrefix(p, "circle(0") || strings.HasPrefix(p, "ellipse(0") {
		return true
	}
	if shown || d == inline || d == contents {
		return false
	}
	return small("width") || small("height") || small("max-height") || small("max-width")
}
