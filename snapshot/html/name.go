package html

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxName is the longest text, in bytes, that is collected for a name. It is longer than what
// is shown, because white space is folded afterwards.
const maxName = 32 << 10

// maxNameSteps is how many nodes are visited for one name.
const maxNameSteps = 50_000

var silent = words("script style template head meta link title source track param col colgroup datalist rp")

// naming is the state of the computation of one name (accname 1.2, 4.3.2).
type naming struct {
	seen     map[*html.Node]bool
	inside   bool // part of another name
	referred bool // reached by aria-labelledby
	hidden   bool // hidden text is included
	parts    bool // borders stand between the parts
	steps    *int
}

func (k *resolver) naming() naming {
	return naming{seen: map[*html.Node]bool{}, steps: new(int)}
}

// name returns the accessible name of n, whose role is role.
func (k *resolver) name(n *html.Node, role string) string {
	if role == "row" && !authorNamed(n) {
		return "" // its cells say it
	}
	s, _ := k.accname(n, role, k.naming())
	return orTitle(cutName(fold(s)), n, role)
}

// orTitle returns the name of n without glyphs of icon fonts or, where they are all of it, its
// title. That of a heading, which is not acted on, stays as Chromium has it.
func orTitle(name string, n *html.Node, role string) string {
	switch s := withoutGlyphs(name); {
	case s == name, role == "heading" && s != "":
		return name
	case s != "":
		return s
	}
	return cutName(titleOf(n))
}

// accname computes the name of n (accname 1.2, 4.3.2). apart is true for a name from an
// attribute or another element, which is separated by spaces from what is beside it.
func (k *resolver) accname(n *html.Node, role string, c naming) (name string, apart bool) {
	*c.steps++
	k.steps++
	if c.seen[n] || *c.steps > maxNameSteps || k.steps > k.limit {
		return "", false
	}
	c.seen[n] = true
	value, control := "", false
	if c.inside { // 2C, before 2B as Chromium has it
		value, control = k.embedded(n, role, c)
		if value != "" && !isDateInput(n) || control && addsNothing(n, role) {
			return value, true
		}
	}
	if !c.referred && has(n, "aria-labelledby") { // 2B
		if s := k.labelledBy(n, c.steps); s != "" {
			return s, true
		}
	}
	if label := trim(head(attr(n, "aria-label"), maxName)); label != "" && !is(n, atom.Slot) { // which has no box
		return label, true // 2D
	}
	if value != "" {
		return value, true
	}
	if control {
		return titleOf(n), true
	}
	// 2E. A button that its author names by itself is what it says.
	if s := k.nativeName(n, c); s != "" && !(is(n, atom.Button) && c.referred && !c.inside) {
		return s, true
	}
	if unnamed(n, c) || k.labelledEmpty(n) {
		return "", false
	}
	if c.inside && !c.referred && apartRoles[role] && !(is(n, atom.Details) || is(n, atom.Footer) || is(n, atom.Address)) {
		return titleOf(n), true
	}
	space := ""
	if fromContent[role] || c.inside || role == "img" && !isHTML(n) { // 2F
		s := k.contentName(n, c)
		if !blank(s) {
			return s, false
		}
		if c.inside {
			space = s
		}
	}
	if role == "none" || role == "" && c.inside && space == "" {
		return space, false
	}
	if s := titleOf(n); s != "" {
		return s, true
	}
	return space, false
}

// apartRoles are roles whose content is not part of the name of an element around them: only
// their author names them (Chromium's AXObject::SupportsNameFromContents).
var apartRoles = words("alert alertdialog application article banner blockquote comment complementary contentinfo dialog document feed " +
	"figure form graphics-document grid group img log main marquee navigation note radiogroup row rowgroup search separator status suggestion " +
	"table tabpanel timer toolbar treegrid")

// addsNothing reports whether a control without a value adds nothing to the name of an
// element around it, not even its own name.
func addsNothing(n *html.Node, role string) bool {
	return n.Data == "select" || (role == "textbox" || role == "searchbox") && !isField(n)
}

// isDateInput reports whether n is an input of a date or time, whose name comes before its
// value.
func isDateInput(n *html.Node) bool {
	switch InputType(n) {
	case "date", "time", "month", "week", "datetime-local":
		return is(n, atom.Input)
	}
	return false
}

