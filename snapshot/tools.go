package snapshot

import (
	"strconv"
	"strings"
)

// roleTools is the role of a [tools] line.
const roleTools = "tools"

// What a [tools] line shows at most: names, and characters of one that is quoted.
const (
	maxToolNames = 20
	maxToolName  = 60
)

// Tools returns the line that says which tools a page has registered: [tools] 2: search, pay.
// A name that has other characters than those that Chromium allows is quoted.
func Tools(names []string) Node {
	var b strings.Builder
	b.WriteString(strconv.Itoa(len(names)))
	for i, name := range names {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		if i == maxToolNames {
			b.WriteString("…")
			break
		}
		if !isToolName(name) {
			name = Quote(Cut(name, maxToolName))
		}
		b.WriteString(name)
	}
	return Node{Role: roleTools, Name: b.String()}
}

// isToolName reports whether a name needs no quotes: ASCII letters, digits, '_', '-' and '.',
// at most 128, which is what WebMCP allows.
func isToolName(s string) bool {
	return s != "" && len(s) <= 128 && strings.IndexFunc(s, func(r rune) bool {
		return r >= 0x80 || !isLetter(byte(r)) && !isDigit(byte(r)) && r != '_' && r != '-' && r != '.'
	}) < 0
}
