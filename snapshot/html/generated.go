package html

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// generated returns the content of the ::before or ::after pseudo-element of n (CSS Generated
// Content 3), with spaces around it unless it is inline.
func (k *styleResolver) generated(n *html.Node, x *ruleIndex) string {
	hits := k.matching(x, n)
	if len(hits) == 0 {
		return ""
	}
	own := cascade(hits, nil)
	d := displayOf(own["display"], inline)
	if d == none || own["visibility"] == "hidden" {
		return ""
	}
	text := contentText(own["content"], n)
	if d == inlineBlock && text != "" { // a space separates it from its neighbour
		if x == &k.d.sheet.before {
			return text + " "
		}
		return " " + text
	}
	if text == "" || d == inline && own["position"] != "absolute" && own["position"] != "fixed" && own["float"] != "left" && own["float"] != "right" {
		return text
	}
	return " " + text + " "
}

// contentText returns the text of a content value: its strings and attr(), or the alternative
// text after a slash.
func contentText(v string, n *html.Node) string {
	var b strings.Builder
	for v != "" {
		switch c := v[0]; {
		case c == '"' || c == '\'':
			s, rest := cssString(v)
			b.WriteString(s)
			v = rest
		case c == '/':
			b.Reset()
			v = v[1:]
		case isSpace(rune(c)):
			v = v[1:]
		default:
			word, rest := identifier(v)
			if word == "" {
				return b.String()
			}
			switch {
			case strings.HasPrefix(rest, "("):
				end := strings.IndexByte(rest, ')')
				if end < 0 {
					return b.String()
				}
				if strings.EqualFold(word, "attr") {
					b.WriteString(attr(n, strings.ToLower(strings.TrimSpace(rest[1:end]))))
				}
				rest = rest[end+1:]
			case word == "open-quote":
				b.WriteString("“")
			case word == "close-quote":
				b.WriteString("”")
			}
			v = rest
		}
	}
	return b.String()
}

// cssString returns the string with which v begins, unescaped, and the rest.
func cssString(v string) (s, rest string) {
	quote := v[0]
	var b strings.Builder
	for i := 1; i < len(v); {
		switch c := v[i]; {
		case c == quote:
			return b.String(), v[i+1:]
		case c == '\\' && i+1 < len(v):
			i++
			end := i
			for end < len(v) && end < i+6 && strings.IndexByte("0123456789abcdefABCDEF", v[end]) >= 0 {
				end++
			}
			if end == i {
				b.WriteByte(v[i])
				i++
				continue
			}
			if r, err := strconv.ParseUint(v[i:end], 16, 32); err == nil {
				b.WriteRune(rune(r))
			}
			if i = end; i < len(v) && asciiSpace(v[i]) {
				i++
			}
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), ""
}
