package fallback

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/browserd/browserd/fallback/form"
	"github.com/browserd/browserd/protocol"
	snaphtml "github.com/browserd/browserd/snapshot/html"
)

// click runs the activation behaviour of the element, or of its nearest ancestor that has
// one (HTML 6.4.3). It follows a link, submits or resets a form, changes a checkbox or
// radio button, opens or closes a details element, selects an option, passes the click of
// a label to its control, and focuses a field. Errors: those of a ref, not_actionable
// (with details.fields if a form is not valid), unsupported for what needs script, and
// those of Open.
func (a *actor) click(ctx context.Context, o protocol.Click) (protocol.Effect, error) {
	if o.Button == "right" {
		return protocol.Effect{}, a.needsScript("a click with the right button")
	}
	el, err := a.usable(o.Ref)
	if err != nil {
		return protocol.Effect{}, err
	}
	var e protocol.Effect
	for range max(o.Count, 1) {
		if e, err = a.activate(ctx, el, el.Node); err != nil || e.Navigated != "" {
			break
		}
	}
	e.Hit = el.ref
	return e, err
}

// activate runs the activation behaviour of n or of its nearest ancestor.
func (a *actor) activate(ctx context.Context, el element, n *html.Node) (protocol.Effect, error) {
	d := a.history.now
	for at := n; at != nil; at = at.Parent {
		switch {
		case at.Type != html.ElementNode:
		case form.Is(at, "a", "area") && hasHref(at):
			return a.followLink(ctx, at, el)
		case form.Is(at, "button"), form.Is(at, "input") && !form.IsText(at):
			return a.press(ctx, el, at)
		case form.IsText(at), form.Is(at, "select"):
			if err := el.enabled(at); err != nil {
				return protocol.Effect{}, err
			}
			return protocol.Effect{Focused: d.focus(a.refs, at)}, nil
		case form.Is(at, "option") && form.Closest(at, "select") != nil:
			return a.clickOption(el, at)
		case form.Is(at, "summary") && form.Is(at.Parent, "details") && summaryOf(at.Parent) == at:
			toggle(at.Parent)
			return protocol.Effect{Changed: true, Focused: d.focus(a.refs, at)}, nil
		case form.Is(at, "label"):
			control := d.controls.Labelled(at)
			if control == nil {
				return protocol.Effect{}, nil
			}
			return a.activate(ctx, el, control)
		case form.Is(at, "iframe", "object", "embed"):
			return protocol.Effect{}, protocol.Errorf(protocol.Unsupported, "%s is a document of its own, which this source does not load", el.label).
				With("source", a.State().Source).Then("open the address in its src")
		case scripted(at):
			return protocol.Effect{}, a.needsScript(el.label)
		}
	}
	return protocol.Effect{}, nil
}

// scripted reports whether the markup shows that a script handles clicks on n.
func scripted(n *html.Node) bool {
	if _, on := form.Attr(n, "onclick"); on && !form.Is(n, "body", "html", "form", "main") {
		return true
	}
	switch role, _ := form.Attr(n, "role"); strings.ToLower(strings.TrimSpace(role)) {
	case "button", "link", "checkbox", "radio", "switch", "tab", "option", "menuitem", "menuitemcheckbox", "menuitemradio", "combobox", "treeitem", "slider", "spinbutton", "textbox", "searchbox":
		return true
	}
	if v, ok := form.Attr(n, "contenteditable"); ok && !strings.EqualFold(v, "false") {
		return true
	}
	return false
}