// unnamed reports whether n, an image within another name, declares that it has no name
// (HTML-AAM 4.1.9), or shows nothing.
func unnamed(n *html.Node, c naming) bool {
	if !c.inside || !is(n, atom.Img) {
		return false
	}
	alt, ok := lookup(n, "alt")
	return ok && alt == ""
}

// labelledEmpty reports whether n has labels without text: Chromium then tries no other source
// of a name.
func (k *resolver) labelledEmpty(n *html.Node) bool {
	switch {
	case !isHTML(n):
		return false
	case n.DataAtom == atom.Input, n.DataAtom == atom.Textarea, n.DataAtom == atom.Select:
		return len(k.d.Labels(n)) > 0
	}
	return false
}

func titleOf(n *html.Node) string {
	for _, a := range []string{"title", "placeholder", "aria-placeholder"} {
		if a == "placeholder" && !holdsPlaceholder(n) || a == "aria-placeholder" && !writtenIn(n) {
			continue
		}
		if s := fold(head(attr(n, a), maxName)); s != "" {
			return s
		}
	}
	return ""
}

// holdsPlaceholder reports whether n shows its placeholder attribute: other elements do not.
func holdsPlaceholder(n *html.Node) bool {
	if !is(n, atom.Input) {
		return is(n, atom.Textarea)
	}
	switch InputType(n) {
	case "text", "search", "url", "tel", "email", "password", "number":
		return true
	}
	return false
}

// writtenIn reports whether the role of n is that of a text field.
func writtenIn(n *html.Node) bool {
	if r := strings.TrimSpace(strings.ToLower(attr(n, "role"))); r != "" {
		return r == "textbox" || r == "searchbox"
	}
	return holdsPlaceholder(n) || isHost(n)
}

// labelledBy joins the names of the elements that aria-labelledby lists.
func (k *resolver) labelledBy(n *html.Node, steps *int) string {
	var parts []string
	size := 0
	for _, id := range strings.Fields(head(attr(n, "aria-labelledby"), maxName)) {
		e := k.d.ByID(id)
		if e == nil {
			continue
		}
		c := naming{seen: map[*html.Node]bool{}, referred: true, inside: e != n, hidden: !k.rendered(e), steps: steps}
		if e != n && !is(n, atom.Button) {
			c.seen[n] = true
		}
		s, _ := k.accname(e, k.role(e), c)
		parts = append(parts, s)
		if size += len(s); size > maxName {
			break
		}
	}
	return fold(strings.Join(parts, " "))
}

// embedded returns the value of a control, which is what it contributes to the name of another
// element. ok is false if n is not such a control.
func (k *resolver) embedded(n *html.Node, role string, c naming) (value string, ok bool) {
	switch role {
	case "textbox", "searchbox":
		if isField(n) {
			return k.value(n, role), true
		}
		return textContent(n, maxName), true
	case "combobox", "listbox":
		switch n.Data {
		case "select":
			var parts []string
			for _, o := range k.selected(n) {
				parts = append(parts, OptionText(o))
			}
			return strings.Join(parts, " "), true
		case "input":
			return k.value(n, role), true
		}
		var parts []string
		for o := after(n, n); o != nil && *c.steps <= maxNameSteps; o = after(o, n) {
			*c.steps++
			if isElement(o) && attr(o, "role") == "option" && attr(o, "aria-selected") == "true" {
				s, _ := k.accname(o, "option", naming{seen: map[*html.Node]bool{}, inside: true, steps: c.steps})
				parts = append(parts, s)
			}
		}
		return strings.Join(parts, " "), len(parts) > 0 || role == "listbox" && !c.referred
	case "menu", "menubar", "tree", "tablist":
		return "", !c.referred
	case "slider", "spinbutton", "progressbar", "meter", "scrollbar":
		for _, a := range []string{"aria-valuetext", "aria-valuenow"} {
			if v := attr(n, a); v != "" {
				return v, true
			}
		}
		return k.value(n, role), true
	}
	return "", false
}

// nativeName returns the name that HTML gives n (HTML-AAM 4.1), empty for none.
func (k *resolver) nativeName(n *html.Node, c naming) string {
	if n.Namespace == "svg" {
		if t := svgTitle(n); t != nil {
			return fold(textContent(t, maxName))
		}
		return ""
	}
	switch n.Data {
	case "input":
		return k.inputName(n, c)
	case "select", "textarea", "meter", "progress", "output", "button":
		return k.labelName(n, c)
	case "img", "area":
		return fold(head(attr(n, "alt"), maxName))
	case "fieldset":
		return k.childName(n, atom.Legend, c)
	case "table":
		if s := k.childName(n, atom.Caption, c); s != "" {
			return s
		}
		return fold(attr(n, "summary"))
	case "optgroup":
		return fold(attr(n, "label"))
	case "option":
		return fold(OptionLabel(n))
	}
	return ""
}

