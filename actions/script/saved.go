package script

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/browserd/browserd/session"
	"github.com/browserd/browserd/session/shelf"
	"github.com/browserd/browserd/snapshot"
)

// Saved is a script that its agent has saved, and what it acted on then. It contains the
// code and the names of elements, but neither the input nor what was typed.
type Saved struct {
	Version int    `json:"version"` // SavedVersion
	Code    string `json:"code"`
	Acts    []Act  `json:"acts"`
}

// SavedVersion is the version of the format of Saved.
const SavedVersion = 1

// MaxSaved is how many bytes one saved script may have.
const MaxSaved = 1 << 20

// NewStore returns the store of the scripts that agents save on a shelf, sealed with key if it is not empty.
func NewStore(on shelf.Shelf, key string, c Config) *session.Store[Saved] {
	return session.NewStore(on, session.Kind{
		Noun: "script", Key: key, Count: c.Count, Bytes: c.Bytes, MaxBytes: MaxSaved, Config: "scripts", AdditionalData: "\x00script",
		SaveAgain: "save it again: run with code and save", SeeAll: "run_list lists yours",
		Free: "remove some with run_delete (run_list lists them), or save over one of them",
	}, func(s Saved) bool { return s.Version == SavedVersion })
}

// Act is one place in a script's code from which it acts on a page, and what it acted on there.
type Act struct {
	Line   int `json:"line"` // of the code, from 1
	Column int `json:"column"`
	// Pages are the addresses of the pages on which it acted, as Address returns them, with
	// {input.KEY} for what came from the input.
	Pages []string `json:"pages"`
	// Elements are those of one step, in the order of its parameters. There are none if the
	// step has none, or not always as many.
	Elements []Element `json:"elements,omitempty"`
	// AgeMS is how many milliseconds before, at most, the step began that brought the page.
	AgeMS int `json:"age_ms,omitempty"`
	// Begins is set where the script acted first on a page from here. Present are then the
	// elements of that page on which it acted afterwards and that were there already.
	Begins  bool      `json:"begins,omitempty"`
	Present []Element `json:"present,omitempty"`
}

// Element is an element of a page by its role and accessible name.
type Element struct {
	Role string `json:"role"` // empty: any
	Name string `json:"name,omitempty"`
	// Input is the key of the input whose value was in the name. The name is not stored then.
	Input string `json:"input,omitempty"`
	// Any is set if the name is data of the page: the element was picked by its place among
	// several, or had a different name in each pass of a loop.
	Any bool `json:"any,omitempty"`
}

// String returns the element as a line of a snapshot shows it, without a ref.
func (e Element) String() string {
	role := e.Role
	if role == "" {
		role = "any"
	}
	switch {
	case e.Input != "":
		return fmt.Sprintf("[%s] with input.%s in its name", role, e.Input)
	case e.Any:
		return fmt.Sprintf("[%s]", role)
	}
	return fmt.Sprintf("[%s] %s", role, snapshot.Quote(e.Name))
}

// fixed reports whether the element is identified by its role and name.
func (e Element) fixed() bool { return e.Role != "" && !e.Any && e.Input == "" }

// maxSavedName is how many characters of a name are stored and compared.
const maxSavedName = 200

// NewElement returns an element with its name normalized for comparison.
func NewElement(role, name string) Element {
	name = strings.Join(strings.Fields(name), " ")
	if utf8.RuneCountInString(name) > maxSavedName {
		name = string([]rune(name)[:maxSavedName])
	}
	return Element{Role: role, Name: name}
}

// ElementsOf returns the elements of a page.
func ElementsOf(nodes []snapshot.Node) []Element {
	list := make([]Element, 0, len(nodes))
	for _, n := range nodes {
		if n.Role != snapshot.RoleText {
			list = append(list, NewElement(n.Role, n.Name))
		}
	}
	return list
}

// Acting is a step that is about to act on a page.
type Acting struct {
	Line, Column int
	Visit
	Elements []Element     // that it acts on, in the order of its parameters
	Age      time.Duration // of the page, since the step began that brought it
}

// Visit is one document in a tab at one address.
type Visit struct {
	Tab      string
	Document int
	Page     string // as Address returns it
}

// Address returns the part of a URL that identifies the page: without query, and without a
// fragment unless that is a path of a single-page application.
func Address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	fragment := u.EscapedFragment()
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment, u.User = "", false, "", "", nil
	page := u.String()
	if strings.HasPrefix(fragment, "/") || strings.HasPrefix(fragment, "!") {
		fragment, _, _ = strings.Cut(fragment, "?")
		page += "#" + fragment
	}
	return page
}

