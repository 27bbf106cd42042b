package input

import (
	"github.com/chromedp/cdproto/input"

	"github.com/browserd/browserd/browser/cdp"
)

// Keyboard writes keys and text to one page (Input.dispatchKeyEvent, Input.insertText).
// No event has a nativeVirtualKeyCode: Chromium then gives the key to the page alone. With
// one, the whole browser also takes its own shortcuts from it, such as Control+T.
type Keyboard struct{ s *cdp.Session }

// NewKeyboard returns the keyboard of the page that has this CDP session.
func NewKeyboard(s *cdp.Session) Keyboard { return Keyboard{s} }

func (k Keyboard) send(e input.DispatchKeyEventParams) *cdp.Pending {
	return k.s.Send(input.DispatchKeyEvent.Method, e)
}

// Press presses the chord's modifiers and its key, and releases them, or one of the two.
func (k Keyboard) Press(c Chord) []*cdp.Pending {
	var pending []*cdp.Pending
	send := func(e input.DispatchKeyEventParams) {
		if up := e.Type == "keyUp"; c.only == "" || up == (c.only == "up") {
			pending = append(pending, k.send(e))
		}
	}
	held := c.held
	order := []struct {
		name string
		bit  int64
	}{{"Control", controlKey}, {"Alt", altKey}, {"Meta", metaKey}, {"Shift", shiftKey}}
	for _, m := range order {
		if c.modifiers&^c.held&m.bit != 0 {
			held |= m.bit
			k := keyNames()[m.name]
			send(input.DispatchKeyEventParams{Type: "rawKeyDown", Key: k.name, Code: k.code, WindowsVirtualKeyCode: k.vk, Modifiers: held, Location: 1})
		}
	}
	down := input.DispatchKeyEventParams{
		Type: "rawKeyDown", Key: c.key.name, Code: c.key.code, WindowsVirtualKeyCode: c.key.vk,
		Modifiers: held | modifierBits[c.key.name], // a modifier key sets its own bit while it is down
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
		if c.modifiers&^c.held&m.bit != 0 {
			held &^= m.bit
			k := keyNames()[m.name]
			send(input.DispatchKeyEventParams{Type: "keyUp", Key: k.name, Code: k.code, WindowsVirtualKeyCode: k.vk, Modifiers: held, Location: 1})
		}
	}
	return pending
}

// editing are the editing commands of keys that edit. Chromium without a window
// system does not derive them from the keys everywhere (editor_command_names.h).
var editing = map[string]string{"KeyA": "selectAll"}

// insertAbove is how many characters are typed key by key unless Typing.Keys says
// otherwise: short texts are what pages listen to letter by letter. Measured:
// 20 characters 27 ms by keys, 3 ms inserted at once.
const insertAbove = 100

// Typing says how a text is typed. The zero value types the characters of a US keyboard
// by keys and inserts all others.
type Typing struct {
	Keys       bool // every character by keys, line breaks by Enter
	Insert     bool // the same with a shorter one
	InsertLong bool // insert a text of more than 100 characters at once, up to its last character
	BreakLines bool // make line breaks by an editing command, as an editable element needs
	Whole      bool // insert all of it at once, unless Keys is set
}

// Type types a text: characters of the keyboard as keys, others as an input method
// gives them (Input.insertText). Line breaks are no Enter, which sends many a form,
// unless o.Keys is set: they are inserted.
func (k Keyboard) Type(text string, o Typing) []*cdp.Pending {
	var pending []*cdp.Pending
	runes := []rune(text)
	first := 0 // what comes before is inserted at once
	if !o.Keys && (o.InsertLong && len(runes) > insertAbove || o.Insert && len(runes) > 1) {
		first = len(runes) - 1
	}
	if !o.Keys && o.Whole {
		first = len(runes)
	}
	breaks := !o.Keys && o.BreakLines
	byKey := func(i int) bool {
		_, typable := keyRunes()[runes[i]]
		return i >= first && typable && (runes[i] != '\n' || o.Keys)
	}
	for i := 0; i < len(runes); i++ {
		switch {
		case breaks && runes[i] == '\n':
			pending = append(pending, k.breakLine()...)
		case byKey(i):
			pending = append(pending, k.tap(keyRunes()[runes[i]])...)
		default:
			end := i + 1
			for end < len(runes) && !byKey(end) && !(breaks && runes[end] == '\n') {
				end++
			}
			pending = append(pending, k.s.Send(input.InsertText.Method, input.InsertTextParams{Text: string(runes[i:end])}))
			i = end - 1
		}
	}
	return pending
}

// tap types a character whose modifiers need not be seen: its key goes down with the
// text, and up.
func (k Keyboard) tap(one key) []*cdp.Pending {
	e := input.DispatchKeyEventParams{
		Type: "keyDown", Key: one.name, Code: one.code, Text: one.text, UnmodifiedText: one.plain, WindowsVirtualKeyCode: one.vk,
	}
	if one.shift {
		e.Modifiers = shiftKey
	}
	up := e
	up.Type, up.Text, up.UnmodifiedText = "keyUp", "", ""
	return []*cdp.Pending{k.send(e), k.send(up)}
}

// breakLine begins a new line in an editable element by an editing command: a line break
// within inserted text would leave the caret in the line before. It comes with the keys
// that make a new line also where Enter alone sends, for editors that handle the keys.
func (k Keyboard) breakLine() []*cdp.Pending {
	enter := keyNames()["Enter"]
	e := input.DispatchKeyEventParams{
		Type: "rawKeyDown", Key: enter.name, Code: enter.code, WindowsVirtualKeyCode: enter.vk,
		Modifiers: shiftKey, Commands: []string{"insertNewline"},
	}
	up := e
	up.Type, up.Commands = "keyUp", nil
	return []*cdp.Pending{k.send(e), k.send(up)}
}
