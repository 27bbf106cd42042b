package browser

import (
	"context"
	"sort"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/browserd/browserd/browser/cdp"
	"github.com/browserd/browserd/browser/script"
	"github.com/browserd/browserd/protocol"
	"github.com/browserd/browserd/snapshot"
)

// key is one key of a US keyboard, as Input.dispatchKeyEvent takes it.
type key struct {
	name  string // KeyboardEvent.key
	code  string // KeyboardEvent.code
	text  string // what it types; empty: nothing
	plain string // what it types without Shift
	vk    int64  // Windows virtual key code, which is KeyboardEvent.keyCode
	shift bool   // Shift is held to get it
}

// keyNames holds every key by its name: "Enter", "a", "A", "F5".
func keyNames() map[string]key { names, _ := keyTables(); return names }

// keyRunes holds those that type a character by it.
func keyRunes() map[rune]key { _, runes := keyTables(); return runes }

var keyTables = sync.OnceValues(func() (names map[string]key, runes map[rune]key) {
	names, runes = map[string]key{}, map[rune]key{}
	for r, k := range kb.Keys {
		one := key{name: k.Key, code: k.Code, vk: k.Windows, shift: k.Shift}
		if k.Print {
			one.text, one.plain = k.Text, k.Unmodified
			runes[r] = one
		}
		// Several codes share a name (the numeric pad): the plain one is meant.
		if was, ok := names[k.Key]; !ok || strings.HasPrefix(was.code, "Numpad") || len(was.code) > len(k.Code) && k.Code != "" {
			names[k.Key] = one
		}
	}
	runes['\n'] = runes['\r']
	for _, m := range []struct {
		name string
		vk   int64
	}{{"Shift", 16}, {"Control", 17}, {"Alt", 18}, {"Meta", 91}} {
		names[m.name] = key{name: m.name, code: m.name + "Left", vk: m.vk}
	}
	return names, runes
})

// keyAliases are other names by which people call keys.
var keyAliases = map[string]string{
	"Esc": "Escape", "Return": "Enter", "Del": "Delete", "Ins": "Insert", "Space": " ", "Spacebar": " ", "Plus": "+",
	"Ctrl": "Control", "Cmd": "Meta", "Command": "Meta", "Option": "Alt", "ControlOrMeta": "Control", "CmdOrCtrl": "Control",
	"Up": "ArrowUp", "Down": "ArrowDown", "Left": "ArrowLeft", "Right": "ArrowRight",
	"PgUp": "PageUp", "PgDn": "PageDown", "PgDown": "PageDown", "Break": "Pause",
}

// keyOf finds a key by its name, its alias, its code ("KeyA", "Digit1"), or
// the character that it types; the case of a name does not matter.
func keyOf(name string) (key, bool) {
	if k, ok := keyNames()[name]; ok {
		return k, true
	}
	if r := []rune(name); len(r) == 1 {
		// A character that no US keyboard has is typed all the same.
		return key{name: name, text: name, plain: name}, r[0] >= ' '
	}
	for alias, real := range keyAliases {
		if strings.EqualFold(alias, name) {
			return keyNames()[real], true
		}
	}
	for real, k := range keyNames() {
		if len(real) > 1 && strings.EqualFold(real, name) || k.code != "" && !k.shift && strings.EqualFold(k.code, name) && k.code != k.name {
			return k, true
		}
	}
	return key{}, false
}

// chord is a key and the modifiers that are held with it.
type chord struct {
	key       key
	modifiers int64
}

// parseChord reads "Enter", "a", "Control+a", "Control+Shift+Tab", "Control++".
func parseChord(s string) (chord, error) {
	var c chord
	rest := s
	for {
		name, after, more := strings.Cut(rest, "+")
		if !more || after == "" || name == "" {
			break // the last one, or the plus key itself
		}
		if real, ok := keyAliases[name]; ok {
			name = real
		}
		bit := modifierBits[name]
		if bit == 0 {
			for m, b := range modifierBits {
				if strings.EqualFold(m, name) {
					bit = b
				}
			}
		}
		if bit == 0 {
			return c, unknownKey(s, name)
		}
		c.modifiers |= bit
		rest = after
	}
	k, ok := keyOf(rest)
	if !ok {
		return c, unknownKey(s, rest)
	}
	c.key = k
	if k.shift {
		c.modifiers |= shiftKey
	}
	// Shift makes the other character of the key.
	if c.modifiers&shiftKey != 0 && !k.shift && len(k.text) == 1 {
		for _, upper := range keyRunes() {
			if upper.code == k.code && upper.shift && upper.code != "" {
				c.key = upper
			}
		}
	}
	return c, nil
}

func unknownKey(whole, name string) error {
	near := nearestKeys(name)
	return protocol.Errorf(protocol.InvalidParams, "key %s: there is no key %s", snapshot.Quote(snapshot.Cut(whole, 60)), snapshot.Quote(snapshot.Cut(name, 40))).
		With("parameter", "key").With("nearest", near).
		Then("write a key as KeyboardEvent.key names it, such as Enter, ArrowDown, a, or with modifiers Control+a; nearest: %s", strings.Join(near, ", "))
}

// nearestKeys are the names that come closest to what was written.
func nearestKeys(name string) []string {
	type scored struct {
		name string
		d    int
	}
	var list []scored
	for k := range keyNames() {
		if len(k) > 1 {
			list = append(list, scored{k, distance(strings.ToLower(k), strings.ToLower(snapshot.Cut(name, 40)))})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].d != list[j].d {
			return list[i].d < list[j].d
		}
		return list[i].name < list[j].name
	})
	near := []string{}
	for _, s := range list[:3] {
		near = append(near, s.name)
	}
	return near
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, cost)
		}
	}
	return row[len(b)]
}

