package script

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/browserd/browserd/snapshot"
)

// Object is a node or a list of nodes that a call returns as a remote object.
type Object struct{}

// Lookup is what the client was shown of a ref's element, and what the element must be.
type Lookup struct {
	ID       int      `json:"id"`
	Role     string   `json:"role"`
	Name     string   `json:"name"`
	Tag      string   `json:"tag"`
	Ident    string   `json:"ident"`
	Context  string   `json:"context"`
	Any      bool     `json:"any,omitempty"` // do not compare: it has just been compared
	Want     []string `json:"want"`
	Control  string   `json:"control,omitempty"` // take the control that the element stands for: field, select, file, check
	Deadline float64  `json:"deadline"`          // milliseconds from now
	Again    bool     `json:"again,omitempty"`   // input has missed it: look when the page has been drawn
	Presses  int      `json:"presses,omitempty"` // how often the mouse is going to press it
	ElementCall

	Until time.Time `json:"-"` // how long input that misses is tried again; zero: not
}

// Over reports whether there is no more time to try again.
func (q Lookup) Over() bool { return !time.Now().Before(q.Until) }

// Shown sets what the client was shown of the element.
func (q *Lookup) Shown(e snapshot.Entry) {
	q.ID, q.Role, q.Name, q.Tag, q.Ident, q.Context = e.Key.Node, e.Role, e.Name, e.Tag, e.Ident, e.Context
}

// Element is what the script says of an element that gets a ref.
type Element struct {
	Node    int    `json:"node"`
	Role    string `json:"role"`
	Name    string `json:"name"`
	Tag     string `json:"tag"`
	Ident   string `json:"ident"`
	Context string `json:"context"`
	Why     string `json:"why,omitempty"`
	Says    string `json:"says,omitempty"` // its text, of what covers something and has no name
}

// In returns the element as a node of the document with that number.
func (e Element) In(doc int) snapshot.Node {
	return snapshot.Node{
		Key: snapshot.Key{Doc: doc, Node: e.Node}, Role: e.Role, Name: e.Name, Tag: e.Tag, Ident: e.Ident, Context: e.Context,
	}
}