// inputs are the texts and numbers of a script's input by their keys, such as order.id. The
// elements of a list have the list's key.
type inputs map[string][]string

// maxInputs is how many values of an input are looked for in names and addresses.
const maxInputs = 200

func inputsOf(raw json.RawMessage) inputs {
	in, left := inputs{}, maxInputs
	var v any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return in
	}
	var add func(key string, v any)
	add = func(key string, v any) {
		text := ""
		switch v := v.(type) {
		case map[string]any:
			for k, inner := range v {
				add(strings.TrimPrefix(key+"."+k, "."), inner)
			}
		case []any:
			for _, inner := range v {
				add(key, inner)
			}
		case string:
			text = strings.Join(strings.Fields(v), " ")
		case json.Number:
			text = v.String()
		}
		if text != "" && left > 0 {
			in[key] = append(in[key], text)
			left--
		}
	}
	add("", v)
	return in
}

// keys returns the keys in a fixed order, so that of two that match always the same is chosen.
func (in inputs) keys() []string {
	var keys []string
	for k := range in {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// element returns e. If its name contains a value of the input, the key of the longest one
// replaces the name.
func (in inputs) element(e Element) Element {
	longest := 0
	for _, k := range in.keys() {
		for _, v := range in[k] {
			if len(v) > longest && mentions(e.Name, v) {
				longest, e.Input = len(v), k
			}
		}
	}
	if longest > 0 {
		e.Name = ""
	}
	return e
}

// page returns an address in which {input.KEY} replaces each value of the input: a prefix that
// ends at a slash, or a part between slashes.
func (in inputs) page(page string) string {
	begin := ""
	for _, k := range in.keys() {
		for _, v := range in[k] {
			if base := baseOf(v); begin == "" && base != "" && (page == base || strings.HasPrefix(page, base+"/")) {
				begin, page = "{input."+k+"}", page[len(base):]
			}
		}
	}
	parts := strings.Split(page, "/")
	for i := range parts {
		for _, k := range in.keys() {
			if parts[i] != "" && (begin != "" || i > 2) && // behind scheme://host
				slices.ContainsFunc(in[k], func(v string) bool { return parts[i] == v || parts[i] == url.PathEscape(v) }) {
				parts[i] = "{input." + k + "}"
				break
			}
		}
	}
	return begin + strings.Join(parts, "/")
}

// baseOf returns the prefix that addresses below the value have, or "" if it is not an address.
func baseOf(v string) string {
	if u, err := url.Parse(v); err != nil || u.Host == "" {
		return ""
	}
	return strings.TrimSuffix(Address(v), "/")
}

// onPage reports whether page is the recorded address, with the values that the input has now.
func (in inputs) onPage(recorded, page string) bool {
	open := strings.Index(recorded, "{input.")
	if open < 0 {
		return strings.TrimSuffix(recorded, "/") == strings.TrimSuffix(page, "/")
	}
	key, rest, ok := strings.Cut(recorded[open+len("{input."):], "}")
	if !ok || !strings.HasPrefix(page, recorded[:open]) {
		return false
	}
	if len(in[key]) == 0 {
		return true // the input has no value for this part of the address
	}
	for _, v := range in[key] {
		for _, as := range []string{baseOf(v), v, url.PathEscape(v)} {
			if after, ok := strings.CutPrefix(page[open:], as); ok && as != "" && in.onPage(rest, after) {
				return true
			}
		}
	}
	return false
}

// matches reports whether e, of the page, is the element that was recorded.
func (in inputs) matches(recorded, e Element) bool {
	switch {
	case recorded.Role != "" && recorded.Role != e.Role:
		return false
	case recorded.Any:
		return true
	case recorded.Input != "":
		values := in[recorded.Input]
		return len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return mentions(e.Name, v) })
	}
	return recorded.Name == e.Name
}

// mentions reports whether name contains value as whole words, in any letter case.
func mentions(name, value string) bool {
	name, value = strings.ToLower(name), strings.ToLower(value)
	for from := 0; value != ""; {
		i := strings.Index(name[from:], value)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(value)
		before, _ := utf8.DecodeLastRuneInString(name[:start])
		first, size := utf8.DecodeRuneInString(value)
		last, _ := utf8.DecodeLastRuneInString(value)
		after, _ := utf8.DecodeRuneInString(name[end:])
		if !(start > 0 && oneWord(before, first)) && !(end < len(name) && oneWord(last, after)) {
			return true
		}
		from = start + size
	}
	return false
}

// oneWord reports whether two adjacent characters belong to the same word. It returns false for
// writing systems without spaces between words.
func oneWord(a, b rune) bool {
	in := func(r rune) bool {
		return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
	}
	return in(a) && in(b)
}
