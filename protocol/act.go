package protocol

// Act is one action on a page, as every source accepts it.
type Act struct {
	Action Action
	// Unshown says that the client wants no snapshot or delta afterwards: what
	// only the next frame would show need not be waited for.
	Unshown bool
}

// Action says what to do, and to which element: Click, Type, Press, Hover,
// Focus, Scroll, Drag, Mouse, Select, Check, Upload or CallTool. A Ref names the element;
// zero values are the defaults unless a field says otherwise.
type Action interface{ action() }

// DialogAnswer answers an open dialog.
type DialogAnswer struct {
	Accept  bool
	Text    string // the answer to a prompt
	Unshown bool   // as in Act
}

// Outcome is what an Act did, with the answers that single actions give.
type Outcome struct {
	Effect
	Selected []string // Select: the labels that are selected now
	Position Position // Scroll: where the scroller is now
	Under    *Hit     // Mouse: what received the press, or was at the point; nil: nothing, or no document saw the press
	Called   Called   // CallTool: what came of it
}

// Click clicks an element.
type Click struct {
	Ref       string
	Button    string   // left (default), middle, right
	Count     int      // 0 and 1: once; 2: a double click
	Modifiers []string // Alt, Control, Meta, Shift
}

// Type writes into a control.
type Type struct {
	Ref    string
	Text   string
	Clear  bool   // replace what is there
	Submit bool   // press Enter afterwards
	Secret bool   // the text is a secret: the element is treated as one that holds it, and a frame is refused
	Mode   string // insert (default: at once, where that fires what typing fires) or keys (one key after the other)
}

// Press presses a key, or a key with modifiers such as Control+a.
type Press struct {
	Ref    string // focused first; empty: what has the focus
	Key    string
	Action string // press (default), down, up
	Origin string // without a ref: of the document that it was confirmed for; empty: any
}

// Hover moves the mouse over an element and leaves it there.
type Hover struct{ Ref string }

// Focus gives an element the focus.
type Focus struct{ Ref string }

// Scroll scrolls in one of three ways: To, or Direction with Pixels, or
// neither: the element is brought into view.
type Scroll struct {
	Ref       string // the element, or what scrolls around it; empty: the page
	Direction string // up, down, left, right
	Pixels    int    // 0: nine tenths of what is in view
	To        string // top or bottom
}

// Drag drags the element Ref and drops it on the element To.
type Drag struct{ Ref, To string }

// Mouse does one thing with the mouse at a point of the viewport, in CSS pixels.
type Mouse struct {
	Action string // move, click, down, up, wheel
	X, Y   float64
	Button string  // left (default), middle, right
	Count  int     // of a click; 0: 1
	DX, DY float64 // of the wheel, in CSS pixels
	Origin string  // of the document that it was confirmed for; empty: any
}

// Spot is what of a page an action is for. The zero value is the tab's document.
type Spot struct {
	Ref    string // an element
	Focus  bool   // what has the focus
	Point  bool   // what is hit at X and Y, in the viewport
	X, Y   float64
	Dialog bool     // what has opened the dialog
	Tool   ToolName // the document that has the page tool
}

// Select selects options by their labels or values; none clears a select that
// accepts several.
type Select struct {
	Ref    string
	Values []string
}

// Check makes a checkbox, radio button or switch checked or not checked.
type Check struct {
	Ref     string
	Checked bool
}

// Upload gives files to a file input; no files empty it.
type Upload struct {
	Ref   string
	Files []File
	Drop  bool // on the element, as from a file manager
}

func (Click) action()  {}
func (Type) action()   {}
func (Press) action()  {}
func (Hover) action()  {}
func (Focus) action()  {}
func (Scroll) action() {}
func (Drag) action()   {}
func (Mouse) action()  {}
func (Select) action() {}
func (Check) action()  {}
func (Upload) action() {}

// File is one file to upload, already read.
type File struct {
	Name    string
	Content []byte
}

// Position is where a scroller is, in CSS pixels.
type Position struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	MaxX float64 `json:"max_x"`
	MaxY float64 `json:"max_y"`
}

// Hit is an element that was hit at a point.
type Hit struct {
	Ref  string `json:"ref"`
	Role string `json:"role"`
	Name string `json:"name"`
	Tag  string `json:"tag"`
}
