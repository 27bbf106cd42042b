package html

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// display is CSS display, as far as it is distinguished here.
type display uint8

const (
	inline display = iota
	inlineBlock
	block
	tableCell
	contents
	none
)

// style is the computed style of an element, as far as it matters here: from the user
// agent's style sheet (HTML, 15), the document's style elements and its style attribute.
type style struct {
	display         display
	casing          casing // inherited
	noBox           bool   // has no box, because of itself or of an ancestor
	hidden          bool   // visibility is not visible; inherited
	transparent     bool   // opacity 0, of itself or of an ancestor
	clipped         bool   // clipped to nothing, or its ancestor is: text for screen readers
	clickThrough    bool   // pointer-events none; inherited
	pointer         bool   // the cursor is that of something to click; inherited
	skipsContent    bool   // content-visibility hidden
	indentedAway    bool   // text-indent moves the text out of view; inherited
	tinyText        bool   // font-size is nearly 0; inherited
	transparentText bool   // color is transparent; inherited
	dotted          bool   // -webkit-text-security shows dots in its place; inherited
	opacity         faint  // of itself and its ancestors
	flexible        bool   // its children are laid out as flex items,
	row             bool   // side by side
}

// casing is the value of text-transform.
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

// userAgent returns the display of n by the user agent's style sheet (HTML, 15.3).
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

// style returns the computed style of n. It is cached.
func (k *styleResolver) style(n *html.Node) style {
	if s, ok := k.computed[n]; ok {
		return s
	}
	var around style
	p := k.d.flat.parent(n)
	if p != nil {
		around = k.style(p)
	} else if n.Parent != nil && n.Parent.Type == html.ElementNode {
		around.noBox = true // not slotted
	}
	s := k.compute(n, p, around)
	k.computed[n] = s
	return s
}

func (k *styleResolver) compute(n, p *html.Node, around style) style {
	s := around
	s.display, s.flexible, s.row = userAgent(n), false, false
	s.noBox = s.noBox || s.skipsContent
	s.skipsContent = false
	if n.Namespace == "" {
		switch n.DataAtom {
		case atom.Button, atom.Input, atom.Select, atom.Textarea: // text-transform: none and cursor: default (HTML, 15.5.2)
			s.casing, s.pointer, s.indentedAway, s.tinyText, s.transparentText = asIs, false, false, false, false
		case atom.A, atom.Area:
			s.pointer = s.pointer || has(n, "href")
		}
	}
	s.apply(k.declared(n))
	if around.flexible && (s.display == inline || s.display == inlineBlock) {
		s.display = block // blockified (CSS Display, 2.7)
	}
	if s.display == none {
		s.noBox = true
	}
	if p != nil && is(p, atom.Details) && !has(p, "open") && !isSummary(n) {
		s.noBox = true
	}
	return s
}

// rendered reports whether n has a box or shows its children, and is not
// visibility:hidden.
func (k *styleResolver) rendered(n *html.Node) bool {
	if image := k.d.imageOf(n); image != nil {
		n = image
	}
	s := k.style(n)
	return !s.noBox && !s.hidden
}

// unseen reports whether n is rendered but invisible: transparent or clipped.
func (k *styleResolver) unseen(n *html.Node) bool {
	if image := k.d.imageOf(n); image != nil {
		n = image
	}
	s := k.style(n)
	return s.transparent || s.clipped
}

func (k *styleResolver) visible(n *html.Node) bool { return k.rendered(n) && !k.unseen(n) }

// inlined reports whether n's display begins with "inline" or shows only its children.
func (s style) inlined() bool {
	return s.display == inline || s.display == inlineBlock || s.display == contents
}

// isSummary reports whether n is the summary that opens its details.
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

