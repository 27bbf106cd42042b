// Package loginform recognises the login form of a page: which fields take the name, the
// password and a one-time code, which button sends them, and what the page says instead, such
// as an error or a captcha. It goes by autocomplete tokens first, then by types, names and
// labels in the languages of fields.go.
//
// It is pure: it works on what find has read of a page, and fills in nothing.
package loginform

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/browserd/browserd/snapshot"
)

// Selector matches all elements that Read looks at.
const Selector = `input:not([type=hidden]), [name$="-response"], button, [role=button], a[href*="logout" i], a[href*="logoff" i], a[href*="signout" i], a[href*="sign_out" i], a[href*="abmelden" i], ` +
	`iframe, .g-recaptcha, .h-captcha, .cf-turnstile, img[src*="captcha" i], [role=alert], [role=alertdialog], [role=status], [aria-live], [class*="error" i], [class*="alert" i], [class*="invalid" i], [id*="error" i]`

// Properties are what find has to read of each of them, in the words of its parameter read.
var Properties = []string{"visible", "enabled", "editable", "inner_text", "value", "attr:type", "attr:autocomplete", "attr:name", "attr:id", "attr:placeholder", "attr:class", "attr:src", "attr:maxlength"}

// Control is a field or a button.
type Control struct {
	Ref     string
	Name    string // accessible name
	Enabled bool
	Filled  bool // it holds something; of a password it is not known
	at      int  // its place in the page
}

// Form is what a page shows of a login. A field that is not there is nil.
type Form struct {
	Username, Password, Code *Control
	// Captcha is set where the page shows one that nobody has solved.
	Captcha bool
	// Messages are the texts of alerts and of what is named like an error.
	Messages []string
	// Frames are how many frames the page shows that may hold a form, and LogOut is set where
	// a link or button ends a login.
	Frames  int
	LogOut  bool
	buttons []button
}

// Any reports whether there is any field to fill in.
func (f *Form) Any() bool { return f.Username != nil || f.Password != nil || f.Code != nil }

// Same reports whether both forms ask for the same.
func (f *Form) Same(other *Form) bool {
	return (f.Username == nil) == (other.Username == nil) && (f.Password == nil) == (other.Password == nil) && (f.Code == nil) == (other.Code == nil)
}

type button struct {
	Control
	submits bool // by its type
}

// element is one element as find has read it.
type element struct {
	snapshot.NodeJSON
	Visible     bool   `json:"visible"`
	Enabled     bool   `json:"enabled"`
	Editable    bool   `json:"editable"`
	InnerText   string `json:"inner_text"`
	Content     string `json:"-"`
	Type        string `json:"attr:type"`
	Tokens      string `json:"attr:autocomplete"`
	FieldName   string `json:"attr:name"`
	ID          string `json:"attr:id"`
	Placeholder string `json:"attr:placeholder"`
	Class       string `json:"attr:class"`
	Src         string `json:"attr:src"`
	MaxLength   string `json:"attr:maxlength"`
}

// Read recognises the form in the elements that find has found by Selector, and what it has read
// of each.
func Read(nodes []snapshot.NodeJSON, read []json.RawMessage) *Form {
	f := &Form{}
	var fields []field
	var widgets, unanswered, answered bool // of captchas
	for i, n := range nodes {
		var e element
		if i >= len(read) || json.Unmarshal(read[i], &e) != nil {
			continue
		}
		var content struct {
			Value string `json:"value"`
		}
		json.Unmarshal(read[i], &content) // a select's may be no text
		e.NodeJSON, e.Content = n, content.Value
		if n.Tag == "textarea" || n.Tag == "input" && strings.HasSuffix(e.FieldName, "-response") {
			answered = answered || e.Content != ""
			unanswered = unanswered || e.Content == ""
			continue
		}
		if !e.Visible {
			continue
		}
		switch {
		case n.Tag == "iframe" && captchaFrame(e), n.Tag == "div" && captchaClass().MatchString(e.Class):
			widgets = true
		case n.Tag == "img" && captchaWords().MatchString(e.Src):
			widgets = true
		case n.Tag == "iframe":
			f.Frames++
		case n.Tag == "input" && !isButton(e.Type):
			if d := fieldOf(e, i); d.kind == captcha {
				f.Captcha = f.Captcha || e.Content == ""
			} else if d.kind != other {
				fields = append(fields, d)
			}
		case n.Tag == "button" || n.Tag == "input" || n.Role == "button" || n.Tag == "a":
			name := n.Name
			f.LogOut = f.LogOut || logOut().MatchString(name) || n.Tag == "a"
			f.buttons = append(f.buttons, button{Control{Ref: n.Ref, Name: name, Enabled: e.Enabled, at: i}, e.Type == "submit" || e.Type == "image" || n.Tag == "button" && e.Type == ""})
		default:
			if text := strings.Join(strings.Fields(e.InnerText), " "); text != "" && len(text) <= maxMessage && !slices.Contains(f.Messages, text) {
				f.Messages = append(f.Messages, text)
			}
		}
	}
	f.Captcha = f.Captcha || widgets && (!answered || unanswered)
	f.choose(fields)
	return f
}

// maxMessage is how many bytes of a message are taken; what is longer is a part of the page.
const maxMessage = 400

func isButton(typ string) bool {
	return slices.Contains([]string{"submit", "button", "image", "reset"}, strings.ToLower(typ))
}

// choose takes one field of each kind.
func (f *Form) choose(fields []field) {
	for i := range fields { // a password that is asked for twice is a new one
		next := slices.IndexFunc(fields[i+1:], func(d field) bool { return d.kind == password || d.kind == newPassword })
		if fields[i].kind == password && next >= 0 && fields[i+1+next].kind == newPassword && fields[i].score < sure {
			fields[i].kind = newPassword
		}
	}
	best := func(k kind) *Control {
		var found *field
		for i := range fields {
			if d := &fields[i]; d.kind == k && (found == nil || d.score > found.score) {
				found = d
			}
		}
		if found == nil {
			return nil
		}
		return &found.Control
	}
	f.Password, f.Code = best(password), best(code)
	if f.Password == nil {
		f.Username = best(username)
		return
	}
	// Beside a password, the name is what stands before it, whatever it is called.
	for i := range fields {
		if d := &fields[i]; d.at < f.Password.at && (d.kind == username || d.kind == text) {
			f.Username = &d.Control
		}
	}
}

// Submit returns the button that sends the fields, the last of which is given; nil: Enter does.
func (f *Form) Submit(last *Control) *Control {
	var first *Control
	for i := range f.buttons {
		b := &f.buttons[i]
		if b.at < last.at || !b.Enabled || notSubmit().MatchString(b.Name) {
			continue
		}
		if submitWords().MatchString(b.Name) {
			return &b.Control
		}
		if first == nil && b.submits {
			first = &b.Control
		}
	}
	return first
}
