package snapshot

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote returns s as a string literal, the form of every page string in a snapshot. It
// is a JSON string (RFC 8259) in which control, bidirectional, zero-width, tag and
// other characters that are invisible or reorder the text are escaped as \uXXXX, those
// above U+FFFF as a surrogate pair. A byte that is not UTF-8 becomes \ufffd. All other
// characters are unchanged, < > & included.
//
// Three kinds of invisible characters are not escaped where they have a meaning: a
// zero-width joiner or non-joiner between two letters of a joining script (Arabic,
// Indic and similar), a joiner between two emoji, and a variation selector 15 or 16
// after an emoji or the base of a keycap.
//
// Each string has exactly one literal.
func Quote(s string) string { return string(appendQuoted(nil, s)) }

// Cut returns s in at most max characters (Unicode code points; a max below 1 is 1). A
// longer string is cut and ends with "…". The cut is moved back where it would split a
// base from its combining marks, a joined emoji or a flag.
func Cut(s string, max int) string {
	s, _ = cut(s, max)
	return s
}

// maxCluster is how many characters back cut looks for the start of a cluster.
const maxCluster = 16

func cut(s string, max int) (string, bool) {
	if max < 1 {
		max = 1
	}
	if len(s) <= max {
		return s, false
	}
	// end is where character number max begins: the "…" replaces the string from
	// there on.
	end, n := 0, 0
	for i := range s {
		if n == max-1 {
			end = i
		}
		if n == max {
			return s[:clusterStart(s, end)] + "…", true
		}
		n++
	}
	return s, false
}

// clusterStart returns the last place at or before i at which s may be cut.
func clusterStart(s string, i int) int {
	at := i
	for range maxCluster {
		if at == 0 {
			break
		}
		before, size := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[at:])
		if !joined(s[:at], before, after) {
			return at
		}
		at -= size
	}
	return i // no real cluster is that long
}

// joined reports whether after belongs to the last cluster of head, which ends with
// before. It is the cheap part of UAX #29.
func joined(head string, before, after rune) bool {
	switch {
	case after < 0x300:
		return false
	case before == zwj || after == zwj || unicode.Is(unicode.M, after):
		return true
	case 0x1F3FB <= after && after <= 0x1F3FF: // skin tones
		return true
	case isFlagHalf(before) && isFlagHalf(after):
		halves := 0
		for head != "" && halves < maxCluster {
			r, size := utf8.DecodeLastRuneInString(head)
			if !isFlagHalf(r) {
				break
			}
			halves++
			head = head[:len(head)-size]
		}
		return halves%2 == 1
	}
	return false
}

func isFlagHalf(r rune) bool { return 0x1F1E6 <= r && r <= 0x1F1FF }

const (
	zwnj = '\u200c'
	zwj  = '\u200d'
	hex  = "0123456789abcdef"
)

