package form

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/protocol"
	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// Controls has the current values of the controls of one document. The initial values are
// those of the markup; changes are kept here and not in the tree.
type Controls struct {
	forms   []*html.Node
	list    []*html.Node // listed elements in tree order
	ids     map[string]*html.Node
	owners  map[*html.Node]*html.Node
	values  map[*html.Node]string
	typed   map[*html.Node]bool  // its value was typed: minlength and maxlength apply
	checked map[*html.Node]bool  // checkboxes and radio buttons
	radios  map[group]*html.Node // the checked one of each group
	chosen  map[*html.Node]bool  // options
	files   map[*html.Node][]protocol.File
	focused *html.Node
}

// NewControls returns the controls of the document below root, with the values of its markup.
// If ctx ends first, some controls are missing.
func NewControls(ctx context.Context, root *html.Node) *Controls {
	c := &Controls{
		values: map[*html.Node]string{}, typed: map[*html.Node]bool{}, checked: map[*html.Node]bool{},
		chosen: map[*html.Node]bool{}, files: map[*html.Node][]protocol.File{}, radios: map[group]*html.Node{},
	}
	c.index(ctx, root)
	for _, n := range c.list {
		if ctx.Err() != nil {
			break
		}
		c.reset(n)
	}
	return c
}

// Type returns the type of a control: that of an input or button element, or the tag of any
// other element.
func Type(n *html.Node) string {
	switch {
	case Is(n, "input"):
		return snaphtml.InputType(n)
	case Is(n, "button"):
		switch strings.ToLower(attr(n, "type")) {
		case "reset":
			return "reset"
		case "button":
			return "button"
		}
		// Without a valid type, a button that commands something sends nothing.
		if (has(n, "command") || has(n, "commandfor")) && !strings.EqualFold(attr(n, "type"), "submit") {
			return "button"
		}
		return "submit"
	case n != nil && n.Type == html.ElementNode:
		return n.Data
	}
	return ""
}

// texts are the types of inputs with a line of text.
var texts = []string{"text", "search", "tel", "url", "email", "password"}

// whole are the types of inputs whose value is set as a whole.
var whole = []string{"date", "month", "week", "time", "datetime-local", "number", "range", "color"}

// IsText reports whether a control accepts text, or a value that is written as text.
func IsText(n *html.Node) bool {
	return Is(n, "textarea") || Is(n, "input") && (slices.Contains(texts, Type(n)) || slices.Contains(whole, Type(n)))
}

// IsSubmitter reports whether n is a submit button (HTML 4.10.2).
func IsSubmitter(n *html.Node) bool {
	return Is(n, "input", "button") && (Type(n) == "submit" || Type(n) == "image")
}

// IsChoice reports whether n is a checkbox or a radio button.
func IsChoice(n *html.Node) bool {
	return Is(n, "input") && (Type(n) == "checkbox" || Type(n) == "radio")
}

// Value returns the value of an input or a textarea that a person may change, the value of
// the first selected option of a select, or the names of the files of a file input. ok is
// false for all other elements.
func (c *Controls) Value(n *html.Node) (value string, ok bool) {
	switch {
	case IsText(n):
		v, known := c.values[n]
		return v, known
	case Is(n, "select"):
		for _, o := range Options(n) {
			if c.chosen[o] {
				return OptionValue(o), true
			}
		}
		return "", true
	case Is(n, "input") && Type(n) == "file":
		names := []string{}
		for _, f := range c.files[n] {
			names = append(names, f.Name)
		}
		return strings.Join(names, ", "), true
	}
	return "", false
}

// Checked returns the state of a checkbox or radio button. known is false for all other
// elements.
func (c *Controls) Checked(n *html.Node) (on, known bool) {
	if !IsChoice(n) {
		return false, false
	}
	return c.checked[n], true
}

// Selected reports whether an option of a select is selected. known is false for all other
// elements.
func (c *Controls) Selected(option *html.Node) (on, known bool) {
	if !Is(option, "option") || Closest(option, "select") == nil {
		return false, false
	}
	return c.chosen[option], true
}

// Focused returns the focused element, nil for none.
func (c *Controls) Focused() *html.Node { return c.focused }

// Focus focuses n. If n is nil, no element is focused.
func (c *Controls) Focus(n *html.Node) { c.focused = n }

// SetValue sets the value of a text control, sanitized for its type (HTML 4.10.5.1), and
// returns the new value.
func (c *Controls) SetValue(n *html.Node, value string) string {
	c.values[n], c.typed[n] = sanitize(n, value), true
	return c.values[n]
}

// SetChecked sets a checkbox or radio button; checking a radio button unchecks
// the one of its group that was checked.
func (c *Controls) SetChecked(n *html.Node, on bool) {
	c.checked[n] = on
	g, grouped := c.groupOf(n)
	if !grouped {
		return
	}
	switch was := c.radios[g]; {
	case on && was != nil && was != n:
		c.checked[was] = false
		c.radios[g] = n
	case on:
		c.radios[g] = n
	case was == n:
		delete(c.radios, g)
	}
}

