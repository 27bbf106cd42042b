package secret

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// masked replaces a value. It is not longer than the shortest value, so that redacting never exceeds a limit of
// characters.
const masked = "•••"

// maxCodes is how many one-time codes of an agent are redacted; older ones are forgotten, since they have
// expired. maxValues is how many other values an agent may be given; none of them is forgotten.
const (
	maxCodes  = 256
	maxValues = 256
)

// redactor removes values from JSON. Any goroutine may use it.
type redactor struct {
	isMemberName func(name string) bool // Vault.isMemberName
	mu           sync.RWMutex
	values       []valueForms
	// json searches JSON for the forms of the values, text searches text, and hidden searches text for values
	// that are not usernames.
	json, text, hidden *search
	// bare searches text whose backslashes were removed for values with punctuation, which Markdown escapes by
	// backslashes. bareMost is the length of the longest such value with a backslash before each byte.
	bare     *search
	bareMost int
}

// valueForms is a value with its forms (encodedForms).
type valueForms struct {
	value      string
	username   bool // a username, which sites show
	code       bool // a one-time code
	text, json [][]byte
}

// add makes the redactor remove a value of a secret of that kind. It returns false if there are maxValues
// already.
func (r *redactor) add(value, kind string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, others := false, 0
	for _, v := range r.values {
		known = known || v.value == value
		if !v.code {
			others++
		}
	}
	if kind != TOTP && !known && others >= maxValues {
		return false
	}
	if r.insert(value, kind) {
		r.rebuildSearch()
	}
	return true
}

// hide is add for values that another daemon gives. They have been counted there, so there is no limit here.
func (r *redactor) hide(given []Given) {
	r.mu.Lock()
	defer r.mu.Unlock()
	more := false
	for _, g := range given {
		more = r.insert(g.Value, g.Kind) || more
	}
	if more {
		r.rebuildSearch()
	}
}

// insert adds a value, and reports whether rebuildSearch has to be called. The caller holds mu.
func (r *redactor) insert(value, kind string) bool {
	f := valueForms{value: value, username: kind == User, code: kind == TOTP}
	if i := slices.IndexFunc(r.values, func(v valueForms) bool { return v.value == value }); i >= 0 {
		was := r.values[i]
		f.username, f.code, f.text, f.json = f.username && was.username, f.code && was.code, was.text, was.json
		r.values = append(slices.Delete(r.values, i, i+1), f)
		return f.username != was.username
	}
	if f.code {
		codes := 0
		for _, v := range r.values {
			if v.code {
				codes++
			}
		}
		if codes >= maxCodes {
			i := slices.IndexFunc(r.values, func(v valueForms) bool { return v.code })
			r.values = slices.Delete(r.values, i, i+1)
		}
	}
	f.text, f.json = encodedForms(value)
	r.values = append(r.values, f)
	return true
}

// rebuildSearch makes the searches for the values. The caller holds mu.
func (r *redactor) rebuildSearch() {
	var text, json, hidden, bare [][]byte
	r.bareMost = 0
	for _, v := range r.values {
		text, json = append(text, v.text...), append(json, v.json...)
		if !v.username {
			hidden = append(hidden, v.text...)
		}
		b := bytes.ReplaceAll(lowerASCII([]byte(v.value)), []byte{'\\'}, nil)
		if strings.ContainsFunc(v.value, isPunctuation) && len(b) >= minValue {
			bare, r.bareMost = append(bare, b), max(r.bareMost, 2*len(v.value))
		}
	}
	r.text, r.json, r.hidden, r.bare = newSearch(text), newSearch(json), newSearch(hidden), newSearch(bare)
}

// isPunctuation reports whether Markdown may have a backslash before the character.
func isPunctuation(r rune) bool {
	return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
}

// span is a range of bytes in a text.
type span struct{ from, to int }

// redact replaces every form of every value by masked, in JSON or in text.
func (r *redactor) redact(text []byte, isJSON bool) []byte {
	found := r.find(text, isJSON)
	switch {
	case found == nil:
		return text
	case isJSON && json.Valid(text):
		return r.maskJSON(text, found)
	}
	return maskText(text, found)
}

