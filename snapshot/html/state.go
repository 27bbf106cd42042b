package html

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/browserd/browserd/snapshot"
)

// value returns a control's value, masked if it is secret.
func (k *resolver) value(n *html.Node, role string) string {
	if isHTML(n) {
		switch n.DataAtom {
		case atom.Input:
			switch InputType(n) {
			case "checkbox", "radio", "submit", "button", "reset", "image", "hidden":
				return ""
			}
			return mask(k.d, n, k.contents(n))
		case atom.Textarea:
			return mask(k.d, n, units(k.contents(n), nameMax))
		case atom.Select:
			var parts []string
			for _, o := range k.selected(n) {
				parts = append(parts, OptionLabel(o))
			}
			return fold(strings.Join(parts, ", "))
		case atom.Progress:
			if !has(n, "value") {
				return ""
			}
			return within(n, 0, 1)
		case atom.Meter:
			return within(n, 0, 1)
		}
	}
	if isHost(n) {
		return fold(k.writtenText(n, nameMax))
	}
	switch role {
	case "slider", "spinbutton", "progressbar", "meter", "scrollbar":
		if s := fold(attr(n, "aria-valuetext")); s != "" {
			return s
		}
		return fold(attr(n, "aria-valuenow"))
	case "textbox", "searchbox":
		return fold(k.writtenText(n, nameMax))
	}
	return ""
}

// within returns the value of a meter or progress, limited to its range.
func within(n *html.Node, low, high float64) string {
	number := func(key string, otherwise float64) float64 {
		if f, err := strconv.ParseFloat(strings.TrimSpace(attr(n, key)), 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f
		}
		return otherwise
	}
	if n.DataAtom == atom.Meter {
		low = number("min", low)
	}
	high = math.Max(number("max", high), low)
	return strconv.FormatFloat(math.Min(math.Max(number("value", low), low), high), 'f', -1, 64)
}

// Input types that the role already shows.
var saidTypes = words("text checkbox radio range number search submit button")

// attrs returns the attributes of n that are shown, of those in list.
func (k *resolver) attrs(n *html.Node, role, name string, list []string) (out []snapshot.Attr) {
	field := isHTML(n) && isField(n)
	if role == "heading" {
		out = append(out, snapshot.Attr{Key: "level", Value: strconv.Itoa(headingLevel(n)), Bare: true})
	}
	source := false
	for _, a := range list {
		source = source || a == "src"
		v, ok := lookup(n, a)
		if !ok {
			continue
		}
		switch a {
		case "value":
			continue // its value shows it
		case "type":
			v = strings.ToLower(v)
			if !field || saidTypes[v] || v == "" {
				continue
			}
		case "name":
			if !field || n.Data == "button" {
				continue
			}
		case "placeholder", "aria-label":
			if fold(head(v, maxName)) == name {
				continue
			}
		case "role":
			given := trim(v)
			if lower := strings.ToLower(given); lower == role || lower == "none" || lower == "presentation" || role == "img" && (given == "img" || given == "image") {
				continue
			}
		case "href":
			v = trim(v)
			if scheme, _, ok := strings.Cut(head(v, 20), ":"); ok && (strings.EqualFold(scheme, "javascript") || strings.EqualFold(scheme, "data")) {
				v = v[:len(scheme)+1]
			}
		}
		out = append(out, snapshot.Attr{Key: a, Value: units(v, nameMax)})
	}
	if v, ok := lookup(n, "src"); ok && (n.Data == "iframe" || n.Data == "frame") && !source {
		out = append(out, snapshot.Attr{Key: "src", Value: units(v, nameMax)})
	}
	if is(n, atom.Select) {
		out = append(out, snapshot.Attr{Key: "options", Value: strconv.Itoa(len(OptionsOf(n))), Bare: true})
	}
	if rows := declaredRows(n, role); rows != "" {
		out = append(out, snapshot.Attr{Key: "rows", Value: rows, Bare: true})
	}
	if by := sorted(n, role); by != "" {
		out = append(out, snapshot.Attr{Key: "sort", Value: by})
	}
	if role == "slider" || role == "spinbutton" {
		low, high := "aria-valuemin", "aria-valuemax"
		if is(n, atom.Input) {
			low, high = "min", "max"
		}
		for _, end := range [][2]string{{"min", attr(n, low)}, {"max", attr(n, high)}} {
			if f, err := strconv.ParseFloat(strings.TrimSpace(end[1]), 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
				out = append(out, snapshot.Attr{Key: end[0], Value: strconv.FormatFloat(f, 'f', -1, 64), Bare: true})
			}
		}
	}
	return out
}