// group identifies a radio button group (HTML 4.10.5.1.16).
type group struct {
	owner *html.Node
	name  string
}

// groupOf returns the group of a radio button. A button without a name has none.
func (c *Controls) groupOf(n *html.Node) (g group, ok bool) {
	name := attr(n, "name")
	return group{c.owners[n], name}, name != "" && Type(n) == "radio"
}

// Choose selects exactly these options of a select.
func (c *Controls) Choose(sel *html.Node, options []*html.Node) {
	for _, o := range Options(sel) {
		c.chosen[o] = slices.Contains(options, o)
	}
}

// SetFiles sets the files of a file input.
func (c *Controls) SetFiles(n *html.Node, files []protocol.File) { c.files[n] = files }

// Files returns the files of a file input.
func (c *Controls) Files(n *html.Node) []protocol.File { return c.files[n] }

// Reset resets the controls of a form to the values of the markup (HTML 4.10.22.9).
func (c *Controls) Reset(form *html.Node) {
	for _, n := range c.of(form) {
		c.reset(n)
	}
}

func (c *Controls) reset(n *html.Node) {
	delete(c.typed, n)
	delete(c.files, n)
	switch {
	case Is(n, "textarea"):
		c.values[n] = newlines(Text(n))
	case IsText(n):
		c.values[n] = sanitize(n, attr(n, "value"))
	case IsChoice(n):
		c.SetChecked(n, has(n, "checked")) // of several in a group the last one stays
	case Is(n, "select"):
		c.resetSelect(n)
	}
}

// resetSelect is the selectedness setting algorithm (HTML 4.10.7).
func (c *Controls) resetSelect(sel *html.Node) {
	var last, first *html.Node
	multiple := has(sel, "multiple")
	for _, o := range Options(sel) {
		c.chosen[o] = multiple && has(o, "selected")
		if has(o, "selected") {
			last = o
		}
		if first == nil && !Disabled(o) {
			first = o
		}
	}
	switch {
	case multiple:
	case last != nil:
		c.chosen[last] = true
	case first != nil && displaySize(sel) == 1:
		c.chosen[first] = true
	}
}

// displaySize returns the display size of a select (HTML 4.10.7).
func displaySize(sel *html.Node) int {
	if size, ok := nonNegative(attr(sel, "size")); ok && size > 0 {
		return size
	}
	if has(sel, "multiple") {
		return 4
	}
	return 1
}

// Options returns the options of a select in tree order.
func Options(sel *html.Node) []*html.Node { return snaphtml.OptionsOf(sel) }

// OptionValue returns the value attribute of an option, else its text.
func OptionValue(o *html.Node) string {
	if v, ok := Attr(o, "value"); ok {
		return v
	}
	return collapse(Text(o))
}

// OptionLabel returns the label attribute of an option, else its text.
func OptionLabel(o *html.Node) string {
	if l := attr(o, "label"); l != "" {
		return l
	}
	return collapse(Text(o))
}

// State has the values of a document's controls, without its tree. Restore applies it to the
// same HTML parsed again.
type State struct {
	controls []controlState // in the order of Controls.list
}

// controlState has the values of one control.
type controlState struct {
	value          string
	typed, checked bool
	files          []protocol.File
	chosen         []bool // options
}

// maxFiles is how many bytes of files a State keeps.
const maxFiles = 1 << 20

// State returns the current values, without passwords and large files.
func (c *Controls) State() State {
	s := State{controls: make([]controlState, len(c.list))}
	size := 0
	for i, n := range c.list {
		h := controlState{value: c.values[n], typed: c.typed[n], checked: c.checked[n]}
		for _, f := range c.files[n] {
			size += len(f.Content)
		}
		if size <= maxFiles {
			h.files = c.files[n]
		}
		if Is(n, "input") && Type(n) == "password" {
			h.value, h.typed = sanitize(n, attr(n, "value")), false
		}
		if Is(n, "select") {
			for _, o := range Options(n) {
				h.chosen = append(h.chosen, c.chosen[o])
			}
		}
		s.controls[i] = h
	}
	return s
}

// Restore sets the values of s, if s belongs to the same HTML.
func (c *Controls) Restore(s State) {
	if len(s.controls) != len(c.list) {
		return
	}
	for i, n := range c.list {
		h := s.controls[i]
		switch {
		case IsText(n):
			c.values[n], c.typed[n] = h.value, h.typed
		case IsChoice(n):
			c.SetChecked(n, h.checked)
		case Is(n, "select"):
			if options := Options(n); len(options) == len(h.chosen) {
				for j, o := range options {
					c.chosen[o] = h.chosen[j]
				}
			}
		case len(h.files) > 0:
			c.files[n] = h.files
		}
	}
}