// maskJSON replaces what was found in JSON so that it stays valid. A number is replaced as a whole by a string.
// Member names for which isMemberName holds are not changed.
func (r *redactor) maskJSON(text []byte, found []span) []byte {
	out := make([]byte, 0, len(text))
	within := func(from, to int) []span { // call it with increasing ranges
		for len(found) > 0 && found[0].to <= from {
			found = found[1:]
		}
		n := 0
		for n < len(found) && found[n].from < to {
			n++
		}
		return found[:n]
	}
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '"':
			end = stringEnd(text, i)
			if in := within(i+1, end-1); len(in) > 0 && !r.isMember(text[i:end], text[end:]) {
				for _, s := range in {
					out = append(append(out, text[i:max(i, s.from)]...), masked...)
					i = s.to
				}
			}
		case c == '-' || '0' <= c && c <= '9':
			for end < len(text) && strings.IndexByte("0123456789+-.eE", text[end]) >= 0 {
				end++
			}
			if len(within(i, end)) > 0 {
				out, i = append(out, `"`+masked+`"`...), end
			}
		}
		out = append(out, text[i:end]...)
		i = end
	}
	return out
}

// stringEnd returns where the string that begins at i ends, in JSON.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// isMember reports whether a string in JSON is a member name for which isMemberName holds. rest is the JSON
// after it.
func (r *redactor) isMember(quoted, rest []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte{':'}) && r.isMemberName != nil && r.isMemberName(string(quoted[1:len(quoted)-1]))
}

// maskText replaces what was found in a text by masked.
func maskText(text []byte, found []span) []byte {
	out := make([]byte, 0, len(text))
	end := 0
	for _, s := range found {
		out = append(append(out, text[end:s.from]...), masked...)
		end = s.to
	}
	return append(out, text[end:]...)
}

// find returns where the forms of the values are, in order. Overlapping ranges are joined.
func (r *redactor) find(text []byte, isJSON bool) (found []span) {
	r.mu.RLock()
	forms, bare, most := r.text, r.bare, r.bareMost
	if isJSON {
		forms, bare = r.json, nil
	}
	r.mu.RUnlock()
	forms.find(text, func(from, to int) {
		if !isJSON || !splitsEscape(text, from) {
			found = append(found, span{from, to})
		}
	})
	if most > 0 && bare != nil {
		found = findEscaped(found, bare, most, text)
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
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

// findEscaped appends where the values are in Markdown, which may have a backslash before any punctuation. It
// searches only around backslashes, as far as a value can reach.
func findEscaped(found []span, values *search, most int, text []byte) []span {
	for at := 0; at < len(text); {
		first := bytes.IndexByte(text[at:], '\\')
		if first < 0 {
			break
		}
		from, end := max(0, at+first-most), at+first+1
		for { // extend the range over backslashes that are near each other
			next := bytes.IndexByte(text[end:min(len(text), end+most)], '\\')
			if next < 0 {
				break
			}
			end += next + 1
		}
		end = min(len(text), end+most)
		found = findBare(found, values, text[from:end], from)
		at = end
	}
	return found
}

// findBare appends where the values are in a text if its backslashes are left out. from is the text's offset in
// the whole.
func findBare(found []span, values *search, text []byte, from int) []span {
	bare := make([]byte, 0, len(text))
	var cuts []int // where backslashes were left out, in bare: the one at cuts[i] is the one with i others before it
	for {
		i := bytes.IndexByte(text[len(bare)+len(cuts):], '\\')
		if i < 0 {
			break
		}
		bare = append(bare, text[len(bare)+len(cuts):][:i]...)
		cuts = append(cuts, len(bare))
	}
	bare = append(bare, text[len(bare)+len(cuts):]...)
	was := func(at int) int { // maps an offset in bare to one in the whole text
		n, _ := slices.BinarySearch(cuts, at+1)
		return from + at + n
	}
	values.find(bare, func(begin, end int) {
		found = append(found, span{was(begin), was(end-1) + 1})
	})
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