// press clicks a button or an input that is not a text field.
func (a *actor) press(ctx context.Context, el element, n *html.Node) (protocol.Effect, error) {
	if err := el.enabled(n); err != nil {
		return protocol.Effect{}, err
	}
	c := a.history.now.controls
	switch kind := form.Type(n); {
	case kind == "checkbox" || kind == "radio":
		on, _ := c.Checked(n)
		if kind == "radio" && on {
			return protocol.Effect{Focused: a.history.now.focus(a.refs, n)}, nil
		}
		c.SetChecked(n, !on)
		return protocol.Effect{Changed: true, Focused: a.history.now.focus(a.refs, n)}, nil
	case kind == "file":
		return protocol.Effect{}, protocol.Errorf(protocol.Unsupported, "%s opens a file chooser, which needs a person", el.label).
			With("source", a.State().Source).Then("give it files with upload")
	case form.IsSubmitter(n) && c.Owner(n) != nil:
		a.history.now.focus(a.refs, n)
		return a.submit(ctx, c.Owner(n), n, imagePoint(n), el)
	case kind == "reset" && c.Owner(n) != nil:
		c.Reset(c.Owner(n))
		return protocol.Effect{Changed: true, Focused: a.history.now.focus(a.refs, n)}, nil
	}
	if popover, command := a.history.now.tree.Popover(n); popover != nil {
		_, open := form.Attr(popover, snaphtml.PopoverOpen)
		switch {
		case open && command != "show":
			popover.Attr = slices.DeleteFunc(popover.Attr, func(a html.Attribute) bool { return a.Namespace == "" && a.Key == snaphtml.PopoverOpen })
		case !open && command != "hide":
			popover.Attr = append(popover.Attr, html.Attribute{Key: snaphtml.PopoverOpen})
		default:
			return protocol.Effect{Focused: a.history.now.focus(a.refs, n)}, nil
		}
		return protocol.Effect{Changed: true, Focused: a.history.now.focus(a.refs, n)}, nil
	}
	return protocol.Effect{}, a.needsScript(el.label)
}

// imagePoint returns the middle of an image button, by the width and height of its
// markup.
func imagePoint(n *html.Node) form.Point {
	side := func(name string) int {
		v, _ := form.Attr(n, name)
		size, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(v), "px"))
		if err != nil || size < 0 {
			return 0
		}
		return size / 2
	}
	return form.Point{X: side("width"), Y: side("height")}
}

func (a *actor) clickOption(el element, option *html.Node) (protocol.Effect, error) {
	sel := form.Closest(option, "select")
	for _, n := range []*html.Node{sel, option} {
		if err := el.enabled(n); err != nil {
			return protocol.Effect{}, err
		}
	}
	d := a.history.now
	on, _ := d.controls.Selected(option)
	d.controls.Choose(sel, []*html.Node{option})
	return protocol.Effect{Changed: !on, Focused: d.focus(a.refs, sel)}, nil
}

// toggle opens or closes a details element. Opening one closes the others of the same
// name (HTML 4.11.1).
func toggle(details *html.Node) {
	if _, open := form.Attr(details, "open"); open {
		details.Attr = slices.DeleteFunc(details.Attr, func(a html.Attribute) bool { return a.Namespace == "" && a.Key == "open" })
		return
	}
	details.Attr = append(details.Attr, html.Attribute{Key: "open"})
	name, _ := form.Attr(details, "name")
	if name == "" {
		return
	}
	root := details
	for root.Parent != nil {
		root = root.Parent
	}
	form.Elements(root, func(n *html.Node) bool {
		_, open := form.Attr(n, "open")
		if own, _ := form.Attr(n, "name"); n != details && form.Is(n, "details") && open && own == name {
			toggle(n)
		}
		return true
	})
}

// followLink follows a hyperlink (HTML 4.6.4). It ignores target, because there is only
// one tab.
func (a *actor) followLink(ctx context.Context, link *html.Node, el element) (protocol.Effect, error) {
	d := a.history.now
	href, _ := form.Attr(link, "href")
	_, onclick := form.Attr(link, "onclick")
	if trimmed := strings.TrimSpace(href); onclick && (trimmed == "#" || trimmed == "") {
		return protocol.Effect{}, a.needsScript(el.label)
	}
	to, err := a.refer(d, href, el)
	if err != nil {
		return protocol.Effect{}, err
	}
	r := request{method: http.MethodGet, to: to, from: d.at, policy: policyWord(link, "referrerpolicy", d.policy)}
	if slices.Contains(words(link, "rel"), "noreferrer") {
		r.policy = noReferrer
	}
	return a.follow(ctx, r, el.ref)
}

// refer resolves a URL in the document against its base.
func (p *Page) refer(d *document, ref string, el element) (address, error) {
	if d.at.scheme == "" {
		// about:blank is not a base; an absolute URL needs none.
		if to, ok := parseAddress(ref, d.charset); ok {
			return to, nil
		}
		return address{}, protocol.Errorf(protocol.NavigationFailed, "%s leads nowhere", el.label).With("reason", "no_base")
	}
	to, other := d.base.resolve(ref, d.charset)
	switch other {
	case "":
		return to, nil
	case "javascript":
		return address{}, p.needsScript(el.label)
	}
	return address{}, protocol.Errorf(protocol.Unsupported, "%s leads to a %s: address, which this source does not open", el.label, cut(other)).
		With("source", p.State().Source).With("scheme", cut(other)).Then("read its href and open it outside of the browser")
}