// says reports whether n has an ARIA attribute that is not false.
func says(n *html.Node, a string) bool {
	v := attr(n, a)
	return v != "" && v != "false"
}

// states returns the states of n (PROTOCOL.md section 5), in its order.
func (k *resolver) states(n *html.Node, role string, focused, clicks, invisible bool) (out []string) {
	add := func(word string, on bool) {
		if on {
			out = append(out, word)
		}
	}
	tag := ""
	if isHTML(n) {
		tag = n.Data
	}
	field := tag == "input" || tag == "textarea" || tag == "select"
	typed := tag == "textarea" || tag == "input" && typedTypes[InputType(n)]
	add("disabled", Disabled(n) || closest(n, func(p *html.Node) bool { return attr(p, "aria-disabled") == "true" }) != nil)
	add("readonly", typed && has(n, "readonly") || says(n, "aria-readonly"))
	add("required", field && has(n, "required") || says(n, "aria-required"))
	add("invalid", says(n, "aria-invalid"))
	if tag == "input" && (InputType(n) == "checkbox" || InputType(n) == "radio") {
		add("checked", k.checked(n))
	} else {
		add("checked", attr(n, "aria-checked") == "true")
		add("mixed", attr(n, "aria-checked") == "mixed")
	}
	add("pressed", attr(n, "aria-pressed") == "true")
	add("mixed", attr(n, "aria-pressed") == "mixed")
	if tag == "option" {
		add("selected", k.isSelected(n))
	} else {
		add("selected", attr(n, "aria-selected") == "true")
	}
	if open, ok := k.expanded(n, role); ok {
		add("expanded", open)
		add("collapsed", !open)
	}
	add("current", says(n, "aria-current"))
	add("focused", focused)
	add("busy", attr(n, "aria-busy") == "true")
	add("modal", attr(n, "aria-modal") == "true")
	add("multiline", tag == "textarea" || attr(n, "aria-multiline") == "true")
	add("editable", isHost(n))
	add("clickable", clicks)
	add("invisible", invisible)
	return out
}

func (k *controlResolver) isSelected(o *html.Node) bool {
	sel := selectOf(o)
	if sel == nil {
		return has(o, "selected")
	}
	for _, s := range k.selected(sel) {
		if s == o {
			return true
		}
	}
	return false
}

// expanded reports whether what n opens is open. ok is false if n opens nothing.
func (k *resolver) expanded(n *html.Node, role string) (open, ok bool) {
	if popover, _ := k.d.Popover(n); popover != nil && !contains(popover, n) {
		return has(popover, PopoverOpen), true
	}
	switch attr(n, "aria-expanded") {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	if isSummary(n) {
		return has(parent(n), "open"), true
	}
	return false, is(n, atom.Select) && role == "combobox"
}

// PopoverOpen is the attribute that a caller sets on an open popover, as details and dialog
// have open. HTML has no such attribute.
const PopoverOpen = "popover-open"

// Popover returns the popover that the button n shows or hides, nil for none, and the
// command: toggle, show or hide.
func (d *Document) Popover(n *html.Node) (popover *html.Node, command string) {
	id, commands := lookup(n, "commandfor")
	if commands {
		var ok bool
		if command, ok = strings.CutSuffix(strings.ToLower(attr(n, "command")), "-popover"); !ok {
			return nil, ""
		}
	} else {
		id, command = attr(n, "popovertarget"), strings.ToLower(attr(n, "popovertargetaction"))
	}
	if id == "" || Disabled(n) {
		return nil, ""
	}
	form := has(n, "form") || closest(n, func(p *html.Node) bool { return is(p, atom.Form) }) != nil
	switch kind := strings.ToLower(attr(n, "type")); {
	case is(n, atom.Input) && (kind == "button" || kind == "reset"):
	case is(n, atom.Input) && (kind == "submit" || kind == "image") && !form:
	case is(n, atom.Button) && (kind == "button" || kind == "reset" || !form || commands && kind != "submit"):
	default:
		return nil, ""
	}
	switch {
	case command == "show" || command == "hide":
	case commands && command != "toggle":
		return nil, ""
	default:
		command = "toggle"
	}
	if popover = d.ByID(id); popover == nil || !has(popover, "popover") {
		return nil, ""
	}
	return popover, command
}