// appendQuoted appends Quote(s) to dst.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0 // s[from:i] is copied next, unchanged
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf {
			if b >= 0x20 && b != '"' && b != '\\' && b != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = appendASCII(dst, b)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !hidden(r) || meant(r, s[:i], s[i+size:]) {
			i += size
			continue
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscape(dst, r)
		i += size
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

// EscapeJSON returns a JSON text in which the characters that Quote escapes are escaped as
// well: it means the same, and can be shown as it is. What needs no escape is returned
// unchanged, without a copy.
func EscapeJSON(text []byte) []byte {
	var dst []byte
	from := 0
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			if b == 0x7f {
				dst = appendUnit(append(dst, text[from:i]...), 0x7f)
				from = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if hidden(r) && !meant(r, string(text[max(0, i-8):i]), string(text[i+size:min(len(text), i+size+8)])) {
			dst = appendEscape(append(dst, text[from:i]...), r)
			from = i + size
		}
		i += size
	}
	if from == 0 {
		return text
	}
	return append(dst, text[from:]...)
}

// Lines returns s, which has several lines, with the characters that Quote escapes escaped,
// and a backslash before each line that looks like one of a snapshot, of a delta or of an
// answer around them. Line feeds and tabs stay.
func Lines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if blank := len(line) - len(strings.TrimLeft(line, " +~>-\t")); looksLikeOurs(line[blank:]) {
			b.WriteString(line[:blank])
			b.WriteByte('\\')
			line = line[blank:]
		}
		body, feed := strings.CutSuffix(line, "\n")
		b.WriteString(Literally(strings.TrimSuffix(body, "\r")))
		if feed {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Literally returns one line with the characters that Quote escapes escaped, but for
// quotation marks, backslashes and tabs: for text that has been escaped once.
func Literally(s string) string {
	plain := true
	for _, r := range s {
		if r < 0x20 && r != '\t' || r == 0x7f || r >= 0x80 && hidden(r) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	q := Quote(s)
	return asTyped.Replace(q[1 : len(q)-1])
}

var asTyped = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\t`, "\t")

var ours = []string{"[more]", "[snapshot]", "[tools]", "text \"", "effect:", "details:", "next:", "session=", "tab=", "url=", "status=", "source=", "ready=", "→"}

func looksLikeOurs(line string) bool {
	if rest, ok := strings.CutPrefix(line, "@e"); ok {
		return rest != "" && isDigit(rest[0])
	}
	for _, begins := range ours {
		if strings.HasPrefix(line, begins) {
			return true
		}
	}
	return false
}

func appendASCII(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return appendUnit(dst, rune(b))
}

func appendEscape(dst []byte, r rune) []byte {
	if r <= 0xFFFF {
		return appendUnit(dst, r)
	}
	r -= 0x10000
	return appendUnit(appendUnit(dst, 0xD800+r>>10), 0xDC00+r&0x3FF)
}

func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u', hex[u>>12&15], hex[u>>8&15], hex[u>>4&15], hex[u&15])
}

// hidden reports whether r, from U+0080, is escaped unless it is meant: C1 controls,
// Unicode's default ignorable code points and similar ones, line separators,
// interlinear annotation, noncharacters, and U+FFFD, which a byte that is not UTF-8
// decodes to.
func hidden(r rune) bool {
	switch {
	case r < 0xA0:
		return true
	case r < 0x300:
		return r == 0xAD // soft hyphen
	case r < 0x2000:
		switch r {
		case 0x034F, // combining grapheme joiner
			0x061C,         // Arabic letter mark
			0x115F, 0x1160, // Hangul fillers
			0x17B4, 0x17B5, // Khmer inherent vowels
			0x180B, 0x180C, 0x180D, 0x180E, 0x180F: // Mongolian selectors and separator
			return true
		}
		return false
	case r < 0x2070:
		return 0x200B <= r && r <= 0x200F || // zero width, left-to-right and right-to-left marks
			0x2028 <= r && r <= 0x202E || // line and paragraph separators, embeddings, overrides
			0x2060 <= r // word joiner, invisible operators, isolates, deprecated format characters
	case r < 0xFDD0:
		return r == 0x3164 // Hangul filler
	case r < 0x10000:
		return r <= 0xFDEF || // noncharacters
			0xFE00 <= r && r <= 0xFE0F || // variation selectors
			r == 0xFEFF || // byte order mark
			r == 0xFFA0 || // half-width Hangul filler
			0xFFF0 <= r && r <= 0xFFFB || // unassigned ignorables, interlinear annotation
			r >= 0xFFFD
	}
	return r&0xFFFE == 0xFFFE || // noncharacters
		0x1BCA0 <= r && r <= 0x1BCA3 || // shorthand format controls
		0x1D173 <= r && r <= 0x1D17A || // musical format controls
		0xE0000 <= r && r <= 0xE0FFF // tags, variation selectors supplement
}

// meant reports whether the hidden character r has a meaning between before and after.
func meant(r rune, before, after string) bool {
	switch r {
	case zwj, zwnj:
		b, size := utf8.DecodeLastRuneInString(before)
		a, _ := utf8.DecodeRuneInString(after)
		if joins(b) && joins(a) {
			return true
		}
		if b == 0xFE0F {
			b, _ = utf8.DecodeLastRuneInString(before[:len(before)-size])
		}
		return r == zwj && pictograph(b) && pictograph(a)
	case 0xFE0E, 0xFE0F:
		b, _ := utf8.DecodeLastRuneInString(before)
		return pictograph(b) || '0' <= b && b <= '9' || b == '#' || b == '*'
	}
	return false
}

// joining are the blocks of the scripts in which a joiner changes how the
// letters beside it are written.
var joining = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0600, Hi: 0x08FF, Stride: 1}, // Arabic, Syriac, Thaana, N'Ko, Mandaic
		{Lo: 0x0900, Hi: 0x0DFF, Stride: 1}, // Devanagari to Sinhala
		{Lo: 0x1000, Hi: 0x109F, Stride: 1}, // Myanmar
		{Lo: 0x1780, Hi: 0x18AF, Stride: 1}, // Khmer, Mongolian
		{Lo: 0xA840, Hi: 0xA87F, Stride: 1}, // Phags-pa
		{Lo: 0xFB50, Hi: 0xFDCF, Stride: 1}, // Arabic presentation forms A
		{Lo: 0xFE70, Hi: 0xFEFC, Stride: 1}, // Arabic presentation forms B
	},
	R32: []unicode.Range32{
		{Lo: 0x11000, Hi: 0x1197F, Stride: 1}, // Brahmi and its descendants
	},
}

func joins(r rune) bool {
	return r >= 0x0600 && unicode.Is(joining, r) && unicode.In(r, unicode.L, unicode.M) && !hidden(r)
}

// pictograph reports whether r is in the blocks that hold Unicode's emoji.
func pictograph(r rune) bool {
	return r == 0xA9 || r == 0xAE || r == 0x203C || r == 0x2049 ||
		0x2100 <= r && r <= 0x214F || 0x2190 <= r && r <= 0x2BFF ||
		r == 0x3030 || r == 0x303D || r == 0x3297 || r == 0x3299 ||
		0x1F000 <= r && r <= 0x1FAFF
}

// IsWord reports whether s may be written bare, as a role, a state or an attribute's
// key: an ASCII letter, then letters, digits and '-', at most 64. A snapshot leaves out
// an attribute whose key is not a word.
func IsWord(s string) bool {
	if s == "" || len(s) > 64 || !isLetter(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if b := s[i]; !isLetter(b) && !isDigit(b) && b != '-' {
			return false
		}
	}
	return true
}

// isBare reports whether s may be an attribute's value without quotes.
func isBare(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf || !isLetter(byte(r)) && !isDigit(byte(r)) && r != '.' && r != '-'
	}) < 0
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
