package html

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var inputTypes = words("hidden text search tel url email password date month week time datetime-local number range color " +
	"checkbox radio file submit image reset button")
var dateTypes = words("date time month week datetime-local")
var typedTypes = words("text search url tel email password date month week time datetime-local number")
var formTags = words("button input select textarea option optgroup fieldset")

// InputType returns the type of an input element (HTML, 4.10.5), "text" if it is
// missing or unknown.
func InputType(n *html.Node) string {
	t := strings.ToLower(attr(n, "type"))
	if inputTypes[t] {
		return t
	}
	return "text"
}

// Disabled reports whether n is disabled, by itself, by its fieldset or its
// optgroup (HTML, 4.10.18.5); it ignores aria-disabled.
func Disabled(n *html.Node) bool { return formTags[n.Data] && isHTML(n) && disabledByMarkup(n) }

func disabledByMarkup(n *html.Node) bool {
	if !formTags[n.Data] {
		return false
	}
	if has(n, "disabled") {
		return true
	}
	if n.Data == "option" {
		p := parent(n)
		return p != nil && is(p, atom.Optgroup) && has(p, "disabled")
	}
	if n.Data == "optgroup" {
		return false
	}
	inner := n
	for p := parent(n); p != nil; inner, p = p, parent(p) {
		if is(p, atom.Fieldset) && has(p, "disabled") && !(is(inner, atom.Legend) && firstLegend(p) == inner) {
			return true
		}
	}
	return false
}

func firstLegend(f *html.Node) *html.Node {
	for c := firstElement(f); c != nil; c = nextElement(c) {
		if is(c, atom.Legend) {
			return c
		}
	}
	return nil
}

// listed reports whether a select is a list box instead of a drop-down.
func listed(sel *html.Node) bool {
	if has(sel, "multiple") {
		return true
	}
	size, ok := leadingInt(attr(sel, "size"))
	return ok && size > 1
}

// OptionsOf returns the options of a select, in document order (HTML, list of options).
func OptionsOf(sel *html.Node) (list []*html.Node) {
	for c := after(sel, sel); c != nil; {
		if is(c, atom.Option) {
			list = append(list, c)
			c = afterSubtree(c, sel)
			continue
		}
		if is(c, atom.Select) || is(c, atom.Datalist) {
			c = afterSubtree(c, sel)
			continue
		}
		c = after(c, sel)
	}
	return list
}

// selectOf returns the select that an option belongs to.
func selectOf(o *html.Node) *html.Node {
	return closest(o, func(p *html.Node) bool { return is(p, atom.Select) })
}

// SelectedOptions returns the selected options of a select (HTML, 4.10.7). In a drop-down that
// is the last one with selected, else the first that is not disabled.
func (d *Document) SelectedOptions(sel *html.Node, v Values) []*html.Node {
	return d.resolver(v).selected(sel)
}

func (k *controlResolver) selected(sel *html.Node) []*html.Node {
	on, ok := k.chosen[sel]
	if !ok {
		on = k.choose(sel)
		k.chosen[sel] = on
	}
	return on
}

func (k *controlResolver) choose(sel *html.Node) (on []*html.Node) {
	options := OptionsOf(sel)
	known := false
	for _, o := range options {
		chosen := has(o, "selected")
		if k.v != nil {
			if is, ok := k.v.Selected(o); ok {
				known, chosen = true, is
			}
		}
		if chosen {
			on = append(on, o)
		}
	}
	if has(sel, "multiple") {
		return on
	}
	if len(on) > 0 {
		return on[len(on)-1:]
	}
	if known || listed(sel) {
		return nil
	}
	for _, o := range options {
		if !disabledByMarkup(o) {
			return []*html.Node{o}
		}
	}
	return nil
}

// OptionText returns the text of an option. OptionLabel returns what it shows.
func OptionText(o *html.Node) string { return fold(textContent(o, nameMax*8)) }

// OptionLabel returns the label of an option: its attribute or, if that is missing or
// empty, its text (HTML, option.label).
func OptionLabel(o *html.Node) string {
	if v := attr(o, "label"); v != "" {
		return v
	}
	return OptionText(o)
}

// checked reports whether a checkbox or a radio button is on.
func (k *controlResolver) checked(n *html.Node) bool {
	if k.v != nil {
		if on, ok := k.v.Checked(n); ok {
			return on
		}
	}
	if !has(n, "checked") {
		return false
	}
	if InputType(n) != "radio" || attr(n, "name") == "" {
		return true
	}
	// In a group, only the last one with checked is on.
	name, form := attr(n, "name"), k.d.formOf(n)
	for i := k.d.numberOf(n); i < k.d.count; i++ {
		o := k.d.elements[i]
		if o.DataAtom == atom.Input && InputType(o) == "radio" && attr(o, "name") == name && has(o, "checked") && k.d.formOf(o) == form {
			return false
		}
	}
	return true
}

