// Package snapshottext parses the text of a snapshot (PROTOCOL.md section 5), for tests and benchmarks. It is written apart from the code that
// renders the text, and shares none of it, so that each checks the other.
//
// Its functions are pure and may be called by any goroutine.
package snapshottext

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Parsed is the content of a snapshot's text.
type Parsed struct {
	Kind string // snapshot, or empty for an empty text

	// The fields of the header.
	Truncated  bool
	Reasons    []string
	Placed     bool // the header has URL and title
	URL, Title string

	Lines []Line
	Rest  Rest
}

// Line is one line of a snapshot below its header.
type Line struct {
	Depth  int    // indentation, two blanks a level
	Ref    int    // 0 for a text and a [more] line
	Role   string // "text" for a text line, "more" for a [more] line, "tools" for a [tools] line
	Name   string // the text of a text line, the hint of a [more] line, the count and names of a [tools] line
	Value  string
	Attrs  []Attr // quoted ones, then bare ones; value is in Value
	States []string
	Folded int // the nodes that a [more] line stands for
	// Siblings: these are like siblings, Name and Last are what the first and the last one are
	// called, After is the ref behind which they come, and with AtLeast there are more.
	Siblings, AtLeast bool
	Last              string
	After             int
}

// Attr is one key="value" of a line. A bare value has no quotes.
type Attr struct {
	Key   string
	Value string
	Bare  bool
}

// Rest is the content of a text's last [more] line.
type Rest struct {
	// Kind is nodes, texts, deeper (nodes below max_depth), cut (texts at
	// max_text); empty if there is no such line.
	Kind  string
	Count int // 0 if it was not counted
	// AtLeast: there are more than Count.
	AtLeast bool
	After   int    // the ref to continue after, 0 for none
	Raise   string // the budget to raise, where After is 0
	At      int    // for cut: the characters at which texts were cut
}

const maxDepth = 512

// The wording of the last [more] line.
const (
	moreStart  = "[more] "
	moreAfter  = " not shown; continue with after=@e"
	moreRaise  = " not shown; raise "
	moreDeeper = "nodes not shown; raise max_depth, or set scope"
	moreCut    = " characters; read the whole with read, or raise max_text"
	moreFolded = " nodes not shown here"
	moreLike   = " like siblings not shown here"
	moreBehind = "; continue with after=@e"
)

// reasonOrder is the order in which a header lists reasons.
var reasonOrder = []string{"max_nodes", "max_chars", "max_depth", "max_text"}

// Parse parses the text of a snapshot. It accepts exactly what snapshot.Render writes:
// one spelling of each string, number and list, counts that agree with the lines, each
// ref once. An error names the line and the byte in it, both from 1.
//
// quote is snapshot.Quote. It is a parameter because the tests of package
// snapshot use this package, which therefore cannot import it.
func Parse(text string, quote func(string) string) (Parsed, error) {
	if text == "" {
		return Parsed{}, nil
	}
	lines := strings.Split(text, "\n")
	var doc Parsed
	header := parser{s: lines[0], line: 1, quote: quote}
	if err := header.header(&doc); err != nil {
		return Parsed{}, err
	}
	for i := 1; i < len(lines); i++ {
		s := lines[i]
		p := parser{s: s, line: i + 1, quote: quote}
		if i == len(lines)-1 {
			if r, ok := parseRest(s); ok {
				doc.Rest = r
				break
			}
		}
		l, err := p.body()
		if err != nil {
			return Parsed{}, err
		}
		doc.Lines = append(doc.Lines, l)
	}
	if err := doc.check(); err != nil {
		return Parsed{}, err
	}
	return doc, nil
}

var (
	word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)
	bare = regexp.MustCompile(`^[A-Za-z0-9.-]{1,64}$`)

	tools = regexp.MustCompile(`^[1-9][0-9]*: ([A-Za-z0-9_.-]{1,128}|"([^"\\]|\\.)*")(, ([A-Za-z0-9_.-]{1,128}|"([^"\\]|\\.)*"|…))*$`)
)

func isWord(s string) bool { return word.MatchString(s) }
func isBare(s string) bool { return bare.MatchString(s) }
func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }

// check compares the lines with each other, with the header and with the [more]
// line.
func (doc *Parsed) check() error {
	refs := map[int]bool{}
	for _, l := range doc.Lines {
		if l.Ref == 0 {
			continue
		}
		if refs[l.Ref] {
			return fmt.Errorf("@e%d is there twice", l.Ref)
		}
		refs[l.Ref] = true
	}
	if doc.Rest.After != 0 && !refs[doc.Rest.After] {
		return fmt.Errorf("after=@e%d is not in the text", doc.Rest.After)
	}
	if doc.Rest.Kind != "" && !doc.Truncated {
		return fmt.Errorf("a [more] line and no reasons")
	}
	return nil
}

