package form

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/protocol"
	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// Controls is what the controls of one document hold now. The markup says what
// they hold at first; what a person did since is kept beside the tree.
type Controls struct {
	forms   []*html.Node
	list    []*html.Node // listed elements in tree order
	ids     map[string]*html.Node
	owners  map[*html.Node]*html.Node
	values  map[*html.Node]string
	typed   map[*html.Node]bool  // its value was typed: minlength and maxlength count
	checked map[*html.Node]bool  // checkboxes and radio buttons
	radios  map[group]*html.Node // the checked one of each group
	chosen  map[*html.Node]bool  // options
	files   map[*html.Node][]protocol.File
	focused *html.Node
}

// NewControls returns the controls of the document below root as its markup
// sets them. They are all there where ctx has not ended.
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

// Type is how a control works: an input's type, button, submit or reset of a
// button element ("submit" also for an input), or the element's own tag.
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

// texts are the inputs that hold a line of text.
var texts = []string{"text", "search", "tel", "url", "email", "password"}

// whole are the inputs whose value is set whole.
var whole = []string{"date", "month", "week", "time", "datetime-local", "number", "range", "color"}

// IsText says whether a control takes text or a value that is written as text.
func IsText(n *html.Node) bool {
	return Is(n, "textarea") || Is(n, "input") && (slices.Contains(texts, Type(n)) || slices.Contains(whole, Type(n)))
}

// IsSubmitter says whether n is a submit button (HTML 4.10.2).
func IsSubmitter(n *html.Node) bool {
	return Is(n, "input", "button") && (Type(n) == "submit" || Type(n) == "image")
}

// IsChoice says whether n is a checkbox or a radio button.
func IsChoice(n *html.Node) bool {
	return Is(n, "input") && (Type(n) == "checkbox" || Type(n) == "radio")
}

// Value is what a control holds, for the inputs and the textarea whose value a
// person may change, for a select the value of the first selected option, and
// for a file input the names of its files; ok is false for everything else.
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

// Checked is the state of a checkbox or radio button; known is false for
// everything else.
func (c *Controls) Checked(n *html.Node) (on, known bool) {
	if !IsChoice(n) {
		return false, false
	}
	return c.checked[n], true
}

// Selected says whether an option of a select is selected; known is false for
// everything else.
func (c *Controls) Selected(option *html.Node) (on, known bool) {
	if !Is(option, "option") || Closest(option, "select") == nil {
		return false, false
	}
	return c.chosen[option], true
}

// Focused is the element that has the focus, nil where none has.
func (c *Controls) Focused() *html.Node { return c.focused }

// Focus gives n the focus; nil takes it away.
func (c *Controls) Focus(n *html.Node) { c.focused = n }

// SetValue sets what a text control holds, as sanitized for its type (HTML
// 4.10.5.1), and returns what it holds then.
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

// group is what the radio buttons of a group share (HTML 4.10.5.1.16).
type group struct {
	owner *html.Node
	name  string
}

// groupOf is the group of a radio button; one without a name has none.
func (c *Controls) groupOf(n *html.Node) (g group, ok bool) {
	name := attr(n, "name")
	return group{c.owners[n], name}, name != "" && Type(n) == "radio"
}

// Choose makes the options the ones of a select that are selected.
func (c *Controls) Choose(sel *html.Node, options []*html.Node) {
	for _, o := range Options(sel) {
		c.chosen[o] = slices.Contains(options, o)
	}
}

// SetFiles sets the files of a file input.
func (c *Controls) SetFiles(n *html.Node, files []protocol.File) { c.files[n] = files }

// Files are the files of a file input.
func (c *Controls) Files(n *html.Node) []protocol.File { return c.files[n] }

// Reset puts the controls of a form back to what the markup says (HTML 4.10.22.9).
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

// displaySize is how many options a select shows (HTML 4.10.7).
func displaySize(sel *html.Node) int {
	if size, ok := nonNegative(attr(sel, "size")); ok && size > 0 {
		return size
	}
	if has(sel, "multiple") {
		return 4
	}
	return 1
}

// Options lists the options of a select in tree order.
func Options(sel *html.Node) []*html.Node { return snaphtml.Options(sel) }

// OptionValue is what an option stands for: its value, or else its text.
func OptionValue(o *html.Node) string {
	if v, ok := Attr(o, "value"); ok {
		return v
	}
	return collapse(Text(o))
}

// OptionLabel is how an option is called: its label, or else its text.
func OptionLabel(o *html.Node) string {
	if l := attr(o, "label"); l != "" {
		return l
	}
	return collapse(Text(o))
}

// State is what the controls of a document hold, apart from its tree: the same
// HTML, parsed again, takes it back.
type State struct {
	controls []held // in the order of Controls.list
}

// held is what one control holds.
type held struct {
	value          string
	typed, checked bool
	files          []protocol.File
	chosen         []bool // options
}

// maxFiles is how much of files a State remembers, in bytes.
const maxFiles = 1 << 20

// State returns what the controls hold now, but for passwords and large files.
func (c *Controls) State() State {
	s := State{controls: make([]held, len(c.list))}
	size := 0
	for i, n := range c.list {
		h := held{value: c.values[n], typed: c.typed[n], checked: c.checked[n]}
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

// Restore makes the controls hold what s says, where s is of the same HTML.
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