func (k *resolver) inputName(n *html.Node, c naming) string {
	s := k.labelName(n, c)
	if s != "" {
		return s
	}
	either := func(list ...string) string {
		for _, s := range list {
			if s = fold(s); s != "" {
				return s
			}
		}
		return ""
	}
	switch InputType(n) {
	case "button":
		return attr(n, "value")
	case "submit", "reset":
		if v, ok := lookup(n, "value"); ok {
			return v
		}
		return map[string]string{"submit": "Submit", "reset": "Reset"}[InputType(n)]
	case "image":
		return either(attr(n, "alt"), attr(n, "value"), titleOf(n), "Submit")
	case "file":
		choose := "Choose File"
		if has(n, "multiple") {
			choose = "Choose Files"
		}
		return either(titleOf(n), choose)
	}
	return ""
}

func (k *resolver) childName(n *html.Node, tag atom.Atom, c naming) string {
	for e := firstElement(n); e != nil; e = nextElement(e) {
		if is(e, tag) {
			return fold(k.contentName(e, naming{seen: c.seen, inside: true, steps: c.steps}))
		}
	}
	return ""
}

// labelName joins the names of n's labels.
func (k *resolver) labelName(n *html.Node, c naming) string {
	var parts []string
	for i, l := range k.d.Labels(n) {
		if c.seen[l] {
			continue
		}
		if i > 100 {
			break
		}
		if !k.rendered(l) || attr(l, "aria-hidden") == "true" {
			continue
		}
		s := trim(attr(l, "aria-label"))
		if s == "" {
			s = k.contentName(l, naming{seen: map[*html.Node]bool{n: true}, inside: true, steps: c.steps})
		}
		parts = append(parts, s)
	}
	return fold(strings.Join(parts, " "))
}

// contentName joins the names of the children of n in the flat tree.
func (k *resolver) contentName(n *html.Node, c naming) string {
	var b strings.Builder
	b.WriteString(k.generated(n, &k.d.parsed().before))
	add := func(child *html.Node) {
		switch child.Type {
		case html.TextNode:
			b.WriteString(k.cased(head(child.Data, maxName), n))
		case html.ElementNode:
			b.WriteString(k.partName(child, c))
		}
	}
	if list, ok := k.d.flat.children(n); ok {
		for _, child := range list {
			if b.Len() < maxName && *c.steps <= maxNameSteps {
				add(child)
			}
		}
	} else {
		for child := n.FirstChild; child != nil && b.Len() < maxName && *c.steps <= maxNameSteps; child = child.NextSibling {
			add(child)
		}
	}
	for _, id := range strings.Fields(head(attr(n, "aria-owns"), maxName)) {
		if o := k.d.ByID(id); o != nil && !contains(n, o) && b.Len() < maxName {
			b.WriteString(" " + k.partName(o, c) + " ")
		}
	}
	b.WriteString(k.generated(n, &k.d.parsed().after))
	return b.String()
}

// partName returns what the element e contributes to a name from content, with spaces around
// it unless it is inline.
func (k *resolver) partName(e *html.Node, c naming) string {
	*c.steps++
	if isHTML(e) {
		if e.DataAtom == atom.Br || e.DataAtom == atom.Wbr {
			return " "
		}
		if silent[e.Data] && !(c.hidden && e.DataAtom != atom.Script && e.DataAtom != atom.Style) {
			return ""
		}
	}
	if !c.hidden && (attr(e, "aria-hidden") == "true" || has(e, "inert")) {
		return ""
	}
	s := k.style(e)
	shows := c.hidden || !s.noBox && !s.hidden
	if !shows && s.display == none {
		return ""
	}
	inlined := s.display == inline && !is(e, atom.Img) || s.display == contents
	space := " "
	if c.parts && !s.inlined() {
		space = border
	}
	name, apart := "", false
	if shows {
		name, apart = k.accname(e, k.role(e), naming{seen: c.seen, inside: true, referred: c.referred, hidden: c.hidden, parts: c.parts, steps: c.steps})
	} else if s.hidden {
		name = k.hiddenName(e, c)
	}
	switch {
	case inlined && !(apart && name != ""):
		return name
	case name == "":
		return space
	}
	return space + name + space
}

