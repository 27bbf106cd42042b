package html

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Roles that a person operates.
var controls = words("button link textbox searchbox checkbox radio combobox listbox option menuitem " +
	"menuitemcheckbox menuitemradio slider spinbutton switch tab treeitem")
var landmarks = words("banner navigation main complementary contentinfo region search form")

// Containers that interactive_only shows where their author has named them.
var groups = words("group radiogroup toolbar tablist tabpanel menu menubar tree grid treegrid table feed application")

// Text-level semantics, which are text within running text.
var phrases = words("emphasis strong code subscript superscript deletion insertion mark time term abbr ruby")
var fromContent = words("button link checkbox radio option menuitem menuitemcheckbox menuitemradio switch tab " +
	"treeitem heading cell gridcell columnheader rowheader tooltip term")

// Controls whose children are part of them (WAI-ARIA "children presentational").
var atoms = words("button checkbox radio option menuitem menuitemcheckbox menuitemradio switch tab link heading")

var knownRoles = func() map[string]bool {
	set := words("alert alertdialog article blockquote caption cell " +
		"code columnheader comment definition deletion dialog directory document emphasis figure generic gridcell " +
		"heading image img insertion list listitem log mark marquee math meter none note paragraph presentation progressbar " +
		"row rowgroup rowheader scrollbar separator status strong subscript suggestion superscript term time timer tooltip")
	for _, more := range []map[string]bool{controls, landmarks, groups} {
		for r := range more {
			set[r] = true
		}
	}
	return set
}()

// Roles returns the roles that a snapshot may show.
func Roles() []string { return slices.Sorted(maps.Keys(knownRoles)) }

var tagRoles = map[string]string{
	"article": "article", "nav": "navigation", "main": "main", "search": "search", "ul": "list", "ol": "list", "menu": "list",
	"h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading", "p": "paragraph",
	"figure": "figure", "fieldset": "group", "details": "group", "optgroup": "group", "address": "group", "hgroup": "group",
	"dialog": "dialog", "hr": "separator", "progress": "progressbar", "meter": "meter", "output": "status", "button": "button",
	"textarea": "textbox", "option": "option", "blockquote": "blockquote", "dd": "definition", "dt": "term", "dfn": "term",
	"code": "code", "em": "emphasis", "strong": "strong", "sub": "subscript", "sup": "superscript", "del": "deletion", "s": "deletion",
	"ins": "insertion", "mark": "mark", "time": "time", "abbr": "abbr", "ruby": "ruby", "form": "form",
	"video": "video", "audio": "audio", "canvas": "canvas", "iframe": "iframe", "frame": "iframe", "math": "math",
}

var inputRoles = map[string]string{
	"button": "button", "submit": "button", "reset": "button", "image": "button", "file": "button", "color": "button",
	"checkbox": "checkbox", "radio": "radio", "range": "slider", "number": "spinbutton", "search": "searchbox", "hidden": "none",
}

var globalARIA = strings.Fields("aria-label aria-labelledby aria-describedby aria-controls aria-owns aria-live " +
	"aria-details aria-flowto aria-roledescription aria-atomic aria-busy aria-relevant aria-current aria-keyshortcuts")

// A child that belongs to its container loses its role with it.
var inheritedRoles = words("listitem row rowgroup cell gridcell columnheader rowheader caption")

// shownRole returns the role that a line shows, given what role returned.
func shownRole(role string) string {
	if role == "" || role == "none" {
		return "generic"
	}
	return role
}

// role returns the role of n: "" if it has none with a meaning, none if its author removed
// it.
func (k *roleResolver) role(n *html.Node) string {
	if is(n, atom.Iframe) || is(n, atom.Frame) || is(n, atom.Embed) {
		return "iframe" // whatever its role attribute
	}
	if has(n, "role") {
		switch r := k.authorRole(n); r {
		case "":
		case "generic":
			return ""
		default:
			return r
		}
	}
	r := k.nativeRole(n)
	if inheritedRoles[r] && k.takenAway(n, r) {
		return "none"
	}
	return r
}

