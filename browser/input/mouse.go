package input

import (
	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// buttons are the mouse buttons, and their bits in MouseEvent.buttons.
var buttons = map[string]int64{"left": 1, "right": 2, "middle": 4}

// Press is how a mouse button is pressed.
type Press struct {
	Button    string // left, middle, right
	Count     int    // 1 to 3; 2 is a double click
	Modifiers int64  // Input's bits
}

// LeftClick is one click of the left button, without modifiers.
var LeftClick = Press{Button: "left", Count: 1}

// ParsePress reads how a button is pressed: an empty button is the left one, a count of
// 0 is 1, modifiers are names of keys (Alt, Control, Meta, Shift). Errors: invalid_params.
func ParsePress(button string, count int, modifiers []string) (Press, error) {
	p := Press{Button: button, Count: max(count, 1)}
	if p.Button == "" {
		p.Button = "left"
	}
	if buttons[p.Button] == 0 {
		return p, protocol.Errorf(protocol.InvalidParams, "button %q: accepts left, middle or right", button).With("parameter", "button")
	}
	if p.Count > 3 {
		return p, protocol.Errorf(protocol.InvalidParams, "count %d: accepts 1, 2 or 3", count).With("parameter", "count")
	}
	for _, m := range modifiers {
		bit, ok := modifierBits[m]
		if !ok {
			return p, protocol.Errorf(protocol.InvalidParams, "modifiers %q: accepts Alt, Control, Meta and Shift", m).With("parameter", "modifiers")
		}
		p.Modifiers |= bit
	}
	return p, nil
}

// Mouse is the one mouse of a browser context, whose pointer each of its pages has. It
// knows which button [Pointer.Down] left down. The zero value is a mouse with no button
// down. Only the goroutine that has the session's turn may use it.
type Mouse struct {
	PersonsClipboard bool // the clipboard is a person's: Hold refuses the keys of it

	held string // the button that is down; empty: none
}

// Over returns the mouse's pointer over the page that has this cdp session.
func (m *Mouse) Over(s *cdp.Session) *Pointer { return &Pointer{mouse: m, s: s} }

// Point is a point of a page's viewport.
type Point struct {
	X, Y     float64 // CSS pixels
	Document int     // any number that stands for the document shown there; 0: not known
}

// Pointer is the mouse's pointer over one page: where the page saw it last. Only the
// goroutine that has the session's turn may use it.
type Pointer struct {
	mouse *Mouse
	s     *cdp.Session
	at    Point // the zero value: not known
	held  int64 // bits of the modifier keys that are down
}

// Forget forgets where the pointer is: the next click moves it first.
func (p *Pointer) Forget() { p.at = Point{} }

// IsAt tells whether the pointer is there already.
func (p *Pointer) IsAt(at Point) bool { return at == p.at && at.Document != 0 }

// Hold is the chord with the modifier keys that are down already. Where it presses or
// releases one alone, the pointer and later chords have it, or no longer. Errors: unsupported for
// the keys of a person's clipboard.
func (p *Pointer) Hold(c Chord) (Chord, error) {
	if p.mouse != nil && p.mouse.PersonsClipboard && c.only != "up" && c.usesClipboard(p.held) {
		return c, protocol.Errorf(protocol.Unsupported, "this key copies, cuts or pastes, and the clipboard is that of the person whose browser this is").
			With("parameter", "key").Then("read the text with read, and write it with type or fill")
	}
	if c.held = p.held; c.held&shiftKey != 0 {
		c.key = c.key.shifted()
	}
	bits := c.modifiers | modifierBits[c.key.name]
	switch c.only {
	case "down":
		p.held |= bits
	case "up":
		p.held &^= bits
		c.held = p.held
	}
	return c, nil
}

// send writes one mouse event (Input.dispatchMouseEvent). held says that the button is
// down meanwhile.
func (p *Pointer) send(kind input.DispatchMouseEventType, at Point, b Press, clicks int, held bool) *cdp.Pending {
	e := input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Modifiers: b.Modifiers | p.held, ClickCount: int64(clicks), Button: "none"}
	if kind != input.DispatchMouseEventTypeMouseMoved || held {
		e.Button = input.MouseButton(b.Button)
	}
	if held {
		e.Buttons = buttons[b.Button]
	}
	p.at = at
	return p.s.Send(input.DispatchMouseEvent.Method, e)
}

