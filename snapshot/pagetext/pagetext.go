// Package pagetext keeps the text of a page as a client holds it: the last snapshot,
// with every delta since applied to it (PROTOCOL.md section 5). It uses the standard
// library only, and is the reference for clients in other languages.
package pagetext

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PageText is the text of one page. The zero PageText holds nothing. Not safe for use
// by several goroutines at a time.
type PageText struct {
	lines   []string
	more    string // the [more] line that ends the text, or empty
	removed map[string]removedLine
}

// removedLine is a line of a folded run of removed lines.
type removedLine struct {
	run []string
	at  int // its index in run
}

// Result has the fields of a command's result that say what the page shows.
type Result struct {
	Snapshot *Text `json:"snapshot"`
	Delta    *Text `json:"delta"`
}

// Text is a snapshot's or a delta's text.
type Text struct {
	Text string `json:"text"`
}

// Apply takes the snapshot or the delta of a result; without either it does nothing.
// After an error the PageText is as it was: take a snapshot.
func (p *PageText) Apply(r Result) error {
	switch {
	case r.Snapshot != nil:
		p.Snapshot(r.Snapshot.Text)
	case r.Delta != nil:
		return p.Delta(r.Delta.Text)
	}
	return nil
}

// Text returns the lines of a fresh snapshot with the same parameters, below its header.
func (p *PageText) Text() string {
	lines := p.lines
	if p.more != "" {
		lines = append(slices.Clone(lines), p.more)
	}
	return strings.Join(lines, "\n")
}

// Snapshot makes text the page's text.
func (p *PageText) Snapshot(text string) {
	lines := strings.Split(text, "\n")[1:] // without the header
	*p = PageText{}
	if n := len(lines) - 1; n >= 0 && strings.HasPrefix(lines[n], moreMark) && !folded.MatchString(lines[n]) {
		lines, p.more = lines[:n], lines[n]
	}
	p.lines = lines
}

const moreMark = "[more] "

var (
	ref    = regexp.MustCompile(`^ *(@e[0-9]+) \[`)
	below  = regexp.MustCompile(` with ([0-9]+) lines? below$`)
	run    = regexp.MustCompile(`^(@e[0-9]+)(?: to @e[0-9]+)?, ([0-9]+) lines$`)
	folded = regexp.MustCompile(`^\[more\] (?:at least )?[0-9]+ (?:nodes|like siblings) not shown here`)
)

// line is one of the lines before the delta.
type line struct {
	text string
	left bool // removed, or moved away
}

// Delta applies a delta's text.
func (p *PageText) Delta(text string) error {
	if text == "" {
		return nil
	}
	d := delta{old: make([]line, len(p.lines)), more: p.more, removed: map[string]removedLine{}, moved: map[string][]string{}}
	for i, l := range p.lines {
		d.old[i].text = l
	}
	for r, l := range p.removed {
		d.removed[r] = l
	}
	if err := d.apply(strings.Split(text, "\n")); err != nil {
		return err
	}
	p.lines, p.more, p.removed = d.out, d.more, d.removed
	return nil
}

type delta struct {
	old     []line
	out     []string
	more    string
	removed map[string]removedLine
	moved   map[string][]string // by the ref of the first line
}

func (d *delta) apply(rows []string) error {
	end := 0 // of the part that says what is there now; the removals follow
	for i, row := range rows {
		if row != "" && strings.Contains("+~>", row[:1]) {
			end = i + 1
		}
	}
	for _, row := range rows[:end] {
		var err error
		if states, ok := strings.CutPrefix(row, "~ covered: "); ok {
			err = d.cover(states, true)
		} else if states, ok := strings.CutPrefix(row, "~ not covered: "); ok {
			err = d.cover(states, false)
		}
		if err != nil {
			return err
		}
	}
	if err := d.remove(rows[end:]); err != nil {
		return err
	}
	for _, row := range rows[:end] {
		if moved, ok := strings.CutPrefix(row, "> "); ok {
			if err := d.takeOut(moved); err != nil {
				return err
			}
		}
	}
	for _, l := range d.old {
		if !l.left {
			d.out = append(d.out, l.text)
		}
	}
	return d.write(rows[:end])
}

// cover adds the state covered to the lines of refs, or takes it away: "@e1 to @e9, @e12".
func (d *delta) cover(refs string, covered bool) error {
	for part := range strings.SplitSeq(refs, ", ") {
		first, last, ok := strings.Cut(part, " to ")
		if !ok {
			last = first
		}
		from, to := d.find(first+" [", 0), d.find(last+" [", 0)
		if from < 0 || to < from {
			return fmt.Errorf("%s is not in the text", part)
		}
		for i := from; i <= to; i++ {
			if ref.MatchString(d.old[i].text) {
				d.old[i].text = Cover(d.old[i].text, covered)
			}
		}
	}
	return nil
}

