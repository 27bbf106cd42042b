package snapshot

import (
	"fmt"
	"strconv"
	"strings"
)

// Parsed is what a snapshot's or a delta's text says.
type Parsed struct {
	Kind string // snapshot, delta, or empty for an empty text

	// The header's, which only a snapshot has.
	Nodes      int
	Emitted    int
	Truncated  bool
	Reasons    []string
	Placed     bool // it has URL and title
	URL, Title string

	Lines []Line
	Rest  Rest
}

// Line is one line: of a snapshot, below its header.
type Line struct {
	Op     string // of a delta: +, ~ or -
	Depth  int
	Ref    int    // 0 for a text and a [more] line
	Role   string // RoleText for a text, "more" for a [more] line
	Name   string // the text of a text line, what a [more] line says
	Value  string
	Attrs  []Attr // quoted ones, then bare ones; value is in Value
	States []string
	Folded int // the nodes that a [more] line stands for
}

// Rest is what the last [more] line says is left: Kind is nodes, texts, deeper
// (nodes below max_depth), cut (texts at max_text) or changes; empty without
// such a line. Count is 0 where it was not counted. After is the ref to
// continue after, 0 where there is none; Raise is then the budget to raise. At
// is where texts were cut.
type Rest struct {
	Kind  string
	Count int
	After int
	Raise string
	At    int
}