// Move moves the pointer there, with no button down.
func (p *Pointer) Move(at Point) *cdp.Pending {
	return p.send(input.DispatchMouseEventTypeMouseMoved, at, Press{}, 0, false)
}

// MoveAtOnce moves the pointer there without the wait for a frame that Chromium has moves
// wait for: those that stand before another event in its queue are handled with that. It is
// the pointerrawupdate (Pointer Events 3, 4.2.2) of a second move, which joins the first; the
// script of each document listens for it (hit-test.js).
func (p *Pointer) MoveAtOnce(at Point) []*cdp.Pending {
	return []*cdp.Pending{p.Move(at), p.Move(at)}
}

// MoveHolding moves the pointer there, with the button down that Down left down.
func (p *Pointer) MoveHolding(at Point) *cdp.Pending {
	held := p.mouse.held
	return p.send(input.DispatchMouseEventTypeMouseMoved, at, Press{Button: held}, 0, held != "")
}

// Down presses the button, which stays down until Up or Click.
func (p *Pointer) Down(at Point, b Press) *cdp.Pending {
	p.mouse.held = b.Button
	return p.press(at, b, 1)
}

// Up releases the button.
func (p *Pointer) Up(at Point, b Press) *cdp.Pending {
	p.mouse.held = ""
	return p.release(at, b, 1)
}

// Click presses and releases the button b.Count times; no button is held afterwards.
func (p *Pointer) Click(at Point, b Press) []*cdp.Pending {
	p.mouse.held = ""
	return p.clicks(at, b)
}

// MoveAndClick moves the pointer there, unless it is there already, then presses and
// releases the button b.Count times. It leaves a button down that Down left down. A press
// without a move enters what has come under the pointer since (Pointer Events 3, 5.3).
func (p *Pointer) MoveAndClick(at Point, b Press) []*cdp.Pending {
	var pending []*cdp.Pending
	if !p.IsAt(at) {
		pending = append(pending, p.send(input.DispatchMouseEventTypeMouseMoved, at, b, 0, false))
	}
	return append(pending, p.clicks(at, b)...)
}

// Do does what the command says, where the pointer is, without waiting.
func (p *Pointer) Do(at Point, o protocol.Mouse, b Press) []*cdp.Pending {
	switch o.Action {
	case "click":
		return p.Click(at, b)
	case "down":
		return []*cdp.Pending{p.Down(at, b)}
	case "up":
		return []*cdp.Pending{p.Up(at, b)}
	case "wheel":
		return []*cdp.Pending{p.Wheel(at, o.DX, o.DY)}
	}
	return nil
}

// Wheel turns the wheel by dx and dy CSS pixels.
func (p *Pointer) Wheel(at Point, dx, dy float64) *cdp.Pending {
	return p.s.Send(input.DispatchMouseEvent.Method, map[string]any{
		"type": "mouseWheel", "x": at.X, "y": at.Y, "deltaX": dx, "deltaY": dy,
	})
}

func (p *Pointer) clicks(at Point, b Press) []*cdp.Pending {
	var pending []*cdp.Pending
	for n := 1; n <= b.Count; n++ {
		pending = append(pending, p.press(at, b, n), p.release(at, b, n))
	}
	return pending
}

func (p *Pointer) press(at Point, b Press, clicks int) *cdp.Pending {
	return p.send(input.DispatchMouseEventTypeMousePressed, at, b, clicks, true)
}

func (p *Pointer) release(at Point, b Press, clicks int) *cdp.Pending {
	return p.send(input.DispatchMouseEventTypeMouseReleased, at, b, clicks, false)
}