// border stands between the parts of what is read, until joinParts.
const border = "\x1f"

// joinParts writes the borders between parts as those between the cells of a table.
func joinParts(s string) string {
	var parts []string
	for part := range strings.SplitSeq(s, border) {
		if part = withoutGlyphs(fold(part)); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " | ")
}

// hiddenName returns the names of visible descendants of an element that is
// visibility:hidden.
func (k *resolver) hiddenName(e *html.Node, c naming) string {
	var b strings.Builder
	for child := e.FirstChild; child != nil && *c.steps <= maxNameSteps; child = child.NextSibling {
		if isElement(child) {
			b.WriteString(k.partName(child, c))
		}
	}
	return b.String()
}

// cased returns the text of n after text-transform, as in Chromium's names.
func (k *resolver) cased(s string, n *html.Node) string {
	switch k.style(n).casing {
	case upper:
		return strings.ToUpper(s)
	case lower:
		return strings.ToLower(s)
	case capital:
		return capitalized(s)
	}
	return s
}

func capitalized(s string) string {
	var b strings.Builder
	start := true
	for _, r := range s {
		if start {
			b.WriteString(strings.ToUpper(string(r)))
		} else {
			b.WriteRune(r)
		}
		start = isSpace(r) || r == '-' || r == '('
	}
	return b.String()
}

// ---- names of elements without a role

// clickName returns the name of a clickable element whose role does not name it: the name by
// its author, else the text that it shows.
func (k *resolver) clickName(n *html.Node) string {
	if s := k.givenName(n); s != "" {
		return s
	}
	c := k.naming()
	c.seen[n], c.inside, c.parts = true, true, true
	s := ""
	if k.operablesIn(n) {
		s = joinParts(k.shownText(n, c.steps))
	}
	if s == "" {
		s = joinParts(k.contentName(n, c))
	}
	if s == "" {
		s = k.drawnName(n)
	}
	if s == "" {
		s = titleOf(n)
	}
	return cutName(s)
}

// givenName returns the name of n by its author.
func (k *resolver) givenName(n *html.Node) string {
	if has(n, "aria-labelledby") {
		if s := k.labelledBy(n, new(int)); s != "" {
			return cutName(s)
		}
	}
	return cutName(fold(head(attr(n, "aria-label"), maxName)))
}

// drawnName returns the title of an element of a drawing.
func (k *resolver) drawnName(n *html.Node) string {
	if n.Namespace != "svg" {
		return ""
	}
	return cutName(k.nativeName(n, k.naming()))
}

// shownText returns the visible text of n, without that of controls in it.
func (k *resolver) shownText(n *html.Node, steps *int) string {
	var b strings.Builder
	for _, c := range k.d.flat.list(n) {
		if *steps++; b.Len() > 2*nameMax || *steps > maxNameSteps {
			break
		}
		switch {
		case c.Type == html.TextNode:
			b.WriteString(head(c.Data, maxName))
		case isElement(c) && !silent[c.Data] && !operableTag(c) && k.rendered(c):
			s := k.shownText(c, steps)
			switch style := k.style(c); {
			case !style.inlined():
				s = border + s + border
			case style.display != inline:
				s = " " + s + " "
			}
			b.WriteString(s)
		}
	}
	return b.String()
}

// shownName returns the name of n as a snapshot shows it: by its role or, for an element that
// is clickable or editable, by its text.
func (k *resolver) shownName(n *html.Node, role string, clicks bool) string {
	if role == "" {
		if clicks || isHost(n) {
			return k.clickName(n)
		}
		if s := k.givenName(n); s != "" {
			return s
		}
		return k.drawnName(n)
	}
	s := k.name(n, role)
	if s == "" && clicks && !controls[role] && role != "heading" {
		s = k.clickName(n)
	}
	return s
}

// nameOf returns the name of n as a snapshot shows it.
func (k *resolver) nameOf(n *html.Node) string {
	role := k.role(n)
	if role != "" && (controls[role] || fromContent[role]) {
		return k.shownName(n, role, false)
	}
	return k.shownName(n, role, k.clickable(n, k.clickContextOf(n)))
}