// Parse reads the text of a snapshot or a delta. It accepts what Render and
// Diff write and nothing else: one way to write each string, each number and
// each list, figures that agree with the lines, refs that stand once. Its
// errors name the line, from 1, and the byte in it. A text is a delta where its
// first line has an op (+, ~ or -) or, being its only one, counts changes.
func Parse(text string) (Parsed, error) {
	if text == "" {
		return Parsed{}, nil
	}
	lines := strings.Split(text, "\n")
	var doc Parsed
	from := 0
	if isDelta(lines[0]) {
		doc.Kind = "delta"
	} else {
		p := parser{s: lines[0], line: 1}
		if err := p.header(&doc); err != nil {
			return Parsed{}, err
		}
		from = 1
	}
	for i := from; i < len(lines); i++ {
		s := lines[i]
		p := parser{s: s, line: i + 1}
		if i == len(lines)-1 {
			if r, ok := parseRest(s); ok {
				doc.Rest = r
				break
			}
		}
		l, err := p.body(doc.Kind)
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

// isDelta says whether a text that begins with this line is a delta.
func isDelta(line string) bool {
	p := parser{s: line}
	r, _ := parseRest(line)
	return p.op() != "" || r.ofDelta()
}

// ofDelta says whether the line counts what only a delta counts.
func (r Rest) ofDelta() bool {
	return r.Kind == string(restChanges) || r.Kind == string(restOutside)
}

// check compares the lines with each other and with what the header and the
// [more] line say.
func (doc *Parsed) check() error {
	refs := map[int]bool{}
	for _, l := range doc.Lines {
		if l.Ref == 0 {
			continue
		}
		if refs[l.Ref] {
			return fmt.Errorf("@e%d stands twice", l.Ref)
		}
		refs[l.Ref] = true
	}
	if doc.Kind == "delta" {
		if doc.Rest.Kind != "" && !doc.Rest.ofDelta() {
			return fmt.Errorf("a delta's [more] line counts %s", doc.Rest.Kind)
		}
		return nil
	}
	if doc.Rest.ofDelta() {
		return fmt.Errorf("a snapshot's [more] line counts changes")
	}
	if doc.Emitted != len(refs) {
		return fmt.Errorf("emitted=%d and %d lines with a ref", doc.Emitted, len(refs))
	}
	if doc.Rest.After != 0 && !refs[doc.Rest.After] {
		return fmt.Errorf("after=@e%d is not in the text", doc.Rest.After)
	}
	if doc.Rest.Kind != "" && !doc.Truncated {
		return fmt.Errorf("a [more] line and truncated=false")
	}
	return nil
}

// parser reads one line from its start.
type parser struct {
	s    string
	at   int
	line int
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

// number reads a number as it is written: no sign, no leading zero.
func (p *parser) number() (int, bool) {
	digits := p.while(isDigit)
	n, err := strconv.Atoi(digits)
	return n, err == nil && (digits == "0" || digits[0] != '0')
}

// field reads key and a number.
func (p *parser) field(key string) (int, error) {
	if !p.take(key) {
		return 0, p.fail(key)
	}
	n, ok := p.number()
	if !ok {
		return 0, p.fail("a number")
	}
	return n, nil
}

// header reads the first line of a snapshot.
func (p *parser) header(doc *Parsed) (err error) {
	if !p.take("[snapshot]") {
		return p.fail("[snapshot], or a delta's +, ~ or -")
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
	if doc.Nodes, err = p.field(" nodes="); err != nil {
		return err
	}
	if doc.Emitted, err = p.field(" emitted="); err != nil {
		return err
	}
	switch {
	case p.take(" truncated=false"):
		return nil
	case !p.take(" truncated=true reasons="):
		return p.fail("truncated and its reasons")
	}
	doc.Truncated = true
	list := p.while(func(b byte) bool { return isLetter(b) || b == '_' || b == ',' })
	doc.Reasons = reasonsOf(strings.Split(list, ",")...).words()
	if list == "" || strings.Join(doc.Reasons, ",") != list {
		return p.fail("a list of reasons in their order")
	}
	return nil
}

// op reads what begins a line of a delta, "" where it is none.
func (p *parser) op() string {
	for _, op := range []string{"+", "~", "-"} {
		if p.take(op + " ") {
			return op
		}
	}
	return ""
}

// body reads a line of a delta, or one below a snapshot's header.
func (p *parser) body(kind string) (l Line, err error) {
	if kind == "delta" {
		if l.Op = p.op(); l.Op == "" {
			return l, p.fail("+, ~ or -")
		}
	}
	for p.take("  ") {
		l.Depth++
	}
	if l.Depth > maxIndent {
		return l, p.fail("a depth that is written")
	}
	switch {
	case p.take("@e"):
		err = p.element(&l)
	case l.Op == "~":
		err = p.fail("a ref, which every changed line has")
	case p.take("text "):
		l.Role = RoleText
		if l.Name, err = p.quoted(); err == nil && l.Name == "" {
			err = p.fail("a text that says something")
		}
	case p.take(moreStart):
		l.Role = roleMore
		err = p.folded(&l)
	default:
		err = p.fail("a ref, text or [more]")
	}
	if err == nil && !p.done() {
		err = p.fail("the end of the line")
	}
	return l, err
}

// folded reads a [more] line for folded nodes, after its first word.
func (p *parser) folded(l *Line) (err error) {
	var ok bool
	if l.Folded, ok = p.number(); !ok || l.Folded == 0 {
		return p.fail("a count")
	}
	if !p.take(foldedHere) {
		return p.fail(strings.TrimSpace(foldedHere))
	}
	if p.take(": ") {
		if l.Name, err = p.quoted(); err == nil && l.Name == "" {
			err = p.fail("a word on how to go on")
		}
	}
	return err
}

// element reads a line with a ref, after "@e".
func (p *parser) element(l *Line) (err error) {
	var ok bool
	if l.Ref, ok = p.number(); !ok || l.Ref == 0 {
		return p.fail("a ref")
	}
	if !p.take(" [") {
		return p.fail("[")
	}
	if l.Role = p.word(); !IsWord(l.Role) {
		return p.fail("a role")
	}
	if err := p.properties(l); err != nil {
		return err
	}
	if p.take(" ") {
		if l.Name, err = p.quoted(); err == nil && l.Name == "" {
			err = p.fail("a name that says something")
		}
	}
	return err
}

func (p *parser) word() string {
	return p.while(func(b byte) bool { return isLetter(b) || isDigit(b) || b == '-' })
}

// properties reads what stands between an element's role and its "]", in its
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
		if !IsWord(word) {
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
				return p.fail("a quoted value that says something")
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

// quoted reads a literal, and holds it to being the one that Quote writes.
func (p *parser) quoted() (string, error) {
	const what = "a string literal as they are written here"
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
	if !ok || Quote(s) != p.s[from:end+1] {
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

// unit reads uXXXX.
func unit(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:5], 16, 16)
	return rune(n), err == nil
}

// parseRest reads a text's last [more] line.
func parseRest(s string) (Rest, bool) {
	p := parser{s: s}
	if !p.take(moreStart) {
		return Rest{}, false
	}
	if p.take("deeper "+moreDeeper) && p.done() {
		return Rest{Kind: string(restDeeper)}, true
	}
	r := Rest{}
	if !p.take("some texts cut at ") {
		var ok bool
		if r.Count, ok = p.number(); !ok || r.Count == 0 {
			return Rest{}, false
		}
		switch {
		case p.take(moreChange):
			r.Kind = string(restChanges)
			return r, p.done()
		case p.take(moreOutside):
			r.Kind = string(restOutside)
			if p.take(moreWhole) {
				return r, p.done()
			}
			if !p.take(moreBehind) {
				return Rest{}, false
			}
			r.After, ok = p.number()
			return r, ok && r.After > 0 && p.done()
		case p.take(" " + moreDeeper):
			r.Kind = string(restDeeper)
			return r, p.done()
		case p.take(" nodes"):
			r.Kind = string(restNodes)
		case p.take(" texts"):
			r.Kind = string(restTexts)
		}
		switch {
		case p.take(moreAfter):
			var ok bool
			r.After, ok = p.number()
			return r, ok && r.Kind != "" && r.After > 0 && p.done()
		case p.take(moreRaise):
			r.Raise = p.s[p.at:]
			return r, r.Kind != "" && (r.Raise == reasonChars || r.Raise == reasonNodes)
		}
		if r.Kind != string(restTexts) || !p.take(" cut at ") {
			return Rest{}, false
		}
	}
	r.Kind = string(restCut)
	var ok bool
	r.At, ok = p.number()
	return r, ok && r.At > 0 && p.take(moreCut) && p.done()
}
