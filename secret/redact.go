package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/browserd/browserd/snapshot"
)

// masked is what stands for a value: no longer than the shortest one, so that limits of
// characters hold.
const masked = "•••"

// keptValues are how many values are removed: of one-time codes the oldest are forgotten.
const keptValues = 256

// redactor removes values from JSON. Any goroutine may use it.
type redactor struct {
	mu     sync.RWMutex
	values []string
	// json and text are the forms of the values as they are searched in either: in small
	// letters, those of JSON as it escapes them.
	json, text [][]byte
}

// add has a value removed from now on.
func (r *redactor) add(value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.values, value) {
		return
	}
	r.values = append(r.values, value)
	r.values = r.values[max(0, len(r.values)-keptValues):]
	r.json, r.text = nil, nil
	for _, v := range r.values {
		text, json := formsOf(v)
		r.text, r.json = append(r.text, text...), append(r.json, json...)
	}
}

// formsOf returns the forms in which a value is found in a text, in small letters (of ASCII),
// since letters' case is not compared: the value, percent-encoded in three ways, in HTML, in
// hexadecimal and in Base64 at each of its three positions. Those in JSON are each as JSON
// writes it, and once more where that JSON is a text in JSON.
func formsOf(value string) (text, json [][]byte) {
	plain := []string{
		value, url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
		html.EscapeString(value), strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(value),
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\u00a0", "&nbsp;").Replace(value), // as innerHTML writes text
		strings.ReplaceAll(html.EscapeString(value), "+", "&#43;"),                                     // as html/template does
		strings.ReplaceAll(value, "\n", ""), strings.ReplaceAll(value, "\n", "\r\n"),                   // in a field of one line, and as a form sends it
		hex.EncodeToString([]byte(value)), everyByte(value),
	}
	if words := strings.Join(strings.Fields(value), " "); utf8.RuneCountInString(words) >= minValue {
		plain = append(plain, words) // as a page shows it
	}
	if r := []rune(value); len(r) > minValue { // as it is typed: its last letter is a key of its own
		plain = append(plain, string(r[:len(r)-1]))
	}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			if len(value)*4/3 >= 5 { // shorter ones are found in every picture
				plain = append(plain, base64At(alphabet, value, before))
			}
		}
	}
	add := func(list [][]byte, form string) [][]byte {
		f := lowered([]byte(form))
		if slices.ContainsFunc(list, func(has []byte) bool { return bytes.Equal(has, f) }) {
			return list
		}
		return append(list, f)
	}
	for _, p := range plain {
		text = add(text, p)
		for _, once := range []string{inJSON(p, false), inJSON(p, true)} {
			text, json = add(text, once), add(json, once)
			json = add(add(json, inJSON(once, false)), inJSON(once, true))
		}
	}
	return text, json
}

// everyByte is percent-encoding of every byte.
func everyByte(value string) string {
	var b strings.Builder
	for i := range len(value) {
		b.WriteString("%" + hex.EncodeToString([]byte{value[i]}))
	}
	return b.String()
}

// base64At is what stands for the value in the Base64 of a longer text, wherever it stands: with
// so many bytes before it, without the letters at its ends that its neighbours share.
func base64At(alphabet *base64.Encoding, value string, before int) string {
	text := alphabet.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	from := []int{0, 2, 3}[before]
	if (before+len(value))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[from:]
}

// inJSON is a text as it stands in JSON, without the quotes.
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

// lowered returns ASCII's letters small, and all else as it is, so that places stay where they
// are.
func lowered(text []byte) []byte {
	small := make([]byte, len(text))
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		small[i] = c
	}
	return small
}

// span is a place in a text.
type span struct{ from, to int }

// redact replaces every form of every value, in JSON or in a text.
func (r *redactor) redact(text []byte, isJSON bool) []byte {
	found := r.find(text, isJSON)
	if found == nil {
		return text
	}
	out := make([]byte, 0, len(text))
	end := 0
	for _, s := range found {
		out = append(append(out, text[end:s.from]...), masked...)
		end = s.to
	}
	return append(out, text[end:]...)
}

// find returns where the forms of the values are, in order and apart from each other.
func (r *redactor) find(text []byte, isJSON bool) (found []span) {
	r.mu.RLock()
	forms := r.text
	if isJSON {
		forms = r.json
	}
	r.mu.RUnlock()
	if len(forms) == 0 {
		return nil
	}
	small := lowered(text)
	if !isJSON {
		found = r.findEscaped(small)
	}
	for _, form := range forms {
		for at := 0; ; {
			i := bytes.Index(small[at:], form)
			if i < 0 {
				break
			}
			if i += at; isJSON && splitsEscape(text, i) {
				at = i + 1
				continue
			}
			found = append(found, span{i, i + len(form)})
			at = i + len(form)
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	apart := found[:0]
	for _, s := range found {
		if n := len(apart); n > 0 && s.from < apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, s.to)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

// findEscaped returns where the values are in Markdown, which may have a backslash before any
// punctuation.
func (r *redactor) findEscaped(small []byte) (found []span) {
	if bytes.IndexByte(small, '\\') < 0 {
		return nil
	}
	bare, at := make([]byte, 0, len(small)), make([]int, 0, len(small)) // without backslashes, and where each byte was
	for i, c := range small {
		if c != '\\' {
			bare, at = append(bare, c), append(at, i)
		}
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, value := range r.values {
		form := bytes.ReplaceAll(lowered([]byte(value)), []byte{'\\'}, nil)
		if len(form) < minValue {
			continue
		}
		for from := 0; ; {
			i := bytes.Index(bare[from:], form)
			if i < 0 {
				break
			}
			i += from
			from = i + len(form)
			found = append(found, span{at[i], at[from-1] + 1})
		}
	}
	return found
}

// splitsEscape reports whether i lies within an escape sequence of JSON: the n of \n, or a digit
// of \u00e9.
func splitsEscape(text []byte, i int) bool {
	for back := 1; back <= 5 && back <= i; back++ {
		at := i - back
		if text[at] != '\\' {
			continue
		}
		before := 0
		for at-before > 0 && text[at-before-1] == '\\' {
			before++
		}
		if before%2 == 1 { // it is itself escaped
			return false
		}
		return back == 1 || text[at+1] == 'u'
	}
	return false
}
