package person

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Act is one thing that a person does, as the view's page sends it. Places are in CSS pixels
// of the viewport.
type Act struct {
	Do string  `json:"do"` // move, down, up, wheel, touch, key, keyup, text, compose
	X  float64 `json:"x"`
	Y  float64 `json:"y"`
	DX float64 `json:"dx"` // wheel
	DY float64 `json:"dy"`
	// Button is that of MouseEvent (0 left, 1 middle, 2 right), Buttons those that are down.
	Button    int64 `json:"button"`
	Buttons   int64 `json:"buttons"`
	Clicks    int64 `json:"clicks"`
	Modifiers int64 `json:"modifiers"` // Alt 1, Control 2, Meta 4, Shift 8
	// Key, Code and VK are those of KeyboardEvent; Text is what a key, a paste or an input
	// method writes.
	Key      string    `json:"key"`
	Code     string    `json:"code"`
	VK       int64     `json:"vk"`
	Location int64     `json:"location"`
	Repeat   bool      `json:"repeat"`
	Text     string    `json:"text"`
	Touch    string    `json:"touch"` // touchStart, touchMove, touchEnd, touchCancel
	Points   []TouchAt `json:"points"`
}

// TouchAt is one finger.
type TouchAt struct {
	ID int64   `json:"id"`
	X  float64 `json:"x"`
	Y  float64 `json:"y"`
}

// Moves reports whether the act is one of a stream that Merge may thin out: moves and turns of
// the wheel.
func (a *Act) Moves() bool {
	return a.Do == "move" || a.Do == "wheel" || a.Do == "touch" && a.Touch == "touchMove"
}

// Types reports whether the act writes something.
func (a *Act) Types() bool {
	return a.Text != "" && (a.Do == "key" || a.Do == "text" || a.Do == "compose")
}

// Merge merges next into a where that loses nothing: of moves the last counts, and turns of the
// wheel add up. It reports whether it did.
func (a *Act) Merge(next *Act) bool {
	switch {
	case a.Do != next.Do || a.Buttons != next.Buttons || a.Modifiers != next.Modifiers:
		return false
	case a.Do == "move", a.Do == "touch" && a.Touch == "touchMove" && next.Touch == "touchMove" && len(a.Points) == len(next.Points):
		*a = *next
		return true
	case a.Do == "wheel":
		dx, dy := a.DX, a.DY
		*a = *next
		a.DX, a.DY = a.DX+dx, a.DY+dy
		return true
	}
	return false
}

// moveWait is how long a move waits for a page that does not answer the one before, and chooseWait
// how long a page may take to answer which option was chosen.
const (
	moveWait   = 40 * time.Millisecond
	chooseWait = 5 * time.Second
)

// maxText is how many characters one act writes.
const maxText = 100_000

// keyCommands are the editing commands that Chromium without a window system does not
// derive from the keys (editor_command_names.h).
var keyCommands = map[string]string{"KeyA": "selectAll", "KeyZ": "undo", "KeyY": "redo", "KeyX": "cut", "KeyC": "copy"}

// Input sends the page what a person did, and waits for no answer: a busy page handles it when it
// goes on. Errors: invalid_params.
func (t *Tab) Input(a Act) error {
	wrong := func(what string) error { return protocol.Errorf(protocol.InvalidParams, "input: %s", what) }
	if len(a.Text) > maxText || len(a.Key) > 40 || len(a.Code) > 40 || len(a.Points) > 16 {
		return wrong("it is too long")
	}
	switch a.Do {
	case "move":
		t.trackMove(t.mouse("mouseMoved", a))
	case "down":
		t.mouse("mousePressed", a)
	case "up":
		t.mouse("mouseReleased", a)
	case "wheel":
		t.trackMove(t.s.Send(input.DispatchMouseEvent.Method, map[string]any{"type": "mouseWheel", "x": a.X, "y": a.Y, "deltaX": a.DX, "deltaY": a.DY, "modifiers": a.Modifiers}))
	case "touch":
		switch a.Touch {
		case "touchStart", "touchMove", "touchEnd", "touchCancel":
		default:
			return wrong("touch")
		}
		points := []*input.TouchPoint{}
		for _, at := range a.Points {
			points = append(points, &input.TouchPoint{X: at.X, Y: at.Y, ID: ptr(float64(at.ID))})
		}
		p := t.s.Send(input.DispatchTouchEvent.Method, map[string]any{"type": a.Touch, "touchPoints": points, "modifiers": a.Modifiers})
		if a.Touch == "touchMove" {
			t.trackMove(p)
		}
	case "key", "keyup":
		e := input.DispatchKeyEventParams{
			Type: "rawKeyDown", Key: a.Key, Code: a.Code, WindowsVirtualKeyCode: a.VK, Modifiers: a.Modifiers, Location: a.Location, AutoRepeat: &a.Repeat,
		}
		switch {
		case a.Do == "keyup":
			e.Type = "keyUp"
		case a.Text != "":
			e.Type, e.Text, e.UnmodifiedText = "keyDown", a.Text, a.Text
		case a.Modifiers == 2 && keyCommands[a.Code] != "":
			e.Commands = []string{keyCommands[a.Code]}
		}
		t.s.Send(input.DispatchKeyEvent.Method, e)
	case "text":
		t.s.Send(input.InsertText.Method, input.InsertTextParams{Text: a.Text})
	case "compose":
		n := int64(len([]rune(a.Text)))
		t.s.Send(input.ImeSetComposition.Method, map[string]any{"text": a.Text, "selectionStart": n, "selectionEnd": n})
	default:
		return wrong("there is no such act")
	}
	return nil
}

func (t *Tab) mouse(kind input.DispatchMouseEventType, a Act) *cdp.Pending {
	button := input.MouseButtonNone
	if names := []input.MouseButton{input.MouseButtonLeft, input.MouseButtonMiddle, input.MouseButtonRight, input.MouseButtonBack, input.MouseButtonForward}; kind != "mouseMoved" && a.Button >= 0 && int(a.Button) < len(names) {
		button = names[a.Button]
	}
	return t.s.Send(input.DispatchMouseEvent.Method, input.DispatchMouseEventParams{
		Type: kind, X: a.X, Y: a.Y, Button: button, Buttons: a.Buttons, ClickCount: a.Clicks, Modifiers: a.Modifiers,
	})
}

// trackMove records that this move is under way, so that the next one can wait for it (Queue).
func (t *Tab) trackMove(p *cdp.Pending) {
	done := make(chan struct{})
	t.mu.Lock()
	t.moved = done
	t.mu.Unlock()
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(t.life, moveWait)
		defer cancel()
		p.Wait(ctx, nil)
	}()
}

// settled returns a channel that is closed when the page has answered the last move, or moveWait is
// over; nil: there was no move.
func (t *Tab) settled() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.moved
}