// remove applies the removals, in the order of the text before the delta.
func (d *delta) remove(rows []string) error {
	at := 0
	for _, row := range rows {
		said := row[min(2, len(row)):]
		switch {
		case strings.HasPrefix(row, "* "):
			continue // it is not in the text
		case strings.HasPrefix(row, moreMark):
			d.more = row
			continue
		case row == "- [more]":
			d.more = ""
			continue
		}
		count := 1
		r := run.FindStringSubmatch(said)
		if r != nil {
			said = r[1] + " ["
			count, _ = strconv.Atoi(r[2])
		}
		i := d.find(said, at)
		if i < 0 || i+count > len(d.old) {
			return fmt.Errorf("the text does not have %q", row)
		}
		at = i + count
		switch {
		case row[:2] == "  ":
			continue
		case row[:2] != "- ":
			return fmt.Errorf("a delta has no line %q", row)
		}
		var lines []string
		for j := i; j < at; j++ {
			d.old[j].left = true
			lines = append(lines, d.old[j].text)
		}
		if r != nil {
			for k, l := range lines {
				if m := ref.FindStringSubmatch(l); m != nil {
					d.removed[m[1]] = removedLine{lines, k}
				}
			}
		}
	}
	return nil
}

// find returns the index of the line that said means: the one with its ref, or the
// first one from from on that is equal to it. It returns -1 if there is none.
func (d *delta) find(said string, from int) int {
	return find(len(d.old), func(i int) string { return d.old[i].text }, said, from)
}

func find(n int, text func(int) string, said string, from int) int {
	m := ref.FindStringSubmatch(said)
	if m == nil {
		for i := from; i < n; i++ {
			if text(i) == said {
				return i
			}
		}
		return -1
	}
	for i := range n {
		if strings.HasPrefix(strings.TrimLeft(text(i), " "), m[1]+" [") {
			return i
		}
	}
	return -1
}

// takeOut takes what has moved out of the old lines.
func (d *delta) takeOut(said string) error {
	said, count := cutBelow(said)
	i := d.find(said, 0)
	if i < 0 || i+count >= len(d.old) {
		return fmt.Errorf("the text does not have what moved: %q", said)
	}
	lines := []string{said}
	deeper := indent(said) - indent(d.old[i].text)
	for j := i; j <= i+count; j++ {
		d.old[j].left = true
		if j > i {
			lines = append(lines, Indent(d.old[j].text, deeper))
		}
	}
	d.moved[ref.FindStringSubmatch(said)[1]] = lines
	return nil
}

// cutBelow returns a moved line without the words at its end, and how many lines
// below it moved with it.
func cutBelow(said string) (string, int) {
	m := below.FindStringSubmatch(said)
	if m == nil {
		return said, 0
	}
	n, _ := strconv.Atoi(m[1])
	return strings.TrimSuffix(said, m[0]), n
}

// write adds, changes and moves lines, in the order of the text after the delta.
func (d *delta) write(rows []string) error {
	at := 0 // where the next line goes
	for _, row := range rows {
		if strings.HasPrefix(row, "~ covered: ") || strings.HasPrefix(row, "~ not covered: ") {
			continue
		}
		if len(row) < 2 || row[1] != ' ' {
			return fmt.Errorf("a delta has no line %q", row)
		}
		said := row[2:]
		lines := []string{said}
		switch row[0] {
		case ' ', '~':
			i := find(len(d.out), func(i int) string { return d.out[i] }, said, at)
			if i < 0 {
				return fmt.Errorf("the text does not have %q", row)
			}
			if at = i + 1; row[0] == '~' {
				d.out[i] = said
			}
			continue
		case '+':
			if r := run.FindStringSubmatch(said); r != nil {
				was := d.removed[r[1]]
				count, _ := strconv.Atoi(r[2])
				if was.at+count > len(was.run) {
					return fmt.Errorf("what comes back was not removed: %q", row)
				}
				lines = was.run[was.at : was.at+count]
			}
		case '>':
			first, _ := cutBelow(said)
			lines = d.moved[ref.FindStringSubmatch(first)[1]]
		default:
			return fmt.Errorf("a delta has no line %q", row)
		}
		d.out = slices.Insert(d.out, at, lines...)
		at += len(lines)
	}
	return nil
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// Indent returns line with as many more blanks before it, or fewer if by is negative.
func Indent(line string, by int) string {
	if by < 0 {
		return line[min(-by, indent(line)):]
	}
	return strings.Repeat(" ", by) + line
}

// Cover returns an element's line with the state covered, or without. The state stands
// behind all others but offscreen.
func Cover(line string, covered bool) string {
	i := strings.IndexByte(line, '[')
	quoted := false
	for ; i < len(line); i++ {
		switch {
		case quoted && line[i] == '\\':
			i++
		case line[i] == '"':
			quoted = !quoted
		case quoted:
		case line[i] == ' ' || line[i] == ']':
			word := line[i:]
			if line[i] == ' ' {
				word = word[:1+strings.IndexAny(word[1:], " =]")+1]
			}
			if word == " covered " || word == " covered]" {
				if covered {
					return line
				}
				return line[:i] + line[i+len(" covered"):]
			}
			bare := strings.HasSuffix(word, "=") && !strings.HasPrefix(line[i+len(word):], `"`)
			if word[0] == ']' || bare || word == " value=" || word == " offscreen " || word == " offscreen]" {
				if covered {
					return line[:i] + " covered" + line[i:]
				}
				if word[0] == ']' {
					return line
				}
			}
		}
	}
	return line
}
