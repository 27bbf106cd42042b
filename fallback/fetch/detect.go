package fetch

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
)

// detectWindow is how much of a body is looked at to guess its charset.
const detectWindow = 256 << 10

// detect names the charset of a body that does not say it.
func detect(b []byte) string {
	if name := wide(b); name != "" {
		return name
	}
	if bytes.Contains(b, []byte("\x1b$B")) || bytes.Contains(b, []byte("\x1b$@")) {
		return "iso-2022-jp"
	}
	if whole(b) {
		return "utf-8"
	}
	b = b[:min(len(b), detectWindow)]
	best, err := chardet.NewHtmlDetector().DetectBest(b)
	if err != nil {
		return "windows-1252"
	}
	if _, name := charset.Lookup(strings.ToLower(best.Charset)); name != "" && name != "replacement" {
		return name
	}
	return "windows-1252"
}

// whole is true for UTF-8; a last character that the cap cut is no fault.
func whole(b []byte) bool {
	for i := 0; i < utf8.UTFMax && i <= len(b); i++ {
		if utf8.Valid(b[:len(b)-i]) {
			return i == 0 || !utf8.FullRune(b[len(b)-i:])
		}
	}
	return false
}

// wide recognises UTF-16 without a byte order mark by the zeros of its ASCII,
// of which markup is made: all on the same side.
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
