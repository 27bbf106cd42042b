package html

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A sheet has the rules of the document's style elements that decide whether an element has
// a box, is visible, can be clicked, and what the case of its text is. Linked sheets are
// not fetched. It understands style rules, @media, @supports and @layer, and ignores other
// at-rules.

// The viewport for media queries: that of a live session, in CSS pixels.
const (
	viewWidth  = 1280
	viewHeight = 720
)

const (
	maxRules  = 20000   // selectors, of all style elements
	maxSheets = 4 << 20 // bytes of CSS, of all style elements
)

// declaration is one property with its value, in lower case, without !important.
type declaration struct {
	property, value string
	important       bool
}

type rule struct {
	selector     selector
	order        int
	declarations []declaration
}

type sheet struct {
	elements      ruleIndex
	before, after ruleIndex // of the pseudo-elements
	count         int
}

// ruleIndex has rules by the id, class or tag of their last compound selector.
type ruleIndex struct {
	byID, byClass, byTag map[string][]*rule
	rest                 []*rule
}

// keptProperties are the properties that are not ignored.
var keptProperties = words("display visibility opacity filter -webkit-text-security pointer-events position overflow overflow-x clip clip-path width height max-height max-width left top right " +
	"font-size color text-indent cursor text-transform float content content-visibility -webkit-text-fill-color background-clip -webkit-background-clip transform")

// parsed returns the sheet of d's style elements.
func (d *Document) parsed() *sheet {
	if d.sheet != nil {
		return d.sheet
	}
	d.sheet = &sheet{}
	left := maxSheets
	for _, n := range d.styles {
		if left <= 0 {
			break
		}
		if t := strings.ToLower(strings.TrimSpace(attr(n, "type"))); t != "" && t != "text/css" {
			continue
		}
		if m, ok := lookup(n, "media"); ok && !mediaMatches(m) {
			continue
		}
		if closest(n, func(p *html.Node) bool { return is(p, atom.Template) || is(p, atom.Svg) }) != nil {
			continue
		}
		text := textContent(n, left)
		left -= len(text)
		d.sheet.read(stripComments(text), 0)
	}
	return d.sheet
}

func stripComments(s string) string {
	if !strings.Contains(s, "/*") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "/*")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		b.WriteByte(' ')
		j := strings.Index(s[i+2:], "*/")
		if j < 0 {
			return b.String()
		}
		s = s[i+2+j+2:]
	}
}

// read adds the rules of a sheet, or of the block of an at-rule.
func (s *sheet) read(css string, depth int) {
	for css != "" && s.count < maxRules {
		prelude, body, rest, ok := nextRule(css)
		css = rest
		if !ok {
			continue
		}
		if name, params, at := atRule(prelude); at {
			switch name {
			case "media":
				if depth < 8 && mediaMatches(params) {
					s.read(body, depth+1)
				}
			case "layer", "supports":
				if depth < 8 && !(name == "supports" && strings.HasPrefix(strings.ToLower(params), "not")) {
					s.read(body, depth+1)
				}
			}
			continue
		}
		declarations := parseDeclarations(body)
		if len(declarations) == 0 {
			continue
		}
		for _, part := range splitTop(prelude, ',') {
			if sel, ok := parseSelector(part); ok {
				s.add(&rule{selector: sel, order: s.count, declarations: declarations})
			}
		}
	}
}

func atRule(prelude string) (name, params string, ok bool) {
	if !strings.HasPrefix(prelude, "@") {
		return "", "", false
	}
	end := strings.IndexFunc(prelude[1:], func(r rune) bool { return isSpace(r) || r == '(' })
	if end < 0 {
		return strings.ToLower(prelude[1:]), "", true
	}
	return strings.ToLower(prelude[1 : 1+end]), strings.TrimSpace(prelude[1+end:]), true
}