// parser parses one line, from its start.
type parser struct {
	s     string
	at    int // the next byte
	line  int // from 1, for errors
	quote func(string) string
}

func (p *parser) fail(want string) error {
	return fmt.Errorf("line %d, byte %d: not %s", p.line, p.at+1, want)
}

// take steps over word, where it is next.
func (p *parser) take(word string) bool {
	if strings.HasPrefix(p.s[p.at:], word) {
		p.at += len(word)
		return true
	}
	return false
}

func (p *parser) done() bool { return p.at == len(p.s) }

// while steps over the bytes that ok holds for.
func (p *parser) while(ok func(byte) bool) string {
	from := p.at
	for p.at < len(p.s) && ok(p.s[p.at]) {
		p.at++
	}
	return p.s[from:p.at]
}

// number parses a number: no sign, no leading zero.
func (p *parser) number() (int, bool) {
	digits := p.while(isDigit)
	n, err := strconv.Atoi(digits)
	return n, err == nil && (digits == "0" || digits[0] != '0')
}

// header parses the first line of a snapshot.
func (p *parser) header(doc *Parsed) (err error) {
	if !p.take("[snapshot]") {
		return p.fail("[snapshot]")
	}
	doc.Kind = "snapshot"
	if err = p.snapshotFields(doc); err != nil || p.done() {
		return err
	}
	doc.Placed = true
	if !p.take(" url=") {
		return p.fail("url=")
	}
	if doc.URL, err = p.quoted(); err != nil {
		return err
	}
	if !p.take(" title=") {
		return p.fail("title=")
	}
	if doc.Title, err = p.quoted(); err != nil {
		return err
	}
	if !p.done() {
		return p.fail("the end of the header")
	}
	return nil
}

func (p *parser) snapshotFields(doc *Parsed) (err error) {
	if !p.take(" reasons=") {
		return nil
	}
	doc.Truncated = true
	list := p.while(func(b byte) bool { return isLetter(b) || b == '_' || b == ',' })
	doc.Reasons = slices.DeleteFunc(slices.Clone(reasonOrder), func(reason string) bool {
		return !slices.Contains(strings.Split(list, ","), reason)
	})
	if list == "" || strings.Join(doc.Reasons, ",") != list {
		return p.fail("a list of reasons in their order")
	}
	return nil
}

// body parses a line below the header.
func (p *parser) body() (l Line, err error) {
	for p.take("  ") {
		l.Depth++
	}
	if l.Depth > maxDepth {
		return l, p.fail("a depth up to 512")
	}
	switch {
	case p.take("@e"):
		err = p.element(&l)
	case p.take("text "):
		l.Role = "text"
		if l.Name, err = p.quoted(); err == nil && l.Name == "" {
			err = p.fail("a text that is not empty")
		}
	case p.take(moreStart):
		l.Role = "more"
		err = p.folded(&l)
	case l.Depth == 0 && p.take("[tools] "):
		l.Role, l.Name = "tools", p.while(func(byte) bool { return true })
		if !tools.MatchString(l.Name) {
			err = p.fail("a count and names")
		}
	default:
		err = p.fail("a ref, text or [more]")
	}
	if err == nil && !p.done() {
		err = p.fail("the end of the line")
	}
	return l, err
}

// folded parses a [more] line for folded nodes, after its first word.
func (p *parser) folded(l *Line) (err error) {
	l.AtLeast = p.take("at least ")
	var ok bool
	if l.Folded, ok = p.number(); !ok || l.Folded == 0 {
		return p.fail("a count")
	}
	if p.take(moreLike) {
		return p.siblings(l)
	}
	if l.AtLeast || !p.take(moreFolded) {
		return p.fail(strings.TrimSpace(moreFolded))
	}
	if p.take(": ") {
		if l.Name, err = p.quoted(); err == nil && l.Name == "" {
			err = p.fail("a hint that is not empty")
		}
	}
	return err
}

// siblings parses what like siblings are left out.
func (p *parser) siblings(l *Line) (err error) {
	l.Siblings = true
	if p.take(": ") {
		if l.Name, err = p.quoted(); err == nil && l.Name == "" {
			err = p.fail("a name that is not empty")
		}
		if err == nil && p.take(" to ") {
			if l.Last, err = p.quoted(); err == nil && l.Last == "" {
				err = p.fail("a name that is not empty")
			}
		}
	}
	if err == nil && p.take(moreBehind) {
		var ok bool
		if l.After, ok = p.number(); !ok || l.After == 0 {
			return p.fail("a ref")
		}
	}
	return err
}