// strike writes a key going down and up, with its modifiers held.
func (t *tab) strike(c chord) []*cdp.Pending {
	var pending []*cdp.Pending
	send := func(e input.DispatchKeyEventParams) {
		pending = append(pending, t.cdp.Send(input.DispatchKeyEvent.Method, e))
	}
	held := int64(0)
	order := []struct {
		name string
		bit  int64
	}{{"Control", controlKey}, {"Alt", altKey}, {"Meta", metaKey}, {"Shift", shiftKey}}
	for _, m := range order {
		if c.modifiers&m.bit != 0 {
			held |= m.bit
			k := keyNames()[m.name]
			send(input.DispatchKeyEventParams{Type: "rawKeyDown", Key: k.name, Code: k.code, WindowsVirtualKeyCode: k.vk, NativeVirtualKeyCode: k.vk, Modifiers: held, Location: 1})
		}
	}
	down := input.DispatchKeyEventParams{
		Type: "rawKeyDown", Key: c.key.name, Code: c.key.code, WindowsVirtualKeyCode: c.key.vk, NativeVirtualKeyCode: c.key.vk, Modifiers: held | heldBy(c.key),
	}
	// With Control, Alt or Meta a key commands and does not type.
	if c.key.text != "" && held&(controlKey|altKey|metaKey) == 0 {
		down.Type, down.Text, down.UnmodifiedText = "keyDown", c.key.text, c.key.plain
	}
	if command, ok := editing[c.key.code]; ok && held == controlKey {
		down.Commands = []string{command}
	}
	send(down)
	up := down
	up.Type, up.Text, up.UnmodifiedText, up.Commands = "keyUp", "", "", nil
	send(up)
	for i := len(order) - 1; i >= 0; i-- {
		m := order[i]
		if c.modifiers&m.bit != 0 {
			held &^= m.bit
			k := keyNames()[m.name]
			send(input.DispatchKeyEventParams{Type: "keyUp", Key: k.name, Code: k.code, WindowsVirtualKeyCode: k.vk, NativeVirtualKeyCode: k.vk, Modifiers: held, Location: 1})
		}
	}
	return pending
}

// heldBy is the modifier bit that a modifier key itself sets while it is down.
func heldBy(k key) int64 { return modifierBits[k.name] }

// editing are the editing commands of the keys that edit, which Chromium
// without a window system does not know by itself everywhere
// (editor_command_names.h).
var editing = map[string]string{"KeyA": "selectAll"}

// tap writes a character as it is typed when its modifiers need not be seen:
// down with its text, and up.
func (t *tab) tap(k key) []*cdp.Pending {
	e := input.DispatchKeyEventParams{
		Type: "keyDown", Key: k.name, Code: k.code, Text: k.text, UnmodifiedText: k.plain, WindowsVirtualKeyCode: k.vk, NativeVirtualKeyCode: k.vk,
	}
	if k.shift {
		e.Modifiers = shiftKey
	}
	up := e
	up.Type, up.Text, up.UnmodifiedText = "keyUp", "", ""
	return []*cdp.Pending{t.cdp.Send(input.DispatchKeyEvent.Method, e), t.cdp.Send(input.DispatchKeyEvent.Method, up)}
}

// waitKeys waits for all of them.
func (t *tab) waitKeys(ctx context.Context, pending []*cdp.Pending) error {
	for _, p := range pending {
		if err := t.wait(ctx, p, nil); err != nil {
			return err
		}
	}
	return nil
}

// pressKey presses a key, with modifiers: "Enter", "Control+a", "Shift+Tab", a
// character. With a ref the element is focused first. Errors: those of a ref,
// not_actionable, invalid_params, which names the keys that come nearest.
func (c *Context) pressKey(ctx context.Context, refs *snapshot.Refs, o protocol.Press, h how) (protocol.Effect, error) {
	pressed, err := parseChord(o.Key)
	if err != nil {
		return protocol.Effect{}, err
	}
	return c.act(ctx, refs, h, func(ctx context.Context) (snapshot.Key, error) {
		t, err := c.tab(ctx)
		if err != nil {
			return snapshot.Key{}, err
		}
		var hit snapshot.Key
		if o.Ref != "" {
			el, err := c.focusOn(ctx, refs, o.Ref)
			if err != nil {
				return hit, err
			}
			hit = el.key
		} else if err := t.beginAtFocus(ctx); err != nil && protocol.CodeOf(err) != protocol.StaleRef {
			return hit, err
		}
		return hit, t.waitKeys(ctx, t.strike(pressed))
	})
}

// beginAtFocus has the script watch the document of the tab and those of the frames
// that have the focus.
func (t *tab) beginAtFocus(ctx context.Context) error {
	for f := t.frames.main; f != nil; {
		d, err := f.document()
		if err != nil {
			return err
		}
		holds, err := evaluate(ctx, d, script.BeginSettle, 0) // the frame's element that has the focus
		if err != nil {
			return err
		}
		t.actsIn(d)
		if f = nil; holds != 0 {
			t.frames.findOwners(ctx, t.frames.live())
			f = t.frameIn(snapshot.Key{Doc: d.doc, Node: holds})
		}
	}
	return nil
}