// Located is the answer of Locate.
type Located struct {
	OK         bool            `json:"ok,omitempty"`
	Node       int             `json:"node,omitempty"`   // the ref's element
	Target     int             `json:"target,omitempty"` // the control that it stands for
	Moved      bool            `json:"moved,omitempty"`  // it was re-created
	Record     Element         `json:"record,omitzero"`
	Kind       string          `json:"kind,omitempty"`
	X          *float64        `json:"x,omitempty"` // in the viewport of its frame
	Y          *float64        `json:"y,omitempty"`
	Frame      int             `json:"frame,omitempty"` // what is hit there is the document of this frame
	Option     *ClosedOption   `json:"option,omitempty"`
	Then       json.RawMessage `json:"then,omitempty"`
	Stale      bool            `json:"stale,omitempty"`
	Candidates []Element       `json:"candidates,omitempty"`
	Changed    *Element        `json:"changed,omitempty"`
	Twin       *Element        `json:"twin,omitempty"`
	Now        *Element        `json:"now,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Because    string          `json:"because,omitempty"`
	By         *Element        `json:"by,omitempty"`
}

// ClosedOption is an option that has no box of its own, of a closed select.
type ClosedOption struct {
	Select int    `json:"select"`
	Value  string `json:"value"`
	Index  int    `json:"index"`
}

// FrameAtArgs are a point of a frame's own viewport.
type FrameAtArgs struct {
	Node    int     `json:"node"` // the element that holds the frame
	X       float64 `json:"x"`
	Y       float64 `json:"y"`
	HitTest bool    `json:"hit_test"` // let nothing of this document have the input
}

// FramePoint is where that point is in the viewport of the document that holds the frame,
// or what is in the way.
type FramePoint struct {
	X      float64  `json:"x,omitempty"`
	Y      float64  `json:"y,omitempty"`
	Reason string   `json:"reason,omitempty"`
	By     *Element `json:"by,omitempty"`
}

// MiddleArgs are an element, and what may lie over it: 0 for nothing.
type MiddleArgs struct {
	Node int `json:"node"`
	Over int `json:"over"`
}

// ElementPoint is a point of an element.
type ElementPoint struct {
	X    float64 `json:"x,omitempty"`
	Y    float64 `json:"y,omitempty"`
	Gone bool    `json:"gone,omitempty"`
}

// Point is one of a viewport, in CSS pixels.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// PointHit is what is hit at a point: the nearest thing around it that has a role or a name.
type PointHit struct {
	Outside bool          `json:"outside,omitempty"` // of the viewport, whose size is
	Width   int           `json:"width,omitempty"`
	Height  int           `json:"height,omitempty"`
	Hit     *Element      `json:"hit,omitempty"`
	Frame   *FrameContent `json:"frame,omitempty"`
}

// HitResultArgs say what else is wanted with the answer.
type HitResultArgs struct {
	ElementCall
	To     int  `json:"to,omitempty"` // the node that the release is for; -1: one of another document
	Settle bool `json:"settle"`       // wait as Settle does where the element was hit
	Shown  bool `json:"shown"`        // SettleArgs.Shown
}

// GuardPressArgs say which presses a document may have: none if they are zero.
type GuardPressArgs struct {
	Node    int  `json:"node,omitempty"`    // those on this element
	Any     bool `json:"any,omitempty"`     // all
	Presses int  `json:"presses,omitempty"` // how many are to come; 0: a release may come alone
}

// Hit is what the hit test saw.
type Hit struct {
	Hit     bool            `json:"hit,omitempty"`     // the element received the input
	Seen    bool            `json:"seen,omitempty"`    // a press came to the document
	Part    bool            `json:"part,omitempty"`    // a release, or a further press, has not come to the element
	Presses int             `json:"presses,omitempty"` // how often it was pressed, where Hit
	By      *Element        `json:"by,omitempty"`      // what it came to instead, which was kept from it
	To      *Element        `json:"to,omitempty"`      // what received it where that is not the element
	Settled *Settled        `json:"settled,omitempty"`
	Then    json.RawMessage `json:"then,omitempty"`

	ByDoc, ToDoc int `json:"-"` // the documents of By and To
}

// In returns what the document with that number saw.
func (h Hit) In(doc int) Hit {
	h.ByDoc, h.ToDoc = doc, doc
	return h
}

// Add adds what another document saw.
func (h *Hit) Add(one Hit) {
	h.Seen, h.Hit = h.Seen || one.Seen, h.Hit || one.Hit
	if one.Hit {
		h.Presses += one.Presses
	}
	if one.By != nil {
		h.By, h.ByDoc = one.By, one.ByDoc
	}
	if one.To != nil {
		h.To, h.ToDoc = one.To, one.ToDoc
	}
}

// SettleArgs say what Settle waits for beside a quiet document.
type SettleArgs struct {
	NewDocument bool `json:"new_document,omitempty"` // its scripts may only be starting
	Shown       bool `json:"shown,omitempty"`        // a snapshot or delta follows
	Late        int  `json:"late,omitempty"`         // milliseconds that the first change may take
	Empty       int  `json:"empty,omitempty"`        // milliseconds that a document may take to show anything
}

// Settled is what the script saw of a document from the beginning of an action until the
// document was quiet.
type Settled struct {
	Changed   bool     `json:"changed"`
	Focused   int      `json:"focused"` // node that has the focus now, 0 if it did not move
	Announced []string `json:"announced"`
	Saves     bool     `json:"saves"`   // a link was clicked that asks for a download
	Closing   bool     `json:"closing"` // the page has asked to close its tab (HTML, 7.2.2.1: closed); told once
	Title     string   `json:"title"`
	URL       string   `json:"url"`
}

// LateReport is what the script saw of a document after the page was quiet.
type LateReport struct {
	Announced []string `json:"announced"`
	Changed   bool     `json:"changed"` // text or controls
	Before    bool     `json:"before"`  // told when the next action begins
}

// Box is a rectangle in CSS pixels: x, y, width, height.
type Box = [4]float64

// BoxJSON returns the box as a client reads it, in tenths of a pixel.
func BoxJSON(b Box) string {
	for i := range b {
		b[i] = math.Round(10*b[i]) / 10
	}
	return fmt.Sprintf(`{"x":%g,"y":%g,"width":%g,"height":%g}`, b[0], b[1], b[2], b[3])
}

// BoxesArgs are the nodes whose boxes are wanted.
type BoxesArgs struct {
	Nodes []int `json:"nodes"`
	View  bool  `json:"view"` // only what is in the viewport
}

// FrameContent is where the content of a frame lies in the viewport of the document that
// holds it, and how it is scaled.
type FrameContent struct {
	X     float64    `json:"x"`
	Y     float64    `json:"y"`
	SX    float64    `json:"sx"`
	SY    float64    `json:"sy"`
	Inner [4]float64 `json:"inner"` // what is seen of it: left, top, right, bottom
}

// Outwards takes a box of the frame's viewport to that of the document around it; nil for
// what is not seen there.
func (in *FrameContent) Outwards(b *Box) *Box {
	if b == nil || in == nil {
		return nil
	}
	left, top := max(in.X+b[0]*in.SX, in.Inner[0]), max(in.Y+b[1]*in.SY, in.Inner[1])
	right, bottom := min(in.X+(b[0]+b[2])*in.SX, in.Inner[2]), min(in.Y+(b[1]+b[3])*in.SY, in.Inner[3])
	if right-left < 1 || bottom-top < 1 {
		return nil
	}
	return &Box{left, top, right - left, bottom - top}
}
