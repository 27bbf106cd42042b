package html

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// selector is a CSS selector of a style sheet, matched from its end. It is not cascadia's,
// because the cost of matching is counted: a page may have thousands of selectors that
// were written to be slow.
type selector struct {
	parts  []compound
	weight int    // specificity
	pseudo string // before or after, of a pseudo-element
}

// compound is one compound selector, with the combinator before it.
type compound struct {
	combinator byte // ' ', '>', '+', '~'; 0 for the first
	tag, id    string
	classes    []string
	attrs      []attrTest
	not        []compound
	is         [][]compound // one of each list: :is(), :where()
	dir        string       // :dir()
	first      bool         // :first-child
	last       bool         // :last-child
	root       bool         // :root
	state      string
}

type attrTest struct {
	key, op, value string
}

const maxParts = 12

// parseSelector parses a complex selector. ok is false if it never matches in a static
// document (:hover, ::marker) or is not supported.
func parseSelector(s string) (sel selector, ok bool) {
	s = strings.TrimSpace(s)
	for _, end := range []string{"before", "after"} {
		if r, ok := strings.CutSuffix(s, ":"+end); ok {
			s, sel.pseudo = strings.TrimSuffix(r, ":"), end
			if s == "" || strings.IndexByte(" >+~", s[len(s)-1]) >= 0 {
				s += "*"
			}
			sel.weight = 1
		}
	}
	var combinator byte
	for s != "" {
		c, rest, ok := parseCompound(s)
		if !ok || len(sel.parts) == maxParts {
			return sel, false
		}
		c.combinator = combinator
		sel.parts = append(sel.parts, c)
		sel.weight += c.weight()
		trimmed := strings.TrimLeft(rest, " \t\n\r\f")
		if trimmed == "" {
			return sel, true
		}
		combinator = ' '
		if strings.IndexByte(">+~", trimmed[0]) >= 0 {
			combinator = trimmed[0]
			trimmed = strings.TrimLeft(trimmed[1:], " \t\n\r\f")
		} else if len(trimmed) == len(rest) {
			return sel, false
		}
		s = trimmed
	}
	return sel, false
}

func (c *compound) weight() int {
	w := 0
	if c.id != "" {
		w += 10000
	}
	w += 100 * (len(c.classes) + len(c.attrs))
	for _, b := range []bool{c.first, c.last, c.root, c.state != "", c.dir != ""} {
		if b {
			w += 100
		}
	}
	if c.tag != "" {
		w++
	}
	for i := range c.not {
		w += c.not[i].weight()
	}
	for _, list := range c.is {
		most := 0
		for i := range list {
			most = max(most, list[i].weight())
		}
		w += most
	}
	return w
}

func parseCompound(s string) (c compound, rest string, ok bool) {
	seen := false
	for s != "" {
		switch s[0] {
		case '*':
			s = s[1:]
		case '#', '.':
			name, rest := identifier(s[1:])
			if name == "" {
				return c, s, false
			}
			if s[0] == '#' {
				c.id = name
			} else {
				c.classes = append(c.classes, name)
			}
			s = rest
		case '[':
			end := strings.IndexByte(s, ']')
			if end < 0 {
				return c, s, false
			}
			t, ok := parseAttrTest(s[1:end])
			if !ok {
				return c, s, false
			}
			c.attrs = append(c.attrs, t)
			s = s[end+1:]
		case ':':
			rest, ok := c.pseudo(s[1:])
			if !ok {
				return c, s, false
			}
			s = rest
		default:
			name, rest := identifier(s)
			if name == "" {
				return c, s, seen
			}
			if seen {
				return c, s, false
			}
			c.tag = strings.ToLower(name)
			s = rest
		}
		seen = true
	}
	return c, "", seen
}

// identifier parses a name. It unescapes escapes of one character.
func identifier(s string) (name, rest string) {
	var b strings.Builder
	i := 0
	for i < len(s) {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '-' || c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z':
			b.WriteByte(c)
		default:
			return b.String(), s[i:]
		}
		i++
	}
	return b.String(), ""
}

func parseAttrTest(s string) (t attrTest, ok bool) {
	i := strings.IndexByte(s, '=')
	if i < 0 {
		t.key = strings.ToLower(strings.TrimSpace(s))
		return t, t.key != ""
	}
	t.op = "="
	end := i
	if i > 0 && strings.IndexByte("~|^$*", s[i-1]) >= 0 {
		t.op, end = s[i-1:i+1], i-1
	}
	t.key = strings.ToLower(strings.TrimSpace(s[:end]))
	t.value = strings.TrimSpace(s[i+1:])
	t.value = strings.TrimSpace(strings.TrimSuffix(t.value, " i"))
	if len(t.value) >= 2 && (t.value[0] == '"' || t.value[0] == '\'') && t.value[len(t.value)-1] == t.value[0] {
		t.value = t.value[1 : len(t.value)-1]
	}
	return t, t.key != ""
}