// nextRule cuts the first rule off css; ok is false for a statement without a body.
func nextRule(css string) (prelude, body, rest string, ok bool) {
	open := -1
	depth := 0
	for i := 0; i < len(css); i++ {
		switch c := css[i]; c {
		case '"', '\'':
			for i++; i < len(css) && css[i] != c && css[i] != '\n'; i++ {
				if css[i] == '\\' {
					i++
				}
			}
		case '\\':
			i++
		case ';':
			if open < 0 {
				return "", "", css[i+1:], false
			}
		case '{':
			if open < 0 {
				open = i
			}
			depth++
		case '}':
			if open < 0 {
				return "", "", css[i+1:], false
			}
			if depth--; depth == 0 {
				return trimCDO(css[:open]), css[open+1 : i], css[i+1:], true
			}
		}
	}
	if open >= 0 {
		return trimCDO(css[:open]), css[open+1:], "", true
	}
	return "", "", "", false
}

// trimCDO trims white space, <!-- and --> (CSS Syntax, CDO and CDC).
func trimCDO(s string) string {
	s = strings.TrimSpace(s)
	for {
		t := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(s, "<!--"), "-->"))
		if t == s {
			return s
		}
		s = t
	}
}

// splitTop splits s at sep, outside of parentheses, brackets and strings.
func splitTop(s string, sep byte) (parts []string) {
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\'':
			for i++; i < len(s) && s[i] != c; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case c == '\\':
			i++
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == sep && depth <= 0:
			parts = append(parts, s[from:i])
			from = i + 1
		}
	}
	return append(parts, s[min(from, len(s)):])
}

// parseDeclarations parses a declaration list, without the properties that are ignored.
func parseDeclarations(body string) (list []declaration) {
	for _, part := range splitTop(body, ';') {
		name, value, ok := strings.Cut(part, ":")
		if !ok {
			continue
		}
		name = strings.ToLower(strings.TrimSpace(name))
		if !keptProperties[name] {
			continue
		}
		d := declaration{property: name, value: strings.TrimSpace(value)}
		if name != "content" {
			d.value = strings.ToLower(d.value)
		}
		if i := strings.LastIndexByte(d.value, '!'); i >= 0 && strings.TrimSpace(d.value[i+1:]) == "important" {
			d.value, d.important = strings.TrimSpace(d.value[:i]), true
		}
		if d.value, ok = withoutVariables(d.value); ok {
			list = append(list, d)
		}
	}
	return list
}

// withoutVariables replaces each var() by its fallback, because custom properties are not
// computed. ok is false if a var() has no fallback.
func withoutVariables(v string) (_ string, ok bool) {
	for range 4 {
		i := strings.Index(v, "var(")
		if i < 0 {
			return v, true
		}
		depth, end := 0, -1
		for j := i + 3; j < len(v) && end < 0; j++ {
			switch v[j] {
			case '(':
				depth++
			case ')':
				if depth--; depth == 0 {
					end = j
				}
			}
		}
		if end < 0 {
			return v, false
		}
		_, fallback, ok := strings.Cut(v[i+4:end], ",")
		if !ok {
			return v, false
		}
		v = v[:i] + strings.TrimSpace(fallback) + v[end+1:]
	}
	return v, false
}

func (s *sheet) add(r *rule) {
	s.count++
	x := &s.elements
	switch r.selector.pseudo {
	case "before":
		x = &s.before
	case "after":
		x = &s.after
	}
	if x.byID == nil {
		x.byID, x.byClass, x.byTag = map[string][]*rule{}, map[string][]*rule{}, map[string][]*rule{}
	}
	last := r.selector.parts[len(r.selector.parts)-1]
	switch {
	case last.id != "":
		x.byID[last.id] = append(x.byID[last.id], r)
	case len(last.classes) > 0:
		c := last.classes[len(last.classes)-1]
		x.byClass[c] = append(x.byClass[c], r)
	case last.tag != "":
		x.byTag[last.tag] = append(x.byTag[last.tag], r)
	default:
		x.rest = append(x.rest, r)
	}
}

