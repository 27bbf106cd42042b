package form

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Point is where an image button was clicked, in CSS pixels from its top left corner.
type Point struct{ X, Y int }

// Submission is the request that submitting a form makes.
type Submission struct {
	// Method is GET, POST, or DIALOG, which closes a dialog and sends nothing.
	Method string
	// Action is the address as the markup has it, relative to the document's
	// base; empty: the document's own.
	Action string
	// Query replaces the action's query where Method is GET.
	Query string
	// ContentType and Body are those of a POST.
	ContentType string
	Body        []byte
	// Target is where the answer is shown; empty: here.
	Target string
	// Rel are the words of the form's rel, such as noreferrer.
	Rel []string
}

// Submit returns the request of a form (HTML 4.10.22.3). submitter is the button used, nil for
// none; charset is the document's.
func (c *Controls) Submit(form, submitter *html.Node, at Point, charset string) Submission {
	// The submitter's attribute is used even if it is empty.
	choose := func(own, forms string) string {
		if submitter != nil {
			if v, ok := Attr(submitter, own); ok {
				return v
			}
		}
		return attr(form, forms)
	}
	cs := charsetOf(attr(form, "accept-charset"), charset)
	list := c.entries(form, submitter, at, cs.name)
	s := Submission{
		Method: "GET", Action: choose("formaction", "action"), Target: choose("formtarget", "target"),
		Rel: strings.FieldsFunc(strings.ToLower(attr(form, "rel")), isSpace),
	}
	switch strings.ToLower(choose("formmethod", "method")) {
	case "post":
		s.Method = "POST"
	case "dialog":
		s.Method = "DIALOG"
		return s
	}
	// Chromium asks the form's own method, not the submitter's, whether the
	// encoding counts; only multipart is decided by the method that is used.
	enctype := strings.ToLower(choose("formenctype", "enctype"))
	text := enctype == "text/plain" && strings.EqualFold(attr(form, "method"), "post")
	switch {
	case s.Method == "GET" && text:
		s.Query = string(plain(list, cs)) // the URL parser drops its line breaks
	case s.Method == "GET":
		s.Query = urlencoded(list, cs)
	case enctype == "multipart/form-data":
		s.ContentType, s.Body = multipart(list, cs)
	case text:
		s.ContentType, s.Body = enctype, plain(list, cs)
	case enctype == "text/plain":
		s.ContentType, s.Body = enctype, []byte(urlencoded(list, cs))
	default:
		s.ContentType, s.Body = "application/x-www-form-urlencoded", []byte(urlencoded(list, cs))
	}
	return s
}

// Checked reports whether the constraints of a form are checked before submitter
// submits it (HTML 4.10.19.6, novalidate).
func Checked(form, submitter *html.Node) bool {
	return !has(form, "novalidate") && (submitter == nil || !has(submitter, "formnovalidate"))
}

// Default returns the default button of a form, its first submit button; nil for none (HTML
// 4.10.22.2).
func (c *Controls) Default(form *html.Node) *html.Node {
	for _, n := range c.of(form) {
		if IsSubmitter(n) {
			return n
		}
	}
	return nil
}

// Implicit reports whether Enter in a field submits a form that has no submit button: it must
// have at most one text field (HTML 4.10.22.2).
func (c *Controls) Implicit(form *html.Node) bool {
	blocking := 0
	for _, n := range c.of(form) {
		if Is(n, "input") && (slices.Contains(texts, Type(n)) || slices.Contains(whole[:6], Type(n))) {
			blocking++
		}
	}
	return blocking <= 1
}
