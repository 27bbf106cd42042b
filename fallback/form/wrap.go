package form

import (
	"strings"

	"golang.org/x/net/html"
)

// wrapped returns the value of a textarea with wrap=hard (HTML 4.10.11): with a line break
// after each cols characters, at a blank if there is one. Characters of other widths may
// wrap elsewhere on a screen.
func wrapped(n *html.Node, value string) string {
	if !strings.EqualFold(attr(n, "wrap"), "hard") {
		return value
	}
	cols, ok := nonNegative(attr(n, "cols"))
	if !ok || cols == 0 {
		cols = 20
	}
	cols++ // Chromium leaves room for a scroll bar that is not there yet
	var out []string
	for line := range strings.SplitSeq(value, "\n") {
		out = append(out, broken([]rune(line), cols)...)
	}
	return strings.Join(out, "\n")
}

// broken breaks one line; blanks at the end of a line hang over.
func broken(line []rune, cols int) []string {
	var out []string
	for len(line) > cols {
		end := cols
		for end < len(line) && line[end] == ' ' {
			end++
		}
		if end == cols && line[cols-1] != ' ' {
			for end > 0 && line[end-1] != ' ' {
				end--
			}
			if end == 0 {
				end = cols // one long word
			}
		}
		if end == len(line) {
			break
		}
		out = append(out, string(line[:end]))
		line = line[end:]
	}
	return append(out, string(line))
}
