package protocol

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Locator names an element by what a client can know before it sees the page: Role, with or
// without Name, or one of Text, Label, TestID and CSS. Name, Text and Label are whole, letter
// case and white space aside.
type Locator struct {
	Role   string `json:"role,omitempty"`
	Name   string `json:"name,omitempty"`
	Text   string `json:"text,omitempty"`   // of the innermost element that shows it
	Label  string `json:"label,omitempty"`  // the name of a field
	TestID string `json:"testid,omitempty"` // its attribute data-testid
	CSS    string `json:"css,omitempty"`
}

// LocatorForms is what a locator may look like: the next step of an error about one.
const LocatorForms = `role=button[name="Save"], text=Save, label=Email, testid=save or css=#save`

// ParseLocator reads the text of a locator, as String writes it. ok is false if the text
// is none, such as a ref's. The error is invalid_params: of a locator that is incomplete, or of
// a kind that there is none of.
func ParseLocator(text string) (l Locator, ok bool, err error) {
	kind, value, written := strings.Cut(text, "=")
	kind, value = strings.TrimSpace(kind), strings.TrimSpace(value)
	switch kind {
	case "role":
		var named bool
		l.Role, l.Name, named = strings.Cut(value, "[")
		if l.Role = strings.TrimSpace(l.Role); named && !l.readName() {
			return l, true, Errorf(InvalidParams, `%s: accepts role=ROLE or role=ROLE[name="NAME"]`, Cut(text, 80)).With("parameter", "ref")
		}
	case "text":
		l.Text = value
	case "label":
		l.Label = value
	case "testid":
		l.TestID = value
	case "css":
		l.CSS = value
	case "ref": // ref=@e5
		return l, false, nil
	default:
		if !written || kind == "" || strings.ContainsFunc(kind, notOfAWord) {
			return l, false, nil
		}
		return l, true, Errorf(InvalidParams, "%s: a locator begins with role=, text=, label=, testid= or css=", Cut(text, 80)).
			With("parameter", "ref").Then("write a ref such as @e5, or a locator: %s", LocatorForms)
	}
	return l, true, l.check()
}

// notOfAWord reports whether a character is none of a word such as data-testid.
func notOfAWord(r rune) bool {
	return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '-' || r == '_')
}

// readName reads the name from what stands behind the bracket: name="Save"]. A shell takes the quotes
// off, so they may be missing.
func (l *Locator) readName() bool {
	quoted, closed := strings.CutSuffix(strings.TrimSpace(l.Name), "]")
	quoted, ok := strings.CutPrefix(strings.TrimSpace(quoted), "name=")
	if !closed || !ok {
		return false
	}
	quoted = strings.TrimSpace(quoted)
	if n := len(quoted); n >= 2 && quoted[0] == '\'' && quoted[n-1] == '\'' {
		l.Name = quoted[1 : n-1]
		return true
	}
	if quoted != "" && !strings.ContainsAny(quoted[:1]+quoted[len(quoted)-1:], `"'`) {
		l.Name = quoted
		return true
	}
	return json.Unmarshal([]byte(quoted), &l.Name) == nil
}

// String returns the locator as ParseLocator reads it.
func (l Locator) String() string {
	switch {
	case l.Name != "":
		var name bytes.Buffer
		e := json.NewEncoder(&name)
		e.SetEscapeHTML(false)
		_ = e.Encode(l.Name) // a string
		return "role=" + l.Role + "[name=" + strings.TrimSpace(name.String()) + "]"
	case l.Role != "":
		return "role=" + l.Role
	case l.Text != "":
		return "text=" + l.Text
	case l.Label != "":
		return "label=" + l.Label
	case l.TestID != "":
		return "testid=" + l.TestID
	}
	return "css=" + l.CSS
}

// check refuses a locator that names nothing, or in two ways.
func (l Locator) check() error {
	ways := 0
	for _, way := range []string{l.Role, l.Text, l.Label, l.TestID, l.CSS} {
		if strings.TrimSpace(way) != "" {
			ways++
		}
	}
	if ways != 1 || l.Name != "" && l.Role == "" {
		return Errorf(InvalidParams, "a locator has exactly one of role (with or without name), text, label, testid and css").
			With("parameter", "ref").Then("write it as %s", LocatorForms)
	}
	return nil
}

// Target is a parameter that names an element: a ref, or a locator in its text form. In JSON
// it may be the locator as an object too.
type Target string

// UnmarshalJSON reads a string, or an object with the fields of Locator.
func (t *Target) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '{' {
		if err := json.Unmarshal(raw, (*string)(t)); err != nil {
			return err
		}
		_, _, err := t.Locator()
		return err
	}
	var l Locator
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return Errorf(InvalidParams, "%s is no locator", Cut(string(raw), 80)).Then("write it as %s", LocatorForms)
	}
	if err := l.check(); err != nil {
		return err
	}
	*t = Target(l.String())
	return nil
}

// Locator returns the target's locator; ok is false if it is a ref, or empty.
func (t Target) Locator() (l Locator, ok bool, err error) { return ParseLocator(string(t)) }