// authorRole returns the first role of the role attribute that ARIA defines and that is valid
// here, "" for none.
func (k *roleResolver) authorRole(n *html.Node) string {
	for _, r := range strings.Fields(strings.ToLower(head(attr(n, "role"), 1000))) {
		if !knownRoles[r] && !strings.HasPrefix(r, "doc-") && !strings.HasPrefix(r, "graphics-") {
			continue
		}
		switch r {
		case "none", "presentation":
			if keepsRole(n) {
				return ""
			}
			return "none"
		case "region", "form":
			if !authorNamed(n) {
				if (n.Data == "section" || n.Data == "form") && k.nativeRole(n) == r {
					return ""
				}
				return "generic"
			}
		case "image":
			return "img"
		case "directory":
			return "list"
		}
		if itemContainers[r] != "" && k.orphan(n, r) {
			continue
		}
		return r
	}
	return ""
}

// itemContainers are the roles in which an item is valid. Chromium ignores role=option outside
// of them.
var itemContainers = map[string]string{"option": "listbox", "listitem": "list", "treeitem": "tree"}

// unskipped are elements with a role of their own in Chromium, but none of ARIA's.
var unskipped = words("section aside header footer label legend figcaption summary table tbody tr td th")

// maxOrphanSteps is how many ancestors of an item are checked for its container.
const maxOrphanSteps = 50

// orphan reports whether n, an item by its role attribute, is not inside of a container for
// such items. Ancestors without a role, and items around items, are skipped.
func (k *roleResolver) orphan(n *html.Node, role string) bool {
	if is(n, atom.Li) && role == "listitem" {
		return false
	}
	if id := attr(n, "id"); id != "" && k.ownedIDs()[id] {
		return false
	}
	p := k.d.flat.parent(n)
	for i := 0; p != nil && i < maxOrphanSteps; p, i = k.d.flat.parent(p), i+1 {
		given := strings.Fields(strings.ToLower(head(attr(p, "role"), 1000)))
		if slices.ContainsFunc(given, func(r string) bool { return itemContainers[r] != "" }) {
			if role == "treeitem" && given[0] == role {
				continue
			}
			return true
		}
		switch r := k.role(p); r {
		case "", "none":
			if role == "option" && is(p, atom.Li) {
				return false // Chromium takes it for none there, and it acts as one
			}
			if role == "listitem" && (is(p, atom.Ul) || is(p, atom.Ol)) {
				return false
			}
			if r == "" && isHTML(p) && unskipped[p.Data] {
				return true
			}
		case "listitem":
			return role != "option" || has(p, "role")
		case "group":
			return !has(p, "role")
		default:
			return r != itemContainers[role]
		}
	}
	return p == nil
}

// ownedIDs returns the IDs in all aria-owns attributes of the document.
func (k *roleResolver) ownedIDs() map[string]bool {
	if k.owned != nil {
		return k.owned
	}
	k.owned = map[string]bool{}
	for n := range k.d.root.Descendants() {
		for _, id := range strings.Fields(head(attr(n, "aria-owns"), maxName)) {
			k.owned[id] = true
		}
	}
	return k.owned
}

// keepsRole reports whether role=none is ignored: on what can be focused or has
// a global ARIA attribute (WAI-ARIA 1.2, presentational roles conflict resolution).
func keepsRole(n *html.Node) bool {
	if focusable(n) {
		return true
	}
	for _, a := range globalARIA {
		if has(n, a) {
			return true
		}
	}
	return false
}

// focusable reports whether n is focusable, by itself or by tabindex (HTML, 6.6.2).
func focusable(n *html.Node) bool {
	if _, ok := tabIndex(n); ok {
		return true
	}
	switch n.Data {
	case "a", "area":
		return has(n, "href")
	case "input":
		return InputType(n) != "hidden" && !has(n, "disabled")
	case "button", "select", "textarea":
		return !has(n, "disabled")
	case "iframe":
		return true
	case "summary":
		return isSummary(n)
	}
	v, ok := lookup(n, "contenteditable")
	return ok && v != "false"
}

// tabIndex parses the tabindex attribute (HTML, rules for parsing integers).
func tabIndex(n *html.Node) (int, bool) {
	v, ok := lookup(n, "tabindex")
	if !ok {
		return 0, false
	}
	return leadingInt(v)
}

func leadingInt(v string) (int, bool) {
	v = trim(v)
	end := 0
	for end < len(v) && end < 9 && ('0' <= v[end] && v[end] <= '9' || end == 0 && (v[0] == '-' || v[0] == '+')) {
		end++
	}
	i, err := strconv.Atoi(v[:end])
	return i, err == nil
}