// formOf returns the form that n belongs to (HTML, 4.10.18.3), nil for none.
func (d *Document) formOf(n *html.Node) *html.Node {
	if id, ok := lookup(n, "form"); ok {
		if f := d.ByID(id); f != nil && is(f, atom.Form) {
			return f
		}
		return nil
	}
	return closest(n, func(p *html.Node) bool { return is(p, atom.Form) })
}

// contents returns the value of a field, not masked.
func (k *controlResolver) contents(n *html.Node) string {
	if k.v != nil {
		if s, ok := k.v.Value(n); ok {
			return s
		}
	}
	if is(n, atom.Textarea) {
		return strings.ReplaceAll(textContent(n, math.MaxInt), "\r\n", "\n")
	}
	return sanitized(n)
}

var (
	colour  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^#[0-9a-fA-F]{6}$`) })
	decimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(\d+(\.\d+)?|\.\d+)([eE][-+]?\d+)?$`) })
	dates   = sync.OnceValue(func() map[string]*regexp.Regexp {
		return map[string]*regexp.Regexp{
			"date":           regexp.MustCompile(`^\d{4,}-\d\d-\d\d$`),
			"month":          regexp.MustCompile(`^\d{4,}-\d\d$`),
			"week":           regexp.MustCompile(`^\d{4,}-W\d\d$`),
			"time":           regexp.MustCompile(`^\d\d:\d\d(:\d\d(\.\d{1,3})?)?$`),
			"datetime-local": regexp.MustCompile(`^\d{4,}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?$`),
		}
	})
)

// sanitized returns the value attribute of an input after the value sanitization algorithm
// of its type (HTML, 4.10.5.1).
func sanitized(n *html.Node) string {
	v := attr(n, "value")
	t := InputType(n)
	switch t {
	case "color":
		if colour().MatchString(v) {
			return strings.ToLower(v)
		}
		return "#000000"
	case "number":
		if !decimal().MatchString(v) {
			return ""
		}
	case "range":
		return ranged(n, v)
	case "email", "url":
		return trim(strings.NewReplacer("\n", "", "\r", "").Replace(v))
	case "text", "search", "tel", "password":
		return strings.NewReplacer("\n", "", "\r", "").Replace(v)
	case "file":
		return ""
	}
	if re := dates()[t]; re != nil && !re.MatchString(v) {
		return ""
	}
	return v
}

// ranged returns the value of a slider: a number between min and max, the middle by default,
// on a step.
func ranged(n *html.Node, v string) string {
	number := func(s string, otherwise float64) float64 {
		if decimal().MatchString(s) {
			if f, err := strconv.ParseFloat(s, 64); err == nil {
				return f
			}
		}
		return otherwise
	}
	low := number(attr(n, "min"), 0)
	high := math.Max(number(attr(n, "max"), 100), low)
	f := number(v, low+(high-low)/2)
	f = math.Min(math.Max(f, low), high)
	if step := number(attr(n, "step"), 1); attr(n, "step") != "any" && step > 0 {
		f = low + math.Floor((f-low)/step+0.5)*step
		if f > high {
			f -= step
		}
	}
	return strconv.FormatFloat(f, 'g', 12, 64)
}

var labelable = words("button input meter output progress select textarea")

// Labels returns the labels of a control, in document order (HTML, 4.10.4).
func (d *Document) Labels(control *html.Node) []*html.Node {
	d.label()
	return d.labels[control]
}

// Control returns the control that a label labels, nil for none.
func (d *Document) Control(label *html.Node) *html.Node {
	d.label()
	return d.controls[label]
}

func (d *Document) label() {
	if d.labels != nil {
		return
	}
	d.labels = map[*html.Node][]*html.Node{}
	d.controls = map[*html.Node]*html.Node{}
	for _, l := range d.labelTags {
		c := d.labelled(l)
		if c != nil {
			d.controls[l] = c
			d.labels[c] = append(d.labels[c], l)
		}
	}
}

func (d *Document) labelled(l *html.Node) *html.Node {
	fits := func(n *html.Node) bool {
		return isHTML(n) && labelable[n.Data] && !(n.DataAtom == atom.Input && InputType(n) == "hidden")
	}
	if id, ok := lookup(l, "for"); ok {
		if c := d.ByID(id); c != nil && fits(c) {
			return c
		}
		return nil
	}
	for c := after(l, l); c != nil; c = after(c, l) {
		if isElement(c) && fits(c) {
			return c
		}
		if is(c, atom.Label) { // labels in labels are invalid, and would take quadratic time
			return nil
		}
	}
	return nil
}
