package form

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"

	"golang.org/x/net/html"
)

// Invalid is a control that does not satisfy its constraints.
type Invalid struct {
	Node *html.Node
	// Problem is the field of ValidityState: valueMissing, typeMismatch,
	// patternMismatch, tooLong, tooShort, rangeUnderflow, rangeOverflow or stepMismatch.
	Problem string
	// Why is a sentence on what the control accepts.
	Why string
}

// Invalids statically validates the constraints of a form (HTML 4.10.21.2) and returns its
// invalid controls in tree order.
func (c *Controls) Invalids(form *html.Node) []Invalid {
	var list []Invalid
	for _, n := range c.of(form) {
		if barred(n) {
			continue
		}
		if problem, why := c.validity(n); problem != "" {
			list = append(list, Invalid{n, problem, why})
		}
	}
	return list
}

// barred reports whether a control is barred from constraint validation.
func barred(n *html.Node) bool {
	switch {
	case !Is(n, "input", "select", "textarea"), Disabled(n), Closest(n, "datalist") != nil:
		return true
	case Is(n, "select"):
		return false
	}
	switch Type(n) {
	case "hidden", "reset", "button", "submit", "image":
		return true // the last two hold nothing that could be wrong
	}
	return Readonly(n)
}

// Readonly reports whether a control is readonly (HTML 4.10.5.3.3). Not every type has that
// attribute.
func Readonly(n *html.Node) bool {
	if !has(n, "readonly") {
		return false
	}
	switch Type(n) {
	case "textarea", "text", "search", "url", "tel", "email", "password", "date", "month", "week", "time", "datetime-local", "number":
		return true
	}
	return false
}

func (c *Controls) validity(n *html.Node) (problem, why string) {
	kind := Type(n)
	if has(n, "required") {
		if missing, what := c.missing(n, kind); missing {
			return "valueMissing", what
		}
	}
	v := c.values[n]
	if v == "" || !IsText(n) {
		return "", ""
	}
	switch kind {
	case "email", "url":
		if problem, why := mismatch(n, kind, v); problem != "" {
			return problem, why
		}
	}
	if problem, why := c.length(n, v); problem != "" {
		return problem, why
	}
	if p, ok := Attr(n, "pattern"); ok && Is(n, "input") {
		if problem, why := unlike(n, kind, p, v); problem != "" {
			return problem, why
		}
	}
	return bounds(n, kind, v)
}

// missing reports whether a required control has no value.
func (c *Controls) missing(n *html.Node, kind string) (bool, string) {
	switch kind {
	case "checkbox":
		return !c.checked[n], "it must be checked"
	case "radio":
		checked := c.checked[n]
		if g, ok := c.groupOf(n); ok {
			checked = c.radios[g] != nil
		}
		return !checked, "one of its group must be checked"
	case "file":
		return len(c.files[n]) == 0, "it needs a file"
	case "select":
		for i, o := range Options(n) {
			if c.chosen[o] {
				placeholder := i == 0 && OptionValue(o) == "" && o.Parent == n && !has(n, "multiple") && displaySize(n) == 1
				return placeholder, "one of its options must be selected"
			}
		}
		return true, "one of its options must be selected"
	case "range", "color":
		return false, ""
	}
	return c.values[n] == "", "it must be filled in"
}

// emailForm is the pattern of HTML 4.10.5.1.5.
var emailForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$")
})

func mismatch(n *html.Node, kind, v string) (problem, why string) {
	if kind == "url" {
		if u, err := url.Parse(v); err != nil || !u.IsAbs() || (u.Scheme == "http" || u.Scheme == "https") && u.Host == "" {
			return "typeMismatch", "it accepts a whole URL, such as https://example.com/"
		}
		return "", ""
	}
	list := []string{v}
	if has(n, "multiple") {
		list = strings.Split(v, ",")
	}
	for _, one := range list {
		if !emailForm().MatchString(trim(one)) {
			return "typeMismatch", "it accepts an e-mail address, such as name@example.com"
		}
	}
	return "", ""
}

// length checks minlength and maxlength, in UTF-16 code units, of a value that was typed (HTML
// 4.10.19.3).
func (c *Controls) length(n *html.Node, v string) (problem, why string) {
	if !c.typed[n] || !Is(n, "textarea") && !oneOf(Type(n), texts) {
		return "", ""
	}
	units := len(utf16.Encode([]rune(v)))
	if most, ok := nonNegative(attr(n, "maxlength")); ok && units > most {
		return "tooLong", fmt.Sprintf("it accepts at most %d characters, not %d", most, units)
	}
	if least, ok := nonNegative(attr(n, "minlength")); ok && units < least {
		return "tooShort", fmt.Sprintf("it accepts at least %d characters, not %d", least, units)
	}
	return "", ""
}

// MaxLength returns how many UTF-16 code units a person can type into n. ok is false if there
// is no limit.
func MaxLength(n *html.Node) (int, bool) {
	if !Is(n, "textarea") && !oneOf(Type(n), texts) {
		return 0, false
	}
	return nonNegative(attr(n, "maxlength"))
}

func oneOf(s string, list []string) bool {
	for _, o := range list {
		if s == o {
			return true
		}
	}
	return false
}

var unicodeEscape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\u(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{4}))`) })

// unlike checks a value against pattern (HTML 4.10.5.3.6). It ignores a pattern that Go cannot
// compile, such as one with a lookahead: the server checks it.
func unlike(n *html.Node, kind, pattern, v string) (problem, why string) {
	if !oneOf(kind, texts) {
		return "", ""
	}
	re, err := regexp.Compile(`^(?:` + unicodeEscape().ReplaceAllString(pattern, `\x{$1$2}`) + `)$`)
	if err != nil {
		return "", ""
	}
	list := []string{v}
	if kind == "email" && has(n, "multiple") {
		list = strings.Split(v, ",")
	}
	for _, one := range list {
		if !re.MatchString(one) {
			why := fmt.Sprintf("it accepts what matches %q", pattern)
			if title := attr(n, "title"); title != "" {
				why += ": " + title
			}
			return "patternMismatch", why
		}
	}
	return "", ""
}

// bounds checks min, max and step (HTML 4.10.5.3.7 and .8).
func bounds(n *html.Node, kind, v string) (problem, why string) {
	x, ok := counted(kind, v)
	if _, stepped := stepping[kind]; !ok || !stepped || kind == "range" {
		return "", "" // a range is sanitized into its bounds
	}
	lo, hasLo := counted(kind, attr(n, "min"))
	hi, hasHi := counted(kind, attr(n, "max"))
	under, over := hasLo && x.Cmp(lo) < 0, hasHi && x.Cmp(hi) > 0
	if kind == "time" && hasLo && hasHi && hi.Cmp(lo) < 0 { // over midnight
		under, over = under && over, false
	}
	switch {
	case under:
		return "rangeUnderflow", "it accepts " + attr(n, "min") + " or more"
	case over:
		return "rangeOverflow", "it accepts " + attr(n, "max") + " or less"
	}
	if step := stepOf(n, kind); step != nil {
		off := x.Sub(x, stepBase(n, kind))
		if !off.Quo(off, step).IsInt() {
			word := attr(n, "step")
			if word == "" {
				word = fmt.Sprint(stepping[kind].step)
			}
			return "stepMismatch", "it accepts values in steps of " + word
		}
	}
	return "", ""
}
