package script

import "strings"

// CaretArgs are a text control, and whether its text is to be replaced.
type CaretArgs struct {
	Node  int  `json:"node"`
	Clear bool `json:"clear"`
}

// TypeArgs say what is to be typed.
type TypeArgs struct {
	Text    string `json:"text"`
	Clear   bool   `json:"clear"`
	Keys    bool   `json:"keys"`
	Secret  bool   `json:"secret,omitempty"`  // what the control holds is not told from now on
	Clicked bool   `json:"clicked,omitempty"` // the control was clicked for it
}

// Prepared is what the script did with a control: nothing, or assigned its value, or set
// the caret because it had the focus.
type Prepared struct {
	Framed    bool     `json:"framed,omitempty"`   // it is a frame: nothing was done
	Accepts   string   `json:"accepts,omitempty"`  // not empty: the text is no value of this control
	Assigned  bool     `json:"assigned,omitempty"` // the value was set whole
	Asked     bool     `json:"asked,omitempty"`    // and is what was asked for
	Value     string   `json:"value,omitempty"`
	Textless  string   `json:"textless,omitempty"` // not empty: takes no text; the command that fits, or "none"
	Ready     bool     `json:"ready,omitempty"`    // the caret was set
	Elsewhere *Element `json:"elsewhere,omitempty"`
	Focused   bool     `json:"focused,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Before    *string  `json:"before,omitempty"` // what it held, where that is known and no secret
	Length    int      `json:"length,omitempty"`
	Keys      bool     `json:"keys,omitempty"`    // select all by the keyboard
	End       bool     `json:"end,omitempty"`     // move to the end by the keyboard
	Guarded   bool     `json:"guarded,omitempty"` // the keyboard is for it alone
	Whole     bool     `json:"whole,omitempty"`   // it closes brackets that are typed: the text is written at once
}

// TextFor returns the text as the control takes it: a field of one line has spaces for line breaks, as a browser
// pastes them, unless they are pressed as keys.
func (p Prepared) TextFor(text string, keys bool) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	switch p.Kind {
	case "editor", "textarea", "editable", "":
		return text
	}
	if keys {
		return text
	}
	return strings.ReplaceAll(text, "\n", " ")
}

// Parts returns what of the text is typed with the keyboard, and what is inserted by the control's own document
// (InsertText): all of a secret for a field that holds its own text. Keys go to what has the focus when they come,
// and a page that takes the focus may hear of them before the guard does.
func (p Prepared) Parts(text string, secret bool) (typed, inserted string) {
	if !secret || p.Keys || p.Kind == "" || p.Kind == "editor" || p.Kind == "editable" {
		return text, ""
	}
	return "", text
}

// Expect returns what the control should hold when the text has been typed into it, in place of
// what is there with clear; nil if nothing can be compared.
func (p Prepared) Expect(text string, clear bool) *CompareArgs {
	if p.Kind == "" || p.Keys && p.Kind != "editable" && p.Kind != "editor" || !clear && (p.Before == nil || p.Kind == "editor") {
		return nil // it keeps its text elsewhere, or what it held is a secret
	}
	if !clear {
		text = *p.Before + text
	}
	return &CompareArgs{Wanted: text, Loose: p.Kind == "editable"}
}

// Fields are what takes text in a document: one field, or a frame in which to look, or
// several fields.
type Fields struct {
	Field   *Element  `json:"field,omitempty"`
	Frame   int       `json:"frame,omitempty"`
	Several []Element `json:"several,omitempty"`
}

// KeysResultArgs say what is wanted beside what has come of the keys.
type KeysResultArgs struct {
	Compare *CompareArgs `json:"compare,omitempty"`
	Keep    bool         `json:"keep,omitempty"` // more keys follow for the same element
	Settle  bool         `json:"settle,omitempty"`
	Shown   bool         `json:"shown,omitempty"`
}

// CompareArgs are what the control that was typed into should hold.
type CompareArgs struct {
	Wanted string `json:"wanted"`
	Loose  bool   `json:"loose"` // white space apart
}

// Compared is what it holds.
type Compared struct {
	Asked bool   `json:"asked,omitempty"` // it is what was wanted
	Value string `json:"value,omitempty"`
}

// ChooseArgs are labels or values of options.
type ChooseArgs struct {
	Values []string `json:"values"`
}

// ChooseInArgs are options of a select.
type ChooseInArgs struct {
	Node   int      `json:"node"`
	Values []string `json:"values"`
}

// Choice is what came of selecting options: all of them were selected, or none.
type Choice struct {
	Selected []string `json:"selected,omitempty"`
	Missing  *string  `json:"missing,omitempty"`
	Options  []string `json:"options,omitempty"`
	Count    int      `json:"count,omitempty"`
	Disabled *string  `json:"disabled,omitempty"`
	Single   bool     `json:"single,omitempty"`
	Custom   bool     `json:"custom,omitempty"`
	Styled   *Element `json:"styled,omitempty"` // nobody sees the select: this is operated in its place
}

// CheckedNowArgs are a checkbox and the state to wait for.
type CheckedNowArgs struct {
	ID     int  `json:"id"`
	Wanted bool `json:"wanted"`
	MS     int  `json:"ms"`
}

// CheckState is a checkbox's: true, false or "mixed"; nil if there is none.
type CheckState struct {
	There bool `json:"there,omitempty"`
	State any  `json:"state,omitempty"`
	Radio bool `json:"radio,omitempty"`
}

// FileInputArgs say whether a file input is to be emptied.
type FileInputArgs struct {
	Empty bool `json:"empty"`
}

// FileField is a file input; Input is 0 if there is none.
type FileField struct {
	Input    int    `json:"input"`
	Multiple bool   `json:"multiple,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
	Accept   string `json:"accept,omitempty"`
}

// FocusArgs say whether keys follow, so that the keyboard is for the element alone.
type FocusArgs struct {
	Keys bool `json:"keys"`
}

// Focused is what came of giving an element the focus.
type Focused struct {
	Focused bool `json:"focused"`
	Framed  bool `json:"framed"` // it holds a frame
	Guarded bool `json:"guarded,omitempty"`
}

// ScrollArgs say how far to scroll, as the command scroll does.
type ScrollArgs struct {
	Direction string `json:"direction"`
	Pixels    int    `json:"pixels"`
	To        string `json:"to"`
}

// KeysResulted is what has come of keys in a document.
type KeysResulted struct {
	Got      int       `json:"got"`             // events that were let through
	Chars    int       `json:"chars,omitempty"` // characters among them
	Lost     bool      `json:"lost"`            // the focus went elsewhere, or a key came to something else
	By       *Element  `json:"by,omitempty"`    // what that key came to
	To       *Element  `json:"to,omitempty"`    // the field that has the focus now, where no key came to it
	Compared *Compared `json:"compared,omitempty"`
	Kept     bool      `json:"kept,omitempty"` // the keyboard is still for the element alone
	Settled  *Settled  `json:"settled,omitempty"`
}

// Otherwise returns what the control holds where that is not what was wanted.
func (r KeysResulted) Otherwise() *string {
	if r.Compared == nil || r.Compared.Asked {
		return nil
	}
	return &r.Compared.Value
}