// matching returns the rules that match n, in the order of the cascade.
func (k *styleResolver) matching(x *ruleIndex, n *html.Node) (hits []*rule) {
	if x.byID == nil {
		return nil
	}
	try := func(rules []*rule) {
		for _, r := range rules {
			if k.steps < k.limit && r.selector.matches(n, k) {
				hits = append(hits, r)
			}
		}
	}
	if id, ok := lookup(n, "id"); ok && len(x.byID) > 0 {
		try(x.byID[id])
	}
	if c, ok := lookup(n, "class"); ok && len(x.byClass) > 0 {
		for i, word := range strings.Fields(c) {
			if i > 64 {
				break
			}
			try(x.byClass[word])
		}
	}
	try(x.byTag[n.Data])
	try(x.rest)
	slices.SortStableFunc(hits, func(a, b *rule) int {
		if a.selector.weight != b.selector.weight {
			return a.selector.weight - b.selector.weight
		}
		return a.order - b.order
	})
	return hits
}

// declared returns the declared values of n, by property.
func (k *styleResolver) declared(n *html.Node) map[string]string {
	var own []declaration
	if v, ok := lookup(n, "style"); ok && v != "" {
		own = parseDeclarations(v)
	}
	return cascade(k.matching(&k.d.parsed().elements, n), own)
}

// cascade applies declarations in their order (CSS Cascading 4, 6): those of rules, then the
// style attribute's, then both again if they are important.
func cascade(hits []*rule, own []declaration) map[string]string {
	if len(hits) == 0 && len(own) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, important := range []bool{false, true} {
		for _, r := range hits {
			for _, d := range r.declarations {
				if d.important == important {
					out[d.property] = d.value
				}
			}
		}
		for _, d := range own {
			if d.important == important {
				out[d.property] = d.value
			}
		}
	}
	return out
}

// mediaMatches reports whether a media query list matches a screen with the viewport.
func mediaMatches(list string) bool {
	list = strings.ToLower(strings.TrimSpace(list))
	if list == "" {
		return true
	}
	for _, q := range splitTop(list, ',') {
		if queryMatches(strings.TrimSpace(q)) {
			return true
		}
	}
	return false
}

func queryMatches(q string) bool {
	not := false
	if r, ok := strings.CutPrefix(q, "not "); ok {
		not, q = true, strings.TrimSpace(r)
	}
	q = strings.TrimPrefix(q, "only ")
	matches := true
	for _, part := range strings.Split(q, " and ") {
		switch part = strings.TrimSpace(part); part {
		case "all", "screen", "":
		case "print", "speech", "tty", "tv", "projection", "handheld", "braille", "embossed", "aural":
			matches = false
		default:
			matches = matches && featureMatches(part)
		}
	}
	return matches != not
}

func featureMatches(f string) bool {
	f, ok := strings.CutPrefix(f, "(")
	if !ok {
		return false
	}
	f = strings.TrimSpace(strings.TrimSuffix(f, ")"))
	name, value, ok := strings.Cut(f, ":")
	if !ok {
		return f == "hover" || f == "width" || f == "color" || f == "height"
	}
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	px, isLength := pixels(value)
	switch name {
	case "min-width", "min-device-width":
		return isLength && viewWidth >= px
	case "max-width", "max-device-width":
		return isLength && viewWidth <= px
	case "min-height", "min-device-height":
		return isLength && viewHeight >= px
	case "max-height", "max-device-height":
		return isLength && viewHeight <= px
	case "orientation":
		return value == "landscape"
	case "hover", "any-hover":
		return value == "hover"
	case "pointer", "any-pointer":
		return value == "fine"
	case "prefers-color-scheme":
		return value == "light"
	case "prefers-reduced-motion", "prefers-contrast":
		return value == "no-preference"
	case "scripting":
		return value == "none"
	}
	return false
}

// pixels parses a CSS length. em and rem count as 16 px.
func pixels(v string) (float64, bool) {
	v = strings.TrimSpace(v)
	unit := 1.0
	for suffix, size := range map[string]float64{"px": 1, "rem": 16, "em": 16, "pt": 4.0 / 3} {
		if s, ok := strings.CutSuffix(v, suffix); ok && (suffix != "em" || !strings.HasSuffix(v, "rem")) {
			v, unit = s, size
			break
		}
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	return f * unit, err == nil
}