func (k *roleResolver) takenAway(n *html.Node, role string) bool {
	if !isHTML(n) {
		return false
	}
	owner := parent(n)
	if role != "listitem" {
		owner = closest(n, func(p *html.Node) bool { return is(p, atom.Table) })
	}
	return owner != nil && has(owner, "role") && k.authorRole(owner) == "none"
}

// authorNamed reports whether the author named n, as region and form need.
func authorNamed(n *html.Node) bool {
	return trim(attr(n, "aria-label")) != "" || has(n, "aria-labelledby") || trim(attr(n, "title")) != ""
}

// nativeRole returns the role that HTML gives n.
func (k *roleResolver) nativeRole(n *html.Node) string {
	if n.Namespace == "svg" {
		switch n.Data {
		case "a":
			if hasLink(n) {
				return "link"
			}
		case "svg":
			if authorNamed(n) || svgTitle(n) != nil {
				return "img"
			}
		}
		return ""
	}
	if n.Namespace == "math" && n.Data != "math" {
		return ""
	}
	if r := tagRoles[n.Data]; r != "" {
		if r != "textbox" && isHost(n) && (r == "paragraph" || r == "list") {
			return "textbox"
		}
		return r
	}
	switch n.Data {
	case "a", "area":
		if has(n, "href") {
			return "link"
		}
	case "input":
		t := InputType(n)
		r := inputRoles[t]
		if r == "" {
			r = "textbox"
		}
		if (r == "textbox" || r == "searchbox") && has(n, "list") && !dateTypes[t] && t != "password" {
			if l := k.d.ByID(attr(n, "list")); l != nil && is(l, atom.Datalist) {
				return "combobox"
			}
		}
		return r
	case "select":
		if listed(n) {
			return "listbox"
		}
		return "combobox"
	case "img":
		if alt, ok := lookup(n, "alt"); ok && alt == "" && !authorNamed(n) && !has(n, "aria-label") && !focusable(n) {
			return "none"
		}
		return "img"
	case "li":
		return "listitem"
	case "dl":
		if authorNamed(n) {
			return "list"
		}
		return ""
	case "summary":
		if isSummary(n) {
			return "button"
		}
		return ""
	case "header", "footer":
		if closest(n, sections) != nil {
			return ""
		}
		return map[string]string{"header": "banner", "footer": "contentinfo"}[n.Data]
	case "aside":
		if k.asidePlain(n) {
			return ""
		}
		return "complementary"
	case "section":
		if authorNamed(n) {
			return "region"
		}
		return ""
	case "table":
		if k.layoutTable(n) {
			return ""
		}
		return "table"
	case "caption":
		return "caption"
	case "thead", "tbody", "tfoot", "tr", "td", "th":
		return k.cellRole(n)
	}
	if isHost(n) {
		return "textbox"
	}
	return ""
}

func hasLink(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "href" {
			return true
		}
	}
	return false
}

// isHost reports whether n is an editing host (contenteditable).
func isHost(n *html.Node) bool {
	v, ok := lookup(n, "contenteditable")
	if !ok || !isHTML(n) {
		return false
	}
	v = strings.ToLower(v)
	return v == "" || v == "true" || v == "plaintext-only"
}

func svgTitle(n *html.Node) *html.Node {
	for c := firstElement(n); c != nil; c = nextElement(c) {
		if c.Data == "title" {
			return c
		}
	}
	return nil
}

// sections are elements in which header and footer are not landmarks (HTML-AAM).
func sections(n *html.Node) bool {
	switch n.Data {
	case "article", "aside", "main", "nav", "section":
		return true
	}
	switch attr(n, "role") {
	case "article", "complementary", "main", "navigation", "region":
		return true
	}
	return false
}

func (k *roleResolver) asidePlain(n *html.Node) bool {
	if authorNamed(n) {
		return false
	}
	for p := k.d.flat.parent(n); p != nil; p = k.d.flat.parent(p) {
		switch p.Data {
		case "article", "aside", "nav", "section":
			if !has(p, "role") || k.authorRole(p) == "" {
				return true
			}
		}
	}
	return false
}

// headingLevel returns the level of a heading, 2 if it has none (WAI-ARIA).
func headingLevel(n *html.Node) int {
	if i, ok := leadingInt(attr(n, "aria-level")); ok && i > 0 {
		return i
	}
	if len(n.Data) == 2 && n.Data[0] == 'h' && '1' <= n.Data[1] && n.Data[1] <= '6' {
		return int(n.Data[1] - '0')
	}
	return 2
}