// pseudo parses a pseudo-class. ok is false for those that never match here.
func (c *compound) pseudo(s string) (rest string, ok bool) {
	name, rest := identifier(s)
	switch strings.ToLower(name) {
	case "first-child":
		c.first = true
	case "last-child":
		c.last = true
	case "root":
		c.root = true
	case "link", "any-link", "checked", "disabled", "enabled", "empty":
		c.state = strings.ToLower(name)
	case "not", "is", "where", "dir", "matches", "-webkit-any":
		end := closing(rest)
		if end < 0 {
			return s, false
		}
		inside := rest[1:end]
		rest = rest[end+1:]
		if name == "dir" {
			c.dir = strings.ToLower(strings.TrimSpace(inside))
			return rest, true
		}
		var list []compound
		for _, part := range splitTop(inside, ',') {
			inner, left, ok := parseCompound(strings.TrimSpace(part))
			if !ok || left != "" {
				if name == "not" {
					return s, false
				}
				continue // a forgiving list
			}
			list = append(list, inner)
		}
		if name == "not" {
			c.not = append(c.not, list...)
		} else {
			c.is = append(c.is, list)
		}
	default:
		return s, false
	}
	return rest, true
}

// closing returns where the parenthesis that s begins with is closed, -1 nowhere.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
		if depth == 0 {
			break
		}
	}
	return -1
}

// matches reports whether s matches n. It counts its steps in k.
func (s *selector) matches(n *html.Node, k *styleResolver) bool {
	return s.from(len(s.parts)-1, n, k)
}

func (s *selector) from(i int, n *html.Node, k *styleResolver) bool {
	k.steps++
	if n == nil || k.steps > k.limit || !s.parts[i].matches(n) {
		return false
	}
	if i == 0 {
		return true
	}
	switch s.parts[i].combinator {
	case '>':
		return s.from(i-1, parent(n), k)
	case '+':
		return s.from(i-1, previousElement(n), k)
	case '~':
		for p := previousElement(n); p != nil && k.steps <= k.limit; p = previousElement(p) {
			if s.from(i-1, p, k) {
				return true
			}
		}
		return false
	}
	for p := parent(n); p != nil && k.steps <= k.limit; p = parent(p) {
		if s.from(i-1, p, k) {
			return true
		}
	}
	return false
}

func (c *compound) matches(n *html.Node) bool {
	if c.tag != "" && c.tag != n.Data && !(n.Namespace != "" && strings.EqualFold(c.tag, n.Data)) {
		return false
	}
	if c.id != "" && attr(n, "id") != c.id {
		return false
	}
	if len(c.classes) > 0 {
		have := attr(n, "class")
		for _, w := range c.classes {
			if !hasWord(have, w) {
				return false
			}
		}
	}
	for i := range c.attrs {
		if !c.attrs[i].matches(n) {
			return false
		}
	}
	switch {
	case c.first && previousElement(n) != nil, c.last && nextElement(n) != nil, c.root && parent(n) != nil:
		return false
	}
	if c.state != "" && !inState(n, c.state) {
		return false
	}
	for i := range c.not {
		if c.not[i].matches(n) {
			return false
		}
	}
	for _, list := range c.is {
		if !slices.ContainsFunc(list, func(one compound) bool { return one.matches(n) }) {
			return false
		}
	}
	return c.dir == "" || c.dir == direction(n)
}

// direction returns the directionality of n by dir attributes (HTML, 3.2.6.4).
func direction(n *html.Node) string {
	for ; n != nil; n = parent(n) {
		switch d := strings.ToLower(attr(n, "dir")); d {
		case "ltr", "rtl":
			return d
		}
	}
	return "ltr"
}

func inState(n *html.Node, state string) bool {
	switch state {
	case "link", "any-link":
		return (n.Data == "a" || n.Data == "area") && has(n, "href")
	case "checked":
		return has(n, "checked") || has(n, "selected")
	case "disabled":
		return disabledByMarkup(n)
	case "enabled":
		return formTags[n.Data] && !disabledByMarkup(n)
	}
	return n.FirstChild == nil // empty
}

// hasWord reports whether a list separated by white space has the word w.
func hasWord(list, w string) bool {
	for {
		i := strings.Index(list, w)
		if i < 0 {
			return false
		}
		end := i + len(w)
		if (i == 0 || asciiSpace(list[i-1])) && (end == len(list) || asciiSpace(list[end])) {
			return true
		}
		list = list[end:]
		// A word cannot begin in the middle of one: skip to the next.
		next := strings.IndexAny(list, " \t\n\r\f")
		if next < 0 {
			return false
		}
		list = list[next:]
	}
}

func asciiSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' || b == '\f' }

func (t *attrTest) matches(n *html.Node) bool {
	v, ok := lookup(n, t.key)
	if !ok {
		return false
	}
	switch t.op {
	case "":
		return true
	case "=":
		return v == t.value || t.key == "type" && strings.EqualFold(v, t.value)
	case "~=":
		return slices.Contains(strings.Fields(v), t.value)
	case "|=":
		return v == t.value || strings.HasPrefix(v, t.value+"-")
	case "^=":
		return t.value != "" && strings.HasPrefix(v, t.value)
	case "$=":
		return t.value != "" && strings.HasSuffix(v, t.value)
	}
	return t.value != "" && strings.Contains(v, t.value)
}
