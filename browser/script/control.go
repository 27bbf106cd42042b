package script

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
	Keys      bool     `json:"keys,omitempty"` // select all by the keyboard
	End       bool     `json:"end,omitempty"`  // move to the end by the keyboard
}

// Fields are what takes text in a document: one field, or a frame in which to look, or
// several fields.
type Fields struct {
	Field   *Element  `json:"field,omitempty"`
	Frame   int       `json:"frame,omitempty"`
	Several []Element `json:"several,omitempty"`
}

// CompareArgs are a control and what it should hold.
type CompareArgs struct {
	ID     int    `json:"id"`
	Wanted string `json:"wanted"`
	Loose  bool   `json:"loose"` // white space apart
}

// Compared is what a control holds.
type Compared struct {
	There bool   `json:"there"`
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
}

// CheckedNowArgs are a checkbox and the state to wait for.
type CheckedNowArgs struct {
	ID     int  `json:"id"`
	Wanted bool `json:"wanted"`
	MS     int  `json:"ms"`
}

// CheckState is a checkbox's: true, false or "mixed"; nil where there is none.
type CheckState struct {
	There bool `json:"there,omitempty"`
	State any  `json:"state,omitempty"`
	Radio bool `json:"radio,omitempty"`
}

// FileInputArgs say whether a file input is to be emptied.
type FileInputArgs struct {
	Empty bool `json:"empty"`
}

// FileField is a file input; Input is 0 where there is none.
type FileField struct {
	Input    int    `json:"input"`
	Multiple bool   `json:"multiple,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
	Accept   string `json:"accept,omitempty"`
}

// Focused is what came of giving an element the focus.
type Focused struct {
	Focused bool `json:"focused"`
	Framed  bool `json:"framed"` // it holds a frame
}

// ScrollArgs say how far to scroll, as the command scroll does.
type ScrollArgs struct {
	Direction string `json:"direction"`
	Pixels    int    `json:"pixels"`
	To        string `json:"to"`
}

// KeysResulted is what has come of keys in a document.
type KeysResulted struct {
	Got  int      `json:"got"`          // were let through
	Lost bool     `json:"lost"`         // the focus went elsewhere, or a key came to something else
	By   *Element `json:"by,omitempty"` // what that key came to
}
