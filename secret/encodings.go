package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/browserd/browserd/snapshot"
)

// maxJSONDepth is how many times JSON may be a string in JSON.
const maxJSONDepth = 5

// encodedForms returns the forms in which a value may be in a text: its spellings, each in every encoding. They
// are in lower case (ASCII), since the search ignores case. The forms for JSON are each of these as a JSON
// string, and again as JSON within JSON strings, maxJSONDepth times.
func encodedForms(value string) (text, json [][]byte) {
	var plain []string
	for _, s := range spellings(value) {
		plain = append(plain, encodings(s)...)
	}
	seen := [2]map[string]bool{{}, {}}
	add := func(list [][]byte, i int, form string) [][]byte {
		f := lowerASCII([]byte(form))
		if seen[i][string(f)] {
			return list
		}
		seen[i][string(f)] = true
		return append(list, f)
	}
	for _, p := range plain {
		text = add(text, 0, p)
		for _, escapeHTML := range []bool{false, true} {
			quoted := inJSON(p, escapeHTML)
			for depth := range maxJSONDepth {
				if depth < maxJSONDepth-2 { // a page's lines, which are quoted, may be in an answer in JSON
					text = add(text, 0, quoted)
				}
				json = add(add(json, 1, quoted), 1, inJSON(quoted, true))
				again := inJSON(quoted, false)
				if again == quoted {
					break
				}
				quoted = again
			}
		}
	}
	return text, json
}

// spellings returns what pages may make of a value without encoding it. The search ignores the case of ASCII
// letters; for other letters it has the upper, lower and title case.
func spellings(value string) []string {
	list := []string{
		value,
		strings.ReplaceAll(value, "\n", ""), strings.ReplaceAll(value, "\n", "\r\n"), // in a field of one line, and as a form sends it
		strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(value), // in a URL
		notInFileNames.Replace(value),
	}
	if words := strings.Join(strings.Fields(value), " "); utf8.RuneCountInString(words) >= minValue {
		list = append(list, words) // as a page shows it
	}
	if r := []rune(value); len(r) > minValue { // as it is typed: its last letter is a key of its own
		list = append(list, string(r[:len(r)-1]))
	}
	for _, s := range list {
		if isASCII(s) {
			continue
		}
		first, size := utf8.DecodeRuneInString(s)
		list = append(list, strings.ToUpper(s), strings.ReplaceAll(strings.ToUpper(s), "ß", "SS"), strings.ToLower(s), string(unicode.ToTitle(first))+s[size:])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// notInFileNames replaces characters as Chromium does in the name of a download.
var notInFileNames = strings.NewReplacer(`"`, "_", "*", "_", "/", "_", ":", "_", "<", "_", ">", "_", "?", "_", `\`, "_", "|", "_", "~", "_")

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// Characters besides letters and digits that are not percent-encoded, by the kind of encoding.
const (
	inForm      = "*-._"                      // application/x-www-form-urlencoded, of which + is the blank
	inComponent = "-_.!~*'()"                 // encodeURIComponent
	inURI       = inComponent + ";/?:@&=+$,#" // encodeURI
	inEscape    = "@*_+-./"                   // escape
	inUserinfo  = "!$%&'()*+,-._~"            // the percent-encode sets of the URL standard, from the longest
	inPath      = inUserinfo + `/:;=@[\]|`
	inQuery     = inPath + "?`{}^"
	inFragment  = inPath + "?{}^#'"
)

// minBase64 is the least length of a form in Base64: shorter ones would be found in every picture.
const minBase64 = 6

// encodings returns a text unchanged, percent-encoded, escaped as in HTML and in scripts, in hexadecimal, and
// in Base64 at each of the three possible offsets.
func encodings(value string) []string {
	component := percent(value, inComponent)
	list := []string{
		value, url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
		strings.ReplaceAll(percent(value, inForm+" "), " ", "+"), component, percent(value, inURI),
		percent(value, inUserinfo), percent(value, inPath), percent(value, inQuery), percent(value, strings.ReplaceAll(inQuery, "'", "")), percent(value, inFragment),
		percent(component, inComponent), percent(url.QueryEscape(value), inComponent), percent(percent(component, inComponent), inComponent), // an address in an address
		percent(value, ""), everyByte(value, "%"), everyByte(value, `\x`), hex.EncodeToString([]byte(value)), everyByte(value, " ")[1:],
		html.EscapeString(value), strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(value),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\u00a0", "&nbsp;").Replace(value), // as innerHTML writes text
		strings.ReplaceAll(html.EscapeString(value), "+", "&#43;"),                                     // as html/template does
		everyUnit(value, `\u%04x`), asciiJSON(value), everyRune(value, "&#%d;"), everyRune(value, "&#x%x;"),
	}
	narrow, ok := latin1(value)
	if !isASCII(value) {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(value)) {
			if u > 0xff {
				fmt.Fprintf(&b, "%%u%04x", u)
			} else {
				b.WriteString(percent(string([]byte{byte(u)}), inEscape))
			}
		}
		list = append(list, b.String())
		if ok {
			list = append(list, hex.EncodeToString([]byte(narrow)))
		}
	}
	for _, bytes := range []string{value, narrow} { // btoa has one byte for a character
		if bytes == "" {
			continue
		}
		for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := alphabet.EncodeToString([]byte(bytes))
			for _, form := range []string{base64At(alphabet, bytes, 0), base64At(alphabet, bytes, 1), base64At(alphabet, bytes, 2), whole} {
				if len(form) >= minBase64 {
					list = append(list, form)
				}
			}
		}
	}
	return list
}

// percent percent-encodes every byte except letters, digits and those in keep.
func percent(value, keep string) string {
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// everyByte returns mark and two hexadecimal digits for every byte.
func everyByte(value, mark string) string {
	var b strings.Builder
	for i := range len(value) {
		b.WriteString(mark + hex.EncodeToString([]byte{value[i]}))
	}
	return b.String()
}

// everyRune formats every character.
func everyRune(value, format string) string {
	var b strings.Builder
	for _, r := range value {
		fmt.Fprintf(&b, format, r)
	}
	return b.String()
}

// everyUnit formats every UTF-16 code unit.
func everyUnit(value, format string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(value)) {
		fmt.Fprintf(&b, format, u)
	}
	return b.String()
}

// asciiJSON returns a text as a JSON string that is ASCII only, without the quotes.
func asciiJSON(value string) string {
	var b strings.Builder
	for _, r := range inJSON(value, false) {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			b.WriteString(everyUnit(string(r), `\u%04x`))
		}
	}
	return b.String()
}

// latin1 returns a text in Latin-1. ok is false if that is not possible, or if the text is ASCII.
func latin1(value string) (narrow string, ok bool) {
	if isASCII(value) {
		return "", false
	}
	var b []byte
	for _, r := range value {
		if r > 0xff {
			return "", false
		}
		b = append(b, byte(r))
	}
	return string(b), true
}

// base64At returns the part of the Base64 of a longer text that depends on the value alone. before is the
// value's offset in the text modulo 3. Characters at the ends that also depend on neighbouring bytes are left
// out.
func base64At(alphabet *base64.Encoding, value string, before int) string {
	text := alphabet.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	from := []int{0, 2, 3}[before]
	if (before+len(value))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[from:]
}

// inJSON returns a text as a JSON string without the quotes.
func inJSON(text string, escapeHTML bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if e.Encode(text) != nil {
		return text
	}
	quoted := snapshot.EscapeJSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return string(quoted[1 : len(quoted)-1])
}