// apply applies the declarations of an element.
func (s *style) apply(own map[string]string) {
	if len(own) == 0 {
		return
	}
	out := own["position"] == "absolute" || own["position"] == "fixed"
	for property, v := range own {
		switch property {
		case "display":
			s.display = displayOf(v, s.display)
			s.flexible = v == "flex" || v == "inline-flex"
			s.row = s.flexible && !strings.HasPrefix(own["flex-direction"], "column") && !strings.Contains(own["flex-flow"], "column")
		case "visibility":
			switch v {
			case "hidden", "collapse":
				s.hidden = true
			case "visible", "initial":
				s.hidden = false
			}
		case "opacity":
			if f, ok := ratio(v); ok {
				s.opacity = s.opacity.times(f)
				s.transparent = s.transparent || f == 0
			}
		case "filter":
			for rest := v; ; {
				_, after, found := strings.Cut(rest, "opacity(")
				if !found {
					break
				}
				value, more, _ := strings.Cut(after, ")")
				if f, ok := ratio(value); ok {
					s.opacity = s.opacity.times(f)
				}
				rest = more
			}
		case "-webkit-text-security":
			s.dotted = v != "none" && (v != "inherit" || s.dotted)
		case "pointer-events":
			s.clickThrough = v == "none" || s.clickThrough && v == "inherit"
		case "cursor":
			s.pointer = cursors[v]
		case "text-transform":
			s.casing = casings[v]
		case "content-visibility":
			s.skipsContent = v == "hidden"
		}
	}
	if (out || own["float"] == "left" || own["float"] == "right") && (s.display == inline || s.display == inlineBlock) {
		s.display = block // blockified (CSS Display, 2.7)
	}
	s.clipped = s.clipped || clipsContent(own, out, s.display) || 1-float64(s.opacity) < faintest
	if s.display != inline {
		if px, ok := pixels(own["text-indent"]); ok {
			s.indentedAway = px <= -500
		}
	}
	if v, ok := own["font-size"]; ok {
		px, known := pixels(v)
		s.tinyText = known && px < 2 || s.tinyText && strings.HasSuffix(v, "em") && !strings.HasSuffix(v, "rem")
	}
	if v, ok := own["color"]; ok {
		s.transparentText = noInk(v)
	}
	if v, ok := own["-webkit-text-fill-color"]; ok {
		s.transparentText = noInk(v)
	}
	if own["background-clip"] == "text" || own["-webkit-background-clip"] == "text" {
		s.transparentText = false // painted by its background
	}
}

var cursors = words("pointer grab -webkit-grab move zoom-in")

var casings = map[string]casing{"uppercase": upper, "lowercase": lower, "capitalize": capital}

// faint is how much an opacity takes away: its zero value takes nothing.
type faint float64

func (f faint) times(opacity float64) faint { return 1 - (1-f)*faint(opacity) }

// faintest is the least opacity at which something is seen.
const faintest = 0.05

// ratio reads a number or a percentage, at most 1.
func ratio(v string) (float64, bool) {
	v = strings.TrimSpace(v)
	number, percent := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	return min(f, 1), err == nil
}

// textUnseen reports whether text right in the element is not seen.
func (s style) textUnseen() bool {
	return s.clipped || s.skipsContent || s.tinyText || s.transparentText || s.indentedAway || s.dotted
}

// noInk reports whether a colour lets nearly everything through.
func noInk(v string) bool {
	v = strings.ToLower(strings.TrimSpace(v))
	if v == "transparent" {
		return true
	}
	name, args, ok := strings.Cut(strings.TrimSuffix(v, ")"), "(")
	if !ok {
		return len(v) == 9 && v[0] == '#' && v[7:] <= "0c" || len(v) == 5 && v[0] == '#' && v[4] == '0'
	}
	if i := strings.LastIndexByte(args, '/'); i >= 0 {
		f, ok := ratio(args[i+1:])
		return ok && f < faintest
	}
	if parts := strings.Split(args, ","); len(parts) == 4 && (strings.HasPrefix(name, "rgb") || strings.HasPrefix(name, "hsl")) {
		f, ok := ratio(parts[3])
		return ok && f < faintest
	}
	return false
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

// clipsContent reports whether an element's own style clips all of its content. These are
// the usual ways to hide text from everybody but screen readers.
func clipsContent(own map[string]string, out bool, d display) bool {
	if strings.Contains(own["transform"], "scale(0)") || emptyClip(own["clip-path"]) {
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
	if shown || d == inline || d == contents {
		return false
	}
	return small("width") || small("height") || small("max-height") || small("max-width")
}

// emptyClip reports whether a clip path leaves nothing, whatever the size of its box.
func emptyClip(path string) bool {
	kind, args, ok := strings.Cut(strings.ToLower(strings.TrimSuffix(strings.TrimSpace(path), ")")), "(")
	if !ok {
		return false
	}
	args, _, _ = strings.Cut(args, " at ")
	args, _, _ = strings.Cut(args, " round ")
	v := strings.Fields(args)
	at := func(places ...int) float64 {
		for _, i := range places {
			if i < len(v) {
				if strings.HasSuffix(v[i], "%") {
					f, _ := strconv.ParseFloat(strings.TrimSuffix(v[i], "%"), 64)
					return f / 100
				}
				return 0
			}
		}
		return 0
	}
	switch kind {
	case "inset":
		return at(0)+at(2, 0) >= 1 || at(1, 0)+at(3, 1, 0) >= 1
	case "circle", "ellipse":
		for _, r := range v {
			if f, ok := pixels(strings.TrimSuffix(r, "%")); ok && f == 0 {
				return true
			}
		}
	case "polygon":
		points := map[string]bool{}
		for _, p := range strings.Split(args, ",") {
			points[strings.Join(strings.Fields(p), " ")] = true
		}
		return len(points) < 3
	}
	return false
}
