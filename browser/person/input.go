package person

import (
	"context"
	"encoding/json"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/protocol"
)

// Act is one thing that a person does, as the view's page sends it. Places are in CSS pixels
// of the viewport.
type Act struct {
	Do string  `json:"do"` // move, down, up, wheel, touch, key, keyup, text, compose, choose
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
	Options  []int     `json:"options"` // choose: the options of the select that Asks named
}

// TouchAt is one finger.
type TouchAt struct {
	ID int64   `json:"id"`
	X  float64 `json:"x"`
	Y  float64 `json:"y"`
}

// Types reports whether the act writes something.
func (a *Act) Types() bool {
	return a.Text != "" && (a.Do == "key" || a.Do == "text" || a.Do == "compose")
}

// Merge takes next into a, where the two are worth no more than one: moves, of which the last
// counts, and turns of the wheel, which add up. It reports whether it did.
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

// Asks is what a page wants of the person and the picture does not show: to choose an option
// of a select, or files.
type Asks struct {
	Options  []Option `json:"options,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
	Files    bool     `json:"files,omitempty"`
}

// Option is an option of a select.
type Option struct {
	Text     string `json:"text"`
	Group    string `json:"group,omitempty"`
	Selected bool   `json:"selected,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Waits for a page that may not answer.
const (
	moveWait   = 40 * time.Millisecond // of a move: then the next one is sent all the same
	selectWait = time.Second           // whether a press is for a select
	chooseWait = 5 * time.Second
)

// maxText is how many characters one act writes.
const maxText = 100_000

// keyCommands are the editing commands that Chromium without a window system does not
// derive from the keys (editor_command_names.h).
var keyCommands = map[string]string{"KeyA": "selectAll", "KeyZ": "undo", "KeyY": "redo", "KeyX": "cut", "KeyC": "copy"}

// Input does what a person did. It waits for moves, of which the page may see fewer than
// there are, and for nothing else: a page that is busy has what was done when it goes on.
// asks is what the page wants of the person now; nil: nothing. Errors: invalid_params.
func (t *Tab) Input(ctx context.Context, a Act) (asks *Asks, err error) {
	wrong := func(what string) (*Asks, error) {
		return nil, protocol.Errorf(protocol.InvalidParams, "input: %s", what)
	}
	if len(a.Text) > maxText || len(a.Key) > 40 || len(a.Code) > 40 || len(a.Points) > 16 {
		return wrong("it is too long")
	}
	t.acting.Lock()
	defer t.acting.Unlock()
	switch a.Do {
	case "move":
		t.settle(ctx)
		t.moved = t.mouse("mouseMoved", a)
	case "down":
		if a.Button == 0 && a.Modifiers == 0 {
			if asks := t.selectAt(ctx, a); asks != nil {
				return asks, nil
			}
		}
		t.mouse("mousePressed", a)
	case "up":
		t.mouse("mouseReleased", a)
	case "wheel":
		t.settle(ctx)
		t.moved = t.s.Send(input.DispatchMouseEvent.Method, map[string]any{"type": "mouseWheel", "x": a.X, "y": a.Y, "deltaX": a.DX, "deltaY": a.DY, "modifiers": a.Modifiers})
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
			t.settle(ctx)
			t.moved = p
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
	return nil, nil
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

// settle waits until the page has had the move before, for a while.
func (t *Tab) settle(ctx context.Context) {
	if t.moved == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	t.moved.WaitWithin(ctx, t.life, nil)
	t.moved = nil
}

// optionsOf lists the options of the select that is this element or holds it; null: there is
// none, or it shows its options itself.
const optionsOf = `function() {
  const s = this.closest && this.closest('select');
  if (!s || s.disabled || s.size > 1 && !s.multiple) return null;
  if (s.multiple) return null;
  return { options: Array.from(s.options).slice(0, 2000).map((o) => ({
    text: o.label.slice(0, 200), group: o.parentElement.localName === 'optgroup' ? o.parentElement.label.slice(0, 200) : '',
    selected: o.selected, disabled: o.disabled || o.parentElement.disabled === true })) };
}`

// choose picks an option as a person does.
const choose = `function(i) {
  const s = this.closest('select');
  if (!s || s.disabled || !s.options[i] || s.options[i].disabled) return;
  s.focus();
  if (s.selectedIndex === i) return;
  s.selectedIndex = i;
  s.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  s.dispatchEvent(new Event('change', { bubbles: true }));
}`

// selectAt returns the options of the select at a point: a list that Chromium would show
// in a window of its own, in no picture.
func (t *Tab) selectAt(ctx context.Context, at Act) *Asks {
	ctx, cancel := context.WithTimeout(ctx, selectWait)
	defer cancel()
	var node struct {
		BackendNodeID int64 `json:"backendNodeId"`
	}
	params := map[string]any{"x": int64(at.X), "y": int64(at.Y), "ignorePointerEventsNone": false}
	if t.s.Send(dom.GetNodeForLocation.Method, params).WaitWithin(ctx, t.life, &node) != nil {
		return nil
	}
	got, err := t.onNode(ctx, node.BackendNodeID, optionsOf, nil)
	if err != nil {
		return nil
	}
	var asks *Asks
	if json.Unmarshal(got, &asks) != nil || asks == nil || len(asks.Options) == 0 {
		return nil
	}
	t.mu.Lock()
	t.choosing = node.BackendNodeID
	t.mu.Unlock()
	return asks
}

// Choose picks an option of the select that Input has asked about last.
func (t *Tab) Choose(ctx context.Context, option int) error {
	ctx, cancel := context.WithTimeout(ctx, chooseWait)
	defer cancel()
	t.mu.Lock()
	node := t.choosing
	t.mu.Unlock()
	if node == 0 {
		return protocol.Errorf(protocol.InvalidParams, "input: no select waits for a choice")
	}
	_, err := t.onNode(ctx, node, choose, []any{map[string]any{"value": option}})
	return err
}

// onNode calls a function on a node, in a world of its own, where the page has no say.
func (t *Tab) onNode(ctx context.Context, node int64, function string, arguments []any) (json.RawMessage, error) {
	var object struct {
		Object runtime.RemoteObject `json:"object"`
	}
	if err := t.s.Send(dom.ResolveNode.Method, map[string]any{"backendNodeId": node, "objectGroup": "person"}).WaitWithin(ctx, t.life, &object); err != nil {
		return nil, err
	}
	defer t.s.Send(runtime.ReleaseObjectGroup.Method, map[string]any{"objectGroup": "person"})
	var got struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
	}
	err := t.s.Send(runtime.CallFunctionOn.Method, map[string]any{
		"objectId": object.Object.ObjectID, "functionDeclaration": function, "arguments": arguments, "returnByValue": true,
	}).WaitWithin(ctx, t.life, &got)
	return got.Result.Value, err
}