// element parses a line with a ref, after "@e".
func (p *parser) element(l *Line) (err error) {
	var ok bool
	if l.Ref, ok = p.number(); !ok || l.Ref == 0 {
		return p.fail("a ref")
	}
	if !p.take(" [") {
		return p.fail("[")
	}
	if l.Role = p.word(); !isWord(l.Role) {
		return p.fail("a role")
	}
	if err := p.properties(l); err != nil {
		return err
	}
	if p.take(" ") {
		if l.Name, err = p.quoted(); err == nil && l.Name == "" {
			err = p.fail("a name that is not empty")
		}
	}
	return err
}

func (p *parser) word() string {
	return p.while(func(b byte) bool { return isLetter(b) || isDigit(b) || b == '-' })
}

// properties parses what is between an element's role and its "]", in this
// order: quoted attributes, states, bare attributes, the value.
func (p *parser) properties(l *Line) error {
	const (
		quoted = iota
		states
		bare
		value
	)
	seen := map[string]bool{}
	for stage := quoted; !p.take("]"); {
		if !p.take(" ") || stage == value {
			return p.fail("]")
		}
		word := p.word()
		if !isWord(word) {
			return p.fail("a state or a key")
		}
		is := states
		var a Attr
		if p.take("=") {
			a.Key = word
			if strings.HasPrefix(p.s[p.at:], `"`) {
				s, err := p.quoted()
				if err != nil {
					return err
				}
				a.Value = s
				is = quoted
			} else {
				a.Value = p.while(func(b byte) bool { return isLetter(b) || isDigit(b) || b == '.' || b == '-' })
				a.Bare = true
				is = bare
				if !isBare(a.Value) {
					return p.fail("a value")
				}
			}
		}
		if a.Key == "value" {
			if a.Bare || a.Value == "" {
				return p.fail("a quoted value that is not empty")
			}
			l.Value, stage = a.Value, value
			continue
		}
		id := word
		if is != states {
			id += "="
		}
		if seen[id] || is < stage {
			return p.fail("a property once and in its place")
		}
		seen[id], stage = true, is
		if is == states {
			l.States = append(l.States, word)
		} else {
			l.Attrs = append(l.Attrs, a)
		}
	}
	return nil
}

// quoted parses a string literal. It refuses one that quote would write
// otherwise.
func (p *parser) quoted() (string, error) {
	const what = "a string literal in its one spelling"
	from := p.at
	if !p.take(`"`) {
		return "", p.fail(what)
	}
	end := p.at
	for end < len(p.s) && p.s[end] != '"' {
		if p.s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.s) {
		return "", p.fail(what)
	}
	s, ok := unquote(p.s[p.at:end])
	if !ok || p.quote(s) != p.s[from:end+1] {
		return "", p.fail(what)
	}
	p.at = end + 1
	return s, nil
}

// unquote undoes the escapes of a literal's inside.
func unquote(s string) (string, bool) {
	if !strings.Contains(s, `\`) {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false
		}
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte(c)
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, ok := unit(s[i:])
			if !ok {
				return "", false
			}
			i += 4
			if 0xD800 <= r && r < 0xDC00 {
				low, ok := unit(strings.TrimPrefix(s[i+1:], `\`))
				if !ok || low < 0xDC00 || low > 0xDFFF {
					return "", false
				}
				i += 6
				r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
			}
			b.WriteRune(r)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unit parses uXXXX.
func unit(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:5], 16, 16)
	return rune(n), err == nil
}

// parseRest parses a text's last [more] line.
func parseRest(s string) (Rest, bool) {
	p := parser{s: s}
	if !p.take(moreStart) {
		return Rest{}, false
	}
	if p.take("deeper "+moreDeeper) && p.done() {
		return Rest{Kind: "deeper"}, true
	}
	r := Rest{}
	if !p.take("some texts cut at ") {
		var ok bool
		r.AtLeast = p.take("at least ")
		if r.Count, ok = p.number(); !ok || r.Count == 0 {
			return Rest{}, false
		}
		switch {
		case p.take(" " + moreDeeper):
			r.Kind = "deeper"
			return r, p.done()
		case p.take(" nodes"):
			r.Kind = "nodes"
		case p.take(" texts"):
			r.Kind = "texts"
		}
		switch {
		case p.take(moreAfter):
			var ok bool
			r.After, ok = p.number()
			return r, ok && r.Kind != "" && r.After > 0 && p.done()
		case p.take(moreRaise):
			r.Raise = p.s[p.at:]
			return r, r.Kind != "" && (r.Raise == "max_chars" || r.Raise == "max_nodes")
		}
		if r.Kind != "texts" || !p.take(" cut at ") {
			return Rest{}, false
		}
	}
	r.Kind = "cut"
	var ok bool
	r.At, ok = p.number()
	return r, ok && r.At > 0 && p.take(moreCut) && p.done()
}
