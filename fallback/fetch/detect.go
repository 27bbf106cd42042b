package fetch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
)

// detectWindow is how many bytes of a body are used to guess its charset.
const detectWindow = 256 << 10

// detect guesses the charset of a body that does not declare one.
func detect(b []byte) string {
	if name := wide(b); name != "" {
		return name
	}
	if shifts(b) {
		return "iso-2022-jp"
	}
	if whole(b) {
		return "utf-8"
	}
	b = b[:min(len(b), detectWindow)]
	guesses, err := chardet.NewHtmlDetector().DetectAll(b)
	if err != nil {
		return "windows-1252"
	}
	for _, g := range guesses {
		_, name := charset.Lookup(strings.ToLower(g.Charset))
		// That it is no UTF is known by now.
		if name == "" || name == "replacement" || strings.HasPrefix(name, "utf-") {
			continue
		}
		if _, ok := decode(b, name); ok && g.Confidence >= leastConfidence {
			return name
		}
	}
	return "windows-1252"
}

// leastConfidence is the least confidence, of 100, at which a guess is used.
const leastConfidence = 10

// whole reports whether b is UTF-8. The last character may be cut, unless it is the only one.
func whole(b []byte) bool {
	for i := 0; i < utf8.UTFMax && i <= len(b); i++ {
		if head := b[:len(b)-i]; utf8.Valid(head) {
			return i == 0 || !utf8.FullRune(b[len(b)-i:]) && utf8.RuneCount(head) < len(head)
		}
	}
	return false
}

// shifts reports whether b is ISO-2022-JP, which is ASCII with escape sequences.
func shifts(b []byte) bool {
	return bytes.Contains(b, []byte("\x1b$B")) || bytes.Contains(b, []byte("\x1b$@"))
}

// wide recognizes UTF-16 without a byte order mark: the ASCII of its markup has a zero in
// every other byte.
func wide(b []byte) string {
	b = b[:min(len(b), 4<<10)]
	b = b[:len(b)&^1]
	var zeros [2]int
	for i, c := range b {
		if c == 0 {
			zeros[i&1]++
		}
	}
	units := len(b) / 2
	switch {
	case units == 0:
		return ""
	case zeros[1]*5 > units && zeros[0]*20 <= zeros[1]:
		return "utf-16le"
	case zeros[0]*5 > units && zeros[1]*20 <= zeros[0]:
		return "utf-16be"
	}
	return ""
}
